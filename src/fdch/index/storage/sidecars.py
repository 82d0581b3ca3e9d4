"""Files that make searching a part faster: arrays by name, mapped when needed.

They are made from the rows and may be thrown away: the rows themselves stay in
the order of insertion in their own file.
"""

import json
import os
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fdch.errors import DamagedIndex
from fdch.index.storage.layout import (
    DIGEST_BYTES,
    digest,
    open_plainly,
    part_file,
    sync,
    sync_folder,
)

_MAGIC = b"fdcharrs"
_ALIGNMENT = 64
_MAX_HEADER = 2**16
_KINDS = {"u1", "u2", "u4", "u8", "i8"}


def write_sidecar(
    folder: Path, uid: bytes, part: int, kind: str, arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write arrays into one file, and flush it to disk."""
    place, table = 0, []
    for name, values in arrays.items():
        table.append([name, values.dtype.str[1:], list(values.shape), place])
        place += -(-values.nbytes // _ALIGNMENT) * _ALIGNMENT
    words = json.dumps(table).encode()
    head = _MAGIC + len(words).to_bytes(8, "little") + words
    head += digest(head, uid, kind, part)
    path = part_file(folder, part, kind)
    with open(path, "wb", opener=open_plainly) as file:
        file.write(head.ljust(_aligned(len(head)), b"\0"))
        for values in arrays.values():
            content = np.ascontiguousarray(values).reshape(-1).view(np.uint8).data
            file.write(content)
            file.write(bytes(-len(content) % _ALIGNMENT))
        file.flush()
        sync(file.fileno())
    sync_folder(path.parent)


def map_sidecar(
    folder: Path, uid: bytes, part: int, kind: str
) -> dict[str, NDArray[Any]]:
    """Map the arrays of a file, after a look at its header.

    Raises:
        DamagedIndex: It is not as written.
        FileNotFoundError: It is not there.
    """
    path = part_file(folder, part, kind)
    with path.open("rb") as file:
        head = file.read(len(_MAGIC) + 8)
        length = int.from_bytes(head[len(_MAGIC) :], "little")
        head += file.read(min(length, _MAX_HEADER))
        check = file.read(DIGEST_BYTES)
        if head[: len(_MAGIC)] != _MAGIC or check != digest(head, uid, kind, part):
            raise DamagedIndex(f"'{path}' does not begin as it was written.")
        size = os.fstat(file.fileno()).st_size
        start = _aligned(len(head) + DIGEST_BYTES)
        arrays: dict[str, NDArray[Any]] = {}
        for name, code, shape, place in json.loads(head[len(_MAGIC) + 8 :]):
            end = start + place + prod(shape) * int(code[1])
            if code not in _KINDS or min(*shape, place) < 0 or end > size:
                raise DamagedIndex(f"'{path}' is shorter than it was written.")
            arrays[name] = np.memmap(file, f"<{code}", "r", start + place, tuple(shape))
        return arrays


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT
