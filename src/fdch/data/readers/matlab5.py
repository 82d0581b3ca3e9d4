"""Variables of MATLAB v5 files, read safely whatever their bytes are.

Only what data sets and published networks hold is read: numbers, sparse matrices,
texts, cells and structs. scipy's reader trusts the sizes in a file, and damaged ones
crash the process in its compiled code.
"""

import zlib
from collections.abc import Callable, Sequence
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fdch.machine import available_memory

MAX_DEPTH = 16  # cells in cells
MAX_ELEMENTS = 10**6  # cells and fields, which take far more memory than in the file
HEAD_BYTES = 4096  # enough for the flags, dimensions and name of a variable
# what reading a damaged file raises
DAMAGE = (OSError, ValueError, OverflowError, MemoryError, zlib.error)
_HEADER_BYTES = 128
_MATRIX, _PACKED = 14, 15
_STORED = {  # numbers by the type of an element
    1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8",
    13: "u8",
}  # fmt: skip
_TEXTS = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16"}
CLASSES = {
    1: "cell", 2: "struct", 3: "object", 4: "char", 5: "sparse", 6: "double",
    7: "single", 8: "int8", 9: "uint8", 10: "int16", 11: "uint16", 12: "int32",
    13: "uint32", 14: "int64", 15: "uint64", 16: "function", 17: "opaque",
}  # fmt: skip
_NUMBERS = {
    "double": "f8", "single": "f4", "int8": "i1", "uint8": "u1", "int16": "i2",
    "uint16": "u2", "int32": "i4", "uint32": "u4", "int64": "i8", "uint64": "u8",
}  # fmt: skip
_IS_COMPLEX = 0x0800


class Header(NamedTuple):
    """A variable's name, shape and class."""

    name: str
    shape: tuple[int, ...]
    kind: str  # one of CLASSES


class _Element(NamedTuple):
    kind: int
    content: memoryview


Approve = Callable[[Sequence[Header]], Sequence[str]]


def read_variables(path: Path, approve: Approve) -> dict[str, Any]:
    """Read some variables of a file.

    `approve` takes the headers of all variables and returns the names of those to read;
    it may raise.

    Returns:
        By name: arrays of numbers with MATLAB's axes, sparse arrays, texts, lists of
        the values of cells, and lists of dicts for structs.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is damaged, or has what is not read.
    """
    with path.open("rb") as file:
        header = file.read(_HEADER_BYTES)
        order = {b"IM": "<", b"MI": ">"}.get(header[126:128])
        if order is None:
            raise ValueError("it is no MATLAB file of version 5")
        places = _list_variables(file, order)
        wanted = set(approve(list(places)))
        return {
            variable.name: _Reader(order).value(_load(file, order, place))
            for variable, place in places.items()
            if variable.name in wanted
        }


def _list_variables(file: BinaryIO, order: str) -> dict[Header, tuple[int, int, int]]:
    """Find each variable: the type, place and bytes of its element."""
    end = file.seek(0, 2)
    place, found = _HEADER_BYTES, {}
    while place < end:
        file.seek(place)
        kind, size = (int(n) for n in np.frombuffer(_read(file, 8), order + "u4"))
        place += 8
        if place + size > end:
            raise ValueError("it ends within a variable")
        head = _read(file, min(size, HEAD_BYTES))
        if kind == _PACKED:
            head = zlib.decompressobj().decompress(head, HEAD_BYTES)[8:]
        elif kind != _MATRIX:
            raise ValueError(f"it has an element of type {kind}")
        variable, _, _ = _Reader(order).head(memoryview(head))
        found[variable] = kind, place, size
        place += size if kind == _PACKED else _pad(size)
    return found


