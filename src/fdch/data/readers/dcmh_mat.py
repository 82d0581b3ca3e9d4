"""The .mat files that circulate in this field, as released with DCMH.

Jiang and Li, Deep cross-modal hashing, 2017: `images` or `IAll` holds the
pictures, `YAll` the tags and `LAll` the labels of all pairs. MATLAB has pictures
as height x width x 3 x pairs; a v7.3 file shows them to others with all axes
reversed, and here they are put upright again. An HDF5 file of another program is
taken in the same way, unless its pictures are pairs x height x width x 3.
"""

from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fdch.data.pairs import Broken, PairedSet
from fdch.data.pictures.images import ImageFeatures, Images, PictureArray, PictureLimits
from fdch.data.readers.mat_files import Variable, open_variables
from fdch.data.rows import MAX_LABELS, MAX_ROWS
from fdch.data.texts import WordVectors
from fdch.errors import BrokenPicture, DataError, LabelError

IMAGES = ("images", "IAll", "image", "XAll")
TAGS = ("YAll", "tags", "TAll")
LABELS = ("LAll", "labels")

_LOOKED_AT = 8


@dataclass(frozen=True)
class _Layout:
    """On which axis the pairs are, and where height, width and colour are."""

    axis: int
    picture: tuple[int, int, int] | None = None


class MatPictures:
    """Pictures of a variable, read one by one, upright and with values 0 to 255."""

    def __init__(
        self, variable: Variable, axis: int, picture: tuple[int, int, int]
    ) -> None:
        self._variable = variable
        self._axis = axis
        self._order = (axis, *picture)
        sides = (variable.shape[part] for part in self._order)
        self.shape: tuple[int, ...] = tuple(sides)

    def __getitem__(self, row: int) -> NDArray[np.uint8]:
        values = self._variable.take(self._axis, row, row + 1)
        pixels = values.transpose(self._order)[0]
        if pixels.dtype == np.uint8:
            return pixels
        # written so that NaN fails too
        if not (pixels.min() >= 0 and pixels.max() <= 255):
            raise BrokenPicture(
                f"picture {row} of '{self._variable.name}' has values from "
                f"{pixels.min()} to {pixels.max()}; expected 0 to 255, without a "
                "mean taken away."
            )
        return np.rint(pixels).astype(np.uint8)


def read(
    argument: str,
    *,
    broken: Broken = "refuse",
    limits: PictureLimits | None = None,
) -> PairedSet:
    """Read pictures (or features), tags and labels from one .mat file.

    Args:
        argument: The file.
        broken: Taken as by every reader; a file is read as a whole or not.
        limits: The largest pictures to accept.
    """
    del broken
    path = Path(argument)
    variables = open_variables(path, (*IMAGES, *TAGS, *LABELS))
    images, tags, labels = (
        _choose(path, variables, names) for names in (IMAGES, TAGS, LABELS)
    )
    _require_values(path, (images, tags, labels))
    rows, layouts = _find_rows(path, (images, tags, labels))
    _require_size(path, rows, prod(labels.shape) // rows)
    bits = _labels(labels, layouts[2])
    return PairedSet(
        ids=np.array([str(number) for number in range(1, rows + 1)], dtype=object),
        images=_images(path, images, layouts[0], limits or PictureLimits()),
        texts=WordVectors(_sparse(tags, layouts[1])),
        labels=bits,
        label_names=tuple(f"label{number}" for number in range(bits.shape[1])),
        name=path.stem,
        notes=_notes(images, layouts[0]),
    )


def _choose(
    path: Path, variables: dict[str, Variable], names: tuple[str, ...]
) -> Variable:
    for name in names:
        if name in variables:
            return variables[name]
    there = ", ".join(f"'{name}'" for name in variables)
    raise DataError(
        f"'{path}' has {there}, but none of {', '.join(names)}. Pictures, tags and "
        "labels must lie in one file."
    )


def _require_values(path: Path, variables: tuple[Variable, ...]) -> None:
    for one in variables:
        if 0 in one.shape:
            raise DataError(
                f"'{path}': '{one.name}' is empty, {' x '.join(map(str, one.shape))}. "
                "Save it with a row per pair and at least one column."
            )


def _require_size(path: Path, rows: int, classes: int) -> None:
    if rows > MAX_ROWS or classes > MAX_LABELS:
        raise DataError(
            f"'{path}' has {rows:,} pairs with {classes:,} labels; at most "
            f"{MAX_ROWS:,} pairs and {MAX_LABELS:,} labels are read."
        )


def _find_rows(
    path: Path, variables: tuple[Variable, ...]
) -> tuple[int, list[_Layout]]:
    """Find the one number of pairs that fits all variables."""
    shapes = ", ".join(
        f"'{one.name}' {' x '.join(map(str, one.shape))}" for one in variables
    )
    found = [_layouts(variable.shape) for variable in variables]
    common = sorted(set.intersection(*(set(layouts) for layouts in found)))
    if not common:
        raise DataError(
            f"'{path}' has {shapes}; they share no number of pairs. Expected "
            "pictures height x width x 3 x pairs (or features pairs x numbers), and "
            "tags and labels pairs x columns."
        )
    fitting = [layouts[common[0]] for layouts in found]
    if len(common) > 1 or any(len(layouts) > 1 for layouts in fitting):
        raise DataError(
            f"'{path}' has {shapes}; which axis is that of the pairs cannot be decided "
            f"(it may be {' or '.join(map(str, common))} long). Save more pairs, or "
            "other numbers of columns."
        )
    return common[0], [layouts[0] for layouts in fitting]


def _layouts(shape: tuple[int, ...]) -> dict[int, list[_Layout]]:
    """List what an array may be, by the number of pairs it would then have."""
    layouts: list[_Layout] = []
    if len(shape) == 2:
        layouts = [_Layout(0), _Layout(1)]
    elif len(shape) == 4:
        for axis, sides in ((3, (0, 1, 2)), (0, (1, 2, 3))):
            first, middle, last = sides
            if shape[last] == 3:
                layouts.append(_Layout(axis, (first, middle, last)))
            if shape[first] == 3:
                layouts.append(_Layout(axis, (middle, last, first)))
    by_rows: dict[int, list[_Layout]] = {}
    for layout in layouts:
        if shape[layout.axis] > 0:
            by_rows.setdefault(shape[layout.axis], []).append(layout)
    return by_rows


def _images(
    path: Path, variable: Variable, layout: _Layout, limits: PictureLimits
) -> Images:
    if layout.picture is None:
        return ImageFeatures(_dense(variable, layout))
    pictures = MatPictures(variable, layout.axis, layout.picture)
    pixels = pictures.shape[1] * pictures.shape[2]
    if pixels > limits.pixels:
        raise DataError(
            f"'{path}': the pictures in '{variable.name}' have {pixels:,} pixels; at "
            f"most {limits.pixels:,} are read."
        )
    if variable.stored.dtype.kind == "f":
        _require_full_range(variable, layout.axis)
    # a look at the first, so that a wrong scale is known before training
    pictures[0]
    return PictureArray(pictures)


def _notes(variable: Variable, layout: _Layout) -> tuple[str, ...]:
    if layout.picture is None or variable.is_marked:
        return ()
    return (
        f"'{variable.name}' was not written by MATLAB; its pictures are taken for "
        "pairs x 3 x width x height, as MATLAB's look from outside. If they lie on "
        "their side, save them as pairs x height x width x 3.",
    )


def _require_full_range(variable: Variable, axis: int) -> None:
    values = variable.take(axis, 0, _LOOKED_AT)
    if values.max() <= 1 and np.any(values % 1):  # NaN is neither
        raise DataError(
            f"the pictures in '{variable.name}' have values from 0 to 1; expected 0 "
            "to 255. Save them as uint8(255 * images)."
        )


def _labels(variable: Variable, layout: _Layout) -> NDArray[np.uint8]:
    bits = np.empty(variable.shape, dtype=np.uint8)
    for place, values in variable.blocks():
        wrong = (values != 0) & (values != 1)
        if wrong.any():
            row = np.argwhere(wrong)[0][layout.axis] + (layout.axis and place.start)
            raise LabelError(
                f"labels in '{variable.name}' are 0 or 1, a column per class; got "
                f"{values[wrong][0]} for pair {row + 1}."
            )
        bits[:, place] = values
    return np.ascontiguousarray(bits.T if layout.axis else bits)


def _dense(variable: Variable, layout: _Layout) -> NDArray[np.float32]:
    features = np.empty(variable.shape, dtype=np.float32)
    for place, values in variable.blocks():
        features[:, place] = _finite(variable, values)
    return np.ascontiguousarray(features.T if layout.axis else features)


def _sparse(variable: Variable, layout: _Layout) -> sparse.csr_array:
    blocks = [
        sparse.csc_array(_finite(variable, values)) for _, values in variable.blocks()
    ]
    matrix = sparse.hstack(blocks, format="csc")
    return sparse.csr_array(matrix.T if layout.axis else matrix)


def _finite(variable: Variable, values: NDArray[Any]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        numbers = values.astype(np.float32)
    if not np.isfinite(numbers).all():
        raise DataError(
            f"variable '{variable.name}' has values that are not finite numbers of 32 "
            "bits, such as NaN; mend or remove these pairs."
        )
    return numbers
