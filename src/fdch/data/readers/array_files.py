"""Headers of arrays in .npy and .npz files, checked before anything is loaded."""

import io
import sys
import zipfile
import zlib
from collections.abc import Collection
from dataclasses import dataclass
from math import prod
from pathlib import Path
from tokenize import TokenError
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike, NDArray

# what zipfile and numpy raise for damaged archives and arrays
DAMAGE = (
    OSError,
    ValueError,
    EOFError,
    RuntimeError,
    MemoryError,
    zipfile.BadZipFile,
    zlib.error,
)
_HEADER_BYTES = 2**16  # more than any array's; numpy reads as many as are declared
# other compression methods have no bound on what they unpack to
_PACKING = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


@dataclass(frozen=True)
class ArrayHeader:
    """The header of an array, with the bytes it declares and those in the archive."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    declared: int
    held: int


def array_headers(
    path: Path, wanted: Collection[str]
) -> tuple[list[str], dict[str, ArrayHeader]]:
    """Read the names of all arrays in an archive, and the headers of some.

    Raises:
        DAMAGE: Any of them, where the file is not whole.
    """
    with zipfile.ZipFile(path) as archive:
        entries = {
            entry.filename.removesuffix(".npy"): entry
            for entry in archive.infolist()
            if entry.filename.endswith(".npy")
        }
        there = [name for name in wanted if name in entries]
        headers = {name: _header(archive, entries[name]) for name in there}
        return list(entries), headers


def read_rows(path: Path, dtype: DTypeLike, width: int) -> NDArray[Any]:
    """Read an .npy file of one array, (n, width).

    Raises:
        DAMAGE: Any of them, where the file is not whole, or holds something else.
    """
    with path.open("rb") as file:
        head = io.BytesIO(file.read(_HEADER_BYTES))
        shape, found = _read_header(head)
        if found != np.dtype(dtype) or shape[1:] != (width,):
            raise ValueError(f"it holds {found} of shape {shape}")
        if prod(shape) * found.itemsize != path.stat().st_size - head.tell():
            raise ValueError(f"its size does not fit its shape, {shape}")
        file.seek(0)
        return np.lib.format.read_array(file, allow_pickle=False)


def _header(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> ArrayHeader:
    require_sound_entry(entry)
    with archive.open(entry) as packed:
        file = io.BytesIO(packed.read(_HEADER_BYTES))
        shape, dtype = _read_header(file)
        declared = prod(shape) * dtype.itemsize
        return ArrayHeader(shape, dtype, declared, entry.file_size - file.tell())


def _read_header(file: BinaryIO) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"unknown array format {version}")
    try:
        if version == (1, 0):
            shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        else:
            shape, _, dtype = np.lib.format.read_array_header_2_0(file)
    except (SyntaxError, TokenError, RecursionError, TypeError) as error:
        raise ValueError(f"the header of an array is damaged ({error})") from None
    if min(shape, default=0) < 0:
        raise ValueError(f"an array has the shape {shape}")
    return shape, dtype


def read_texts(values: NDArray[Any]) -> list[str]:
    """Return the texts or numbers of an array as texts.

    Raises:
        ValueError: Some are no characters; numpy and Python fail on these.
    """
    if values.dtype.kind == "U":
        order = "<" if values.dtype.str[0] == "<" else ">"
        points = np.frombuffer(values.tobytes(), f"{order}u4")
        if ((points >= 0xD800) & (points < 0xE000) | (points > sys.maxunicode)).any():
            raise ValueError("a text has an invalid character")
    return [str(value) for value in values.reshape(-1)]


def require_sound_entry(entry: zipfile.ZipInfo) -> None:
    """Refuse an entry outside the file, or one that may unpack to any size."""
    name = entry.filename[:80]
    if entry.header_offset < 0:
        raise ValueError(f"'{name}' lies outside the file")
    if entry.compress_type not in _PACKING:
        raise ValueError(f"'{name}' is packed in an unknown way")
