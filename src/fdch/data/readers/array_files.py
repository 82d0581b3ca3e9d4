"""What .npz files say that they hold, before anything of it is loaded."""

import io
import zipfile
import zlib
from collections.abc import Collection
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

# all that zip files and arrays raise when they are not what they say
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
# what other ways of packing unpack to cannot be bounded
_PACKING = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


@dataclass(frozen=True)
class ArrayHeader:
    """What an array's header declares, beside what the archive holds, in bytes."""

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


def _header(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> ArrayHeader:
    require_plain_packing(entry)
    with archive.open(entry) as packed:
        file = io.BytesIO(packed.read(_HEADER_BYTES))
        version = np.lib.format.read_magic(file)
        if version == (1, 0):
            shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        elif version == (2, 0):
            shape, _, dtype = np.lib.format.read_array_header_2_0(file)
        else:
            raise ValueError(f"unknown array format {version}")
        declared = prod(shape) * dtype.itemsize
        return ArrayHeader(shape, dtype, declared, entry.file_size - file.tell())


def require_plain_packing(entry: zipfile.ZipInfo) -> None:
    """Refuse an entry that unpacks to any size, whatever the archive declares."""
    if entry.compress_type not in _PACKING:
        raise ValueError(
            f"'{entry.filename[:80]}' is packed in an unknown way "
            f"({entry.compress_type})"
        )
