"""The .mat files that circulate in this field, as released with DCMH.

Jiang and Li, Deep cross-modal hashing, 2017: `images` or `IAll` holds the
pictures, `YAll` the tags and `LAll` the labels of all pairs. MATLAB has pictures
as height x width x 3 x pairs; a v7.3 file is HDF5 and stores all axes in reverse
order. An HDF5 file of another program is taken in the same way, unless its pictures
are pairs x height x width x 3. Of HDF5's links only plain ones are followed, and no
data is read that is stored in another file.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fdch.data.conversion import as_images, as_labels, as_texts
from fdch.data.pairs import Broken, PairedSet
from fdch.data.pictures.decoding import USUAL_LIMITS, PictureLimits
from fdch.data.pictures.images import PictureArray
from fdch.data.readers.matlab5 import Header, read_variables
from fdch.data.rows import MAX_LABELS, MAX_ROWS, objects, reading
from fdch.errors import BrokenPicture, DataError, MissingExtra

IMAGES = ("images", "IAll", "image", "XAll")
TAGS = ("YAll", "tags", "TAll")
LABELS = ("LAll", "labels")
MAX_CELLS = 2**31  # of a variable that is read into memory

_MAX_CHUNK_BYTES = 2**30
_CACHE_BYTES = 64 * 2**20
# deflate makes data smaller by no more than this
_MAX_PACKED = 1100
_HDF5 = b"\x89HDF\r\n\x1a\n"
_NUMBERS = ("int", "uint", "single", "double", "sparse")


@dataclass(frozen=True)
class Variable:
    """An array of numbers in a file; the shape is in MATLAB's order."""

    name: str
    shape: tuple[int, ...]
    stored: Any  # an array, a sparse array or an HDF5 dataset
    is_reversed: bool = False  # whether the axes are stored in reverse
    is_marked: bool = True  # whether MATLAB left its mark, so that this is certain

    def load(self, rows: int) -> Any:
        """Read a matrix, sparse or as float32, turned so that it has `rows` rows."""
        if len(self.shape) != 2:
            raise DataError(
                f"{self} is not a matrix with a row per pair, nor pictures: these are "
                "height x width x 3, with the pairs first or last."
            )
        _require_few(self.name, self.shape)
        values = self.stored
        if not sparse.issparse(values):
            with np.errstate(over="ignore"):
                values = values.astype(np.float32)[...]  # HDF5 converts while it reads
        return values if values.shape[0] == rows else values.T

    def __str__(self) -> str:
        return f"'{self.name}' {' x '.join(map(str, self.shape))}"


class MatPictures:
    """Pictures of a variable, read one by one, upright and with values 0 to 255.

    They are pairs x height x width x 3, or with the pairs last.
    """

    def __init__(self, variable: Variable) -> None:
        self._variable = variable
        self._is_last = variable.shape[2] == 3
        height, width = variable.shape[:2] if self._is_last else variable.shape[1:3]
        self.shape = (variable.shape[3 if self._is_last else 0], height, width, 3)

    def __getitem__(self, row: int) -> NDArray[np.uint8]:
        name, stored = self._variable.name, self._variable.stored
        try:
            is_first = self._is_last == self._variable.is_reversed
            pixels = stored[row] if is_first else stored[..., row]
        except (OSError, RuntimeError, ValueError) as error:
            raise DataError(f"variable '{name}' is damaged: {error}.") from error
        if self._variable.is_reversed:
            pixels = pixels.T
        if pixels.dtype == np.uint8:
            return pixels
        low, high = pixels.min(), pixels.max()
        # written so that NaN fails too
        if not (low >= 0 and high <= 255) or (high <= 1 and np.any(pixels % 1)):
            raise BrokenPicture(
                f"picture {row} of '{name}' has values from {low} to {high}; expected "
                "0 to 255, without a mean taken away. Save pictures as uint8(...)."
            )
        return np.rint(pixels).astype(np.uint8)


def read(
    argument: str, *, broken: Broken = "refuse", limits: PictureLimits = USUAL_LIMITS
) -> PairedSet:
    """Read pictures (or features), tags and labels from one .mat file."""
    del broken  # a file is read as a whole or not
    path = Path(argument)
    with reading(path, "MATLAB file of version 5 or 7.3", "Save it with '-v7.3'."):
        known = _open_variables(path, (*IMAGES, *TAGS, *LABELS))
        found = [_choose(known, names) for names in (IMAGES, TAGS, LABELS)]
        images, tags, labels = found
        is_picture = len(images.shape) == 4 and 3 in images.shape[2:]
        pictures = MatPictures(images) if is_picture else None
        rows = _count_rows(found, pictures)
        classes = prod(labels.shape) // rows
        if rows > MAX_ROWS or classes > MAX_LABELS:
            raise DataError(
                f"{rows:,} pairs with {classes:,} labels; at most {MAX_ROWS:,} pairs "
                f"and {MAX_LABELS:,} labels are read."
            )
        bits, names = as_labels(
            labels.load(rows), [f"label{i}" for i in range(classes)]
        )
        return PairedSet(
            ids=objects([str(number) for number in range(1, rows + 1)]),
            images=_check(pictures, limits)
            if pictures
            else as_images(images.load(rows)),
            texts=as_texts(tags.load(rows)),
            labels=bits,
            label_names=names,
            name=path.stem,
            notes=_notes(images) if pictures else (),
            numbered=True,
        )


