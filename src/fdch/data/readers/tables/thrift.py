"""Thrift's compact protocol, in which Parquet describes itself."""

from typing import Any, NamedTuple

TRUE, FALSE, BYTE, INT16, INT32, INT64, DOUBLE, TEXT = range(1, 9)
LIST, SET, MAP, STRUCT = range(9, 13)
MAX_DEPTH = 16
_BITS = {INT16: 16, INT32: 32, INT64: 64}


class Field(NamedTuple):
    """A field of a struct, by its number and by its type: others are ignored."""

    number: int
    kind: int


def read_struct(content: bytes) -> tuple[dict[Field, Any], int]:
    """Read a struct at the start of some bytes; return its length too.

    Raises:
        IndexError: The bytes end too early.
        ValueError: They are not a struct, or have a field twice.
    """
    reader = _Reader(content)
    found = reader.struct(0)
    return found, reader.place


class _Reader:
    def __init__(self, content: bytes) -> None:
        self._content, self.place = content, 0

    def struct(self, depth: int) -> dict[Field, Any]:
        found: dict[Field, Any] = {}
        seen: set[int] = set()
        number = 0
        while head := self._byte():
            kind = head & 15
            number = number + (head >> 4) if head >> 4 else self._whole(INT16)
            if number in seen:
                raise ValueError("a field occurs twice")
            seen.add(number)
            is_truth = kind in (TRUE, FALSE)
            value = kind == TRUE if is_truth else self._value(kind, depth)
            found[Field(number, kind)] = value
        return found

    def _value(self, kind: int, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise ValueError("it is nested too deep")
        if kind in _BITS:
            return self._whole(kind)
        if kind in (TRUE, FALSE, BYTE):  # in a list, where truths take a byte too
            return self._byte()
        if kind == TEXT:
            return self._bytes(self._number())
        if kind == DOUBLE:
            return self._bytes(8)
        if kind in (LIST, SET):
            return self._list(depth)
        if kind == STRUCT:
            return self.struct(depth + 1)
        raise ValueError(f"it has a field of type {kind}")  # Parquet has no maps

    def _list(self, depth: int) -> list[Any]:
        head = self._byte()
        count = head >> 4 if head >> 4 < 15 else self._number()
        # each takes a byte at least
        if count > len(self._content) - self.place:
            raise IndexError
        return [self._value(head & 15, depth + 1) for _ in range(count)]

    def _byte(self) -> int:
        self.place += 1
        return self._content[self.place - 1]

    def _bytes(self, count: int) -> bytes:
        self.place += count
        if self.place > len(self._content):
            raise IndexError
        return self._content[self.place - count : self.place]

    def _whole(self, kind: int) -> int:
        """Read a number with a sign: 0, -1, 1, -2 are written as 0, 1, 2, 3."""
        number = self._number() & (2 ** _BITS[kind] - 1)
        return (number >> 1) ^ -(number & 1)

    def _number(self) -> int:
        number = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
        raise ValueError("it has a number without an end")