def _load(file: BinaryIO, order: str, place: tuple[int, int, int]) -> memoryview:
    """Read the content of a variable, unpacked."""
    kind, start, size = place
    file.seek(start)
    content = _read(file, size)
    if kind == _MATRIX:
        return memoryview(content)
    unpacking = zlib.decompressobj()
    tag = unpacking.decompress(content, 8)
    if len(tag) != 8:
        raise ValueError("a packed variable is cut short")
    inner, declared = (int(number) for number in np.frombuffer(tag, order + "u4"))
    free = available_memory()
    if inner != _MATRIX or (free is not None and declared > free // 2):
        raise ValueError(f"a variable declares {declared:,} bytes of type {inner}")
    unpacked = unpacking.decompress(unpacking.unconsumed_tail, declared + 1)
    if len(unpacked) != declared:
        raise ValueError(f"a variable of {declared:,} bytes has {len(unpacked):,}")
    return memoryview(unpacked)


def _read(file: BinaryIO, size: int) -> bytes:
    content = file.read(size)
    if len(content) != size:
        raise ValueError("it is cut short")
    return content


def _pad(size: int) -> int:
    return -(-size // 8) * 8


class _Reader:
    """Reads matrices of one file, which is in one order of bytes."""

    def __init__(self, order: str) -> None:
        self._order, self._elements = order, 0

    def head(self, content: memoryview) -> tuple[Header, bool, memoryview]:
        """Read the flags, dimensions and name; return what follows them too."""
        flags, rest = self._element(content)
        if len(flags.content) != 8:
            raise ValueError("a variable has no flags")
        bits = int(self._numbers(flags._replace(kind=6))[0])
        kind = CLASSES.get(bits & 255, "unknown")
        shape: tuple[int, ...] = ()
        if kind != "opaque":  # objects of newer MATLABs have none
            dimensions, rest = self._element(rest)
            shape = tuple(int(length) for length in self._numbers(dimensions))
            if len(shape) < 2 or min(shape) < 0:
                raise ValueError(f"a variable has the shape {shape}")
        name, rest = self._element(rest)
        header = Header(bytes(name.content).decode("latin-1"), shape, kind)
        return header, bool(bits & _IS_COMPLEX), rest

    def value(self, content: memoryview, depth: int = 0) -> Any:
        """Read the content of a matrix."""
        if not content:  # a cell or a field that was never set
            return np.zeros((0, 0))
        self._elements += 1
        if depth > MAX_DEPTH or self._elements > MAX_ELEMENTS:
            raise ValueError("it has too many cells, or cells nested too deep")
        (name, shape, kind), is_complex, rest = self.head(content)
        if kind == "sparse" and not is_complex:
            return self._sparse(rest, shape)
        if kind == "cell":
            return self._matrices(rest, prod(shape), depth)[0]
        if kind == "struct":
            return self._structs(rest, prod(shape), depth)
        if kind == "char":
            return self._text(self._element(rest)[0])
        if kind not in _NUMBERS or is_complex:
            raise ValueError(f"'{name}' is {'complex' if is_complex else kind}")
        stored = self._numbers(self._element(rest)[0])
        if len(stored) != prod(shape):
            raise ValueError(f"'{name}' has {len(stored)} values for a shape {shape}")
        return stored.astype(_NUMBERS[kind], copy=False).reshape(shape, order="F")

    def _element(self, content: memoryview) -> tuple[_Element, memoryview]:
        """Cut off the first element; its length may stand in two bytes."""
        if len(content) < 8:
            raise ValueError("an element is cut short")
        first, size = (int(n) for n in np.frombuffer(content[:8], self._order + "u4"))
        start = 8
        if first >> 16:
            first, size, start = first & 0xFFFF, first >> 16, 4
        if size > len(content) - start or (start == 4 and size > 4):
            raise ValueError("an element is cut short")
        after = 8 if start == 4 else start + _pad(size)
        return _Element(first, content[start : start + size]), content[after:]

    def _numbers(self, element: _Element) -> NDArray[Any]:
        if element.kind not in _STORED:
            raise ValueError(f"numbers are stored as type {element.kind}")
        values = np.frombuffer(element.content, self._order + _STORED[element.kind])
        return values.astype(_STORED[element.kind], copy=False)

    def _sparse(self, content: memoryview, shape: tuple[int, ...]) -> sparse.csc_array:
        rows, content = self._element(content)
        starts, content = self._element(content)
        values, _ = self._element(content)
        bounds, indices = self._numbers(starts), self._numbers(rows)
        if len(shape) != 2 or len(bounds) != shape[1] + 1:
            raise ValueError(f"a sparse matrix of {shape} has {len(bounds)} bounds")
        # scipy checks differences, which overflow, and none where the last bound is 0
        if bounds.dtype.kind == "f" or (bounds[1:] < bounds[:-1]).any():
            raise ValueError("the columns of a sparse matrix are not in order")
        first, count = int(bounds[0]), int(bounds[-1])
        if first != 0 or count > len(indices):  # memory may be reserved for more
            raise ValueError(
                f"the columns of a sparse matrix are {first} to {count} of its "
                f"{len(indices)} values"
            )
        parts = self._numbers(values)[:count], indices[:count], bounds
        matrix = sparse.csc_array(parts, shape=shape)
        matrix.check_format(full_check=True)  # wrong ones crash what reads them
        return matrix

    def _matrices(
        self, content: memoryview, count: int, depth: int
    ) -> tuple[list[Any], memoryview]:
        found = []
        for _ in range(count):
            element, content = self._element(content)
            if element.kind != _MATRIX:
                raise ValueError(f"a cell is of type {element.kind}")
            found.append(self.value(element.content, depth + 1))
        return found, content

    def _structs(
        self, content: memoryview, count: int, depth: int
    ) -> list[dict[str, Any]]:
        length, content = self._element(content)
        names, content = self._element(content)
        width = int(self._numbers(length).sum())  # of each name, padded with zeros
        if width < 1 or len(names.content) % width:
            raise ValueError(f"names of {width} letters take {len(names.content)}")
        text = bytes(names.content)
        fields = [
            text[start : start + width].partition(b"\0")[0].decode("latin-1")
            for start in range(0, len(text), width)
        ]
        found = []
        for _ in range(count):
            if not fields:
                raise ValueError("a struct has no fields")
            values, content = self._matrices(content, len(fields), depth)
            found.append(dict(zip(fields, values, strict=True)))
        return found

    def _text(self, element: _Element) -> str:
        if element.kind not in _TEXTS:
            raise ValueError(f"a text is stored as type {element.kind}")
        coding = _TEXTS[element.kind]
        if coding == "utf-16":
            coding += "-le" if self._order == "<" else "-be"
        return bytes(element.content).decode(coding)