def _count_rows(found: list[Variable], pictures: MatPictures | None) -> int:
    """Return the one number of pairs that fits all variables."""
    shapes = [each.shape for each in found]
    if pictures is not None:
        shapes[0] = pictures.shape[:1]
    common = set.intersection(*map(set, shapes))
    if len(common) != 1 or any(shape.count(*common) > 1 for shape in shapes):
        raise DataError(
            f"it has {', '.join(map(str, found))}, from which the number of pairs "
            "cannot be decided. Expected pictures height x width x 3 x pairs (or "
            "features pairs x numbers), and tags and labels pairs x columns."
        )
    return common.pop()


def _choose(variables: dict[str, Variable], names: tuple[str, ...]) -> Variable:
    one = next((variables[name] for name in names if name in variables), None)
    if one is None:
        there = ", ".join(f"'{name}'" for name in variables)
        raise DataError(
            f"it has {there}, but none of {', '.join(names)}. Pictures, tags and "
            "labels must be in one file."
        )
    if 0 in one.shape:
        raise DataError(
            f"{one} is empty. Save it with a row per pair and at least one column."
        )
    return one


def _check(pictures: MatPictures, limits: PictureLimits) -> PictureArray:
    pixels = pictures.shape[1] * pictures.shape[2]
    if pixels > limits.pixels:
        raise DataError(
            f"the pictures have {pixels:,} pixels; at most {limits.pixels:,} are read."
        )
    pictures[0]  # so that a wrong scale is known before training
    return PictureArray(pictures)


def _notes(variable: Variable) -> tuple[str, ...]:
    if variable.is_marked:
        return ()
    return (
        f"'{variable.name}' was not written by MATLAB; its pictures are read as "
        "pairs x 3 x width x height, as MATLAB's look from outside. If they appear "
        "rotated, save them as pairs x height x width x 3.",
    )


def _open_variables(path: Path, names: Sequence[str]) -> dict[str, Variable]:
    """Open those of the named variables that a file has.

    Those of a v7.3 file are read when needed; those of a v5 file at once.
    """
    with open(path, "rb") as file:
        start = file.read(520)
    if start.startswith(_HDF5) or start[512:].startswith(_HDF5):
        return _open_hdf5(path, names)

    def approve(headers: Sequence[Header]) -> list[str]:
        there = {header.name: header for header in headers}
        wanted = _choose_names(names, there)
        for name in wanted:
            _, shape, kind = there[name]
            if kind.rstrip("0123456789") not in _NUMBERS:
                raise DataError(f"'{name}' is of class '{kind}'; expected numbers.")
            _require_few(name, shape)
        return wanted

    arrays = read_variables(path, approve)
    return {name: Variable(name, each.shape, each) for name, each in arrays.items()}


def _choose_names(names: Sequence[str], there: dict[str, Any]) -> list[str]:
    wanted = [name for name in names if name in there]
    if not wanted:
        found = ", ".join(f"'{name[:40]}'" for name in list(there)[:20]) or "nothing"
        raise DataError(f"it has {found}, but none of {', '.join(names)}.")
    return wanted


def _require_few(name: str, shape: tuple[int, ...]) -> None:
    if min(shape, default=0) < 0 or prod(shape) > MAX_CELLS:
        raise DataError(
            f"variable '{name}' has {prod(shape):,} values; at most {MAX_CELLS:,} are "
            "read into memory."
        )


def _open_hdf5(path: Path, names: Sequence[str]) -> dict[str, Variable]:
    try:
        import h5py
    except ImportError:
        raise MissingExtra(f"reading the v7.3 file '{path}'", "mat") from None
    file = h5py.File(path, "r", rdcc_nbytes=_CACHE_BYTES, rdcc_nslots=10_007)
    # MATLAB keeps references and objects under names such as '#refs#'
    there = {name: None for name in file if not name.startswith("#")}
    # the datasets keep the file open for as long as they are in use
    return {name: _open_dataset(file, name) for name in _choose_names(names, there)}


def _open_dataset(file: Any, name: str) -> Variable:
    import h5py

    if not isinstance(file.get(name, getlink=True), h5py.HardLink):
        raise DataError(f"'{name}' is a link; links are not followed.")
    data = file[name]
    if not isinstance(data, h5py.Dataset) or data.dtype.kind not in "biuf":
        raise DataError(
            f"'{name}' is not an array of numbers; save a sparse one as full(...)."
        )
    if data.is_virtual or data.external:
        raise DataError(f"'{name}' is stored in another file, which is not read.")
    chunk = prod(data.chunks or ()) * data.dtype.itemsize
    declared, stored = data.nbytes, data.id.get_storage_size()
    if chunk > _MAX_CHUNK_BYTES or declared > stored * _MAX_PACKED:
        raise DataError(
            f"'{name}' declares {declared:,} bytes in pieces of {chunk:,} and holds "
            f"{stored:,}; it is damaged or made to exhaust memory."
        )
    is_marked, shape = "MATLAB_class" in data.attrs, data.shape
    # pictures as Python writes them: pairs x height x width x 3
    if not is_marked and len(shape) == 4 and shape[3] == 3 and shape[1] != 3:
        return Variable(name, shape, data)
    return Variable(name, shape[::-1], data, True, is_marked)
