"""The .mat files that circulate in this field, as released with DCMH.

Jiang and Li, Deep cross-modal hashing, 2017: `images` or `IAll` holds the
pictures, `YAll` the tags and `LAll` the labels of all pairs. MATLAB has pictures
as height x width x 3 x pairs; a v7.3 file shows them to others with all axes
reversed, and here they are put upright again. An HDF5 file of another program is
taken in the same way, unless its pictures are pairs x height x width x 3.
"""

from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fdch.data.pairs import Broken, PairedSet
from fdch.data.pictures.decoding import USUAL_LIMITS, PictureLimits
from fdch.data.pictures.images import ImageFeatures, Images, PictureArray
from fdch.data.readers.mat_files import Variable, open_variables
from fdch.data.rows import MAX_LABELS, MAX_ROWS, objects
from fdch.data.texts import WordVectors
from fdch.errors import BrokenPicture, DataError, LabelError

IMAGES = ("images", "IAll", "image", "XAll")
TAGS = ("YAll", "tags", "TAll")
LABELS = ("LAll", "labels")

_LOOKED_AT = 8


class _Layout(NamedTuple):
    """On which axis the pairs are, and where height, width and colour are."""

    axis: int
    picture: tuple[int, int, int] | None = None


class MatPictures:
    """Pictures of a variable, read one by one, upright and with values 0 to 255."""

    def __init__(
        self, variable: Variable, axis: int, picture: tuple[int, int, int]
    ) -> None:
        self._variable = variable
        self._order = (axis, *picture)
        self.shape = tuple(variable.shape[part] for part in self._order)

    def __getitem__(self, row: int) -> NDArray[np.uint8]:
        values = self._variable.take(self._order[0], row, row + 1)
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
    argument: str, *, broken: Broken = "refuse", limits: PictureLimits = USUAL_LIMITS
) -> PairedSet:
    """Read pictures (or features), tags and labels from one .mat file."""
    del broken  # a file is read as a whole or not
    path = Path(argument)
    known = open_variables(path, (*IMAGES, *TAGS, *LABELS))
    found = [_choose(path, known, names) for names in (IMAGES, TAGS, LABELS)]
    images, tags, labels = found
    rows, layouts = _find_rows(path, found)
    classes = prod(labels.shape) // rows
    if rows > MAX_ROWS or classes > MAX_LABELS:
        raise DataError(
            f"'{path}' has {rows:,} pairs with {classes:,} labels; at most "
            f"{MAX_ROWS:,} pairs and {MAX_LABELS:,} labels are read."
        )
    return PairedSet(
        ids=objects([str(number) for number in range(1, rows + 1)]),
        images=_images(path, images, layouts[0], limits),
        texts=WordVectors(_sparse(tags, layouts[1])),
        labels=_labels(labels, layouts[2]),
        label_names=tuple(f"label{number}" for number in range(classes)),
        name=path.stem,
        notes=_notes(images, layouts[0]),
        numbered=True,
    )


def _choose(
    path: Path, variables: dict[str, Variable], names: tuple[str, ...]
) -> Variable:
    one = next((variables[name] for name in names if name in variables), None)
    if one is None:
        there = ", ".join(f"'{name}'" for name in variables)
        raise DataError(
            f"'{path}' has {there}, but none of {', '.join(names)}. Pictures, tags and "
            "labels must lie in one file."
        )
    if 0 in one.shape:
        raise DataError(
            f"'{path}': '{one.name}' is empty, {_show(one)}. Save it with a row per "
            "pair and at least one column."
        )
    return one


def _show(variable: Variable) -> str:
    return " x ".join(map(str, variable.shape))


def _find_rows(path: Path, variables: list[Variable]) -> tuple[int, list[_Layout]]:
    """Find the one number of pairs that fits all variables."""
    shapes = ", ".join(f"'{one.name}' {_show(one)}" for one in variables)
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
        for axis, (first, middle, last) in ((3, (0, 1, 2)), (0, (1, 2, 3))):
            if shape[last] == 3:
                layouts.append(_Layout(axis, (first, middle, last)))
            if shape[first] == 3:
                layouts.append(_Layout(axis, (middle, last, first)))
    by_rows: dict[int, list[_Layout]] = {}
    for layout in layouts:
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
    # a look at the first, so that a wrong scale is known before training
    if variable.stored.dtype.kind == "f":
        values = variable.take(layout.axis, 0, _LOOKED_AT)
        if values.max() <= 1 and np.any(values % 1):  # NaN is neither
            raise DataError(
                f"the pictures in '{variable.name}' have values from 0 to 1; expected "
                "0 to 255. Save them as uint8(255 * images)."
            )
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
    parts = (_finite(variable, values) for _, values in variable.blocks())
    matrix = sparse.hstack([sparse.csc_array(part) for part in parts], format="csc")
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
