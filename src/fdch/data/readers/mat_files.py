"""Variables of MATLAB files, v5 and v7.3, with the axes as MATLAB has them.

A v7.3 file is HDF5 and stores axes in reverse order. Of its links only plain
ones are followed, and no data is read that lies in another file.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from scipy import sparse

from fdch.data.readers.matlab5 import DAMAGE, Header, read_variables
from fdch.data.rows import unreadable
from fdch.errors import DataError, MissingExtra

MAX_CELLS = 2**31  # of a variable that is read into memory
_MAX_CHUNK_BYTES = 2**30
_BLOCK_CELLS = 2**22
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

    def take(self, axis: int, start: int, stop: int) -> NDArray[Any]:
        """Read a part along one axis; axes stay in MATLAB's order."""
        part: list[slice] = [slice(None)] * len(self.shape)
        part[axis] = slice(start, stop)
        key = tuple(reversed(part) if self.is_reversed else part)
        try:
            values = self.stored[key]
        except (OSError, RuntimeError, ValueError) as error:
            raise DataError(f"variable '{self.name}' is damaged: {error}.") from error
        if sparse.issparse(values):
            values = values.toarray()
        return values.T if self.is_reversed else values

    def blocks(self) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Read all of it, piece by piece along the last axis, as it lies on disk."""
        _require_few(self.name, self.shape)
        step = max(1, _BLOCK_CELLS // max(1, prod(self.shape[:-1])))
        for start in range(0, self.shape[-1], step):
            stop = min(start + step, self.shape[-1])
            yield slice(start, stop), self.take(len(self.shape) - 1, start, stop)


def open_variables(path: Path, names: Sequence[str]) -> dict[str, Variable]:
    """Open those of the named variables that a file has.

    Those of a v7.3 file are read when needed; those of a v5 file at once.
    """
    try:
        with open(path, "rb") as file:
            start = file.read(520)
    except OSError as error:
        raise unreadable(path, error) from error
    if start.startswith(_HDF5) or start[512:].startswith(_HDF5):
        return _open_hdf5(path, names)
    if start[126:128] in (b"IM", b"MI"):
        return _load_v5(path, names)
    raise DataError(
        f"'{path}' is not a MATLAB file of version 5 or 7.3: it starts with "
        f"{start[:12]!r}. Save it in MATLAB with save(..., '-v7.3')."
    )


def _load_v5(path: Path, names: Sequence[str]) -> dict[str, Variable]:
    def approve(headers: Sequence[Header]) -> list[str]:
        there = {header.name: header for header in headers}
        wanted = _choose_names(path, names, there)
        for name in wanted:
            _, shape, kind = there[name]
            if kind.rstrip("0123456789") not in _NUMBERS:
                raise DataError(
                    f"'{path}': '{name}' is of class '{kind}'; expected numbers."
                )
            _require_few(name, shape)
        return wanted

    try:
        arrays = read_variables(path, approve)
    except DataError:
        raise
    except DAMAGE as error:
        raise DataError(f"'{path}' is damaged: {error}.") from error
    return {
        name: Variable(name, tuple(values.shape), values)
        for name, values in arrays.items()
    }


def _choose_names(path: Path, names: Sequence[str], there: dict[str, Any]) -> list[str]:
    wanted = [name for name in names if name in there]
    if not wanted:
        found = ", ".join(f"'{name[:40]}'" for name in list(there)[:20]) or "nothing"
        raise DataError(f"'{path}' has {found}, but none of {', '.join(names)}.")
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
    try:
        file = h5py.File(path, "r", rdcc_nbytes=_CACHE_BYTES, rdcc_nslots=10_007)
        # MATLAB keeps references and objects under names such as '#refs#'
        there = {name: None for name in file if not name.startswith("#")}
        wanted = _choose_names(path, names, there)
        # the datasets keep the file open for as long as they are in use
        return {name: _dataset(path, file, name) for name in wanted}
    except DataError:
        raise
    except (OSError, RuntimeError, KeyError, ValueError, TypeError) as error:
        raise DataError(f"'{path}' is damaged: {error}.") from error


def _dataset(path: Path, file: Any, name: str) -> Variable:
    import h5py

    if not isinstance(file.get(name, getlink=True), h5py.HardLink):
        raise DataError(f"'{path}': '{name}' is a link; links are not followed.")
    data = file[name]
    if not isinstance(data, h5py.Dataset) or data.dtype.kind not in "biuf":
        raise DataError(
            f"'{path}': '{name}' is no array of numbers; a sparse one must be saved "
            "as full(...)."
        )
    if data.is_virtual or data.external:
        raise DataError(f"'{path}': '{name}' lies in another file; it is not read.")
    chunk = prod(data.chunks or ()) * data.dtype.itemsize
    declared, stored = data.nbytes, data.id.get_storage_size()
    if chunk > _MAX_CHUNK_BYTES or declared > stored * _MAX_PACKED:
        raise DataError(
            f"'{path}': '{name}' declares {declared:,} bytes in pieces of {chunk:,} "
            f"and holds {stored:,}; it is damaged or made to exhaust memory."
        )
    is_marked, shape = "MATLAB_class" in data.attrs, data.shape
    # pictures as Python writes them: pairs x height x width x 3
    if not is_marked and len(shape) == 4 and shape[3] == 3 and shape[1] != 3:
        return Variable(name, shape, data)
    return Variable(name, data.shape[::-1], data, True, is_marked)
