"""What the packed buffers of an Arrow message say that they unpack to.

Messages are FlatBuffers; only the few fields that are needed are looked up. See
"Serialization and interprocess communication" in Arrow's columnar format.
"""

import struct
from collections.abc import Iterator

_HEADER_KIND, _HEADER = 1, 2  # fields of a message
_DICTIONARY, _BATCH = 2, 3  # kinds of header
_DATA = 1  # of a dictionary, its batch
_BUFFERS, _PACKING = 2, 3  # of a batch


def list_packed_sizes(message: memoryview, body: memoryview | bytes) -> Iterator[int]:
    """Give the length of each packed buffer once it is unpacked.

    Raises:
        ValueError: The message is damaged.
    """
    try:
        root = _Table(message, _number(message, 0, "<I"))
        kind = root.place(_HEADER_KIND)
        header = root.table(_HEADER)
        code = 0 if kind is None else message[kind]
        if header is None or code not in (_DICTIONARY, _BATCH):
            return
        batch = header if code == _BATCH else header.table(_DATA)
        if batch is None or batch.place(_PACKING) is None:
            return
        vector = batch.vector(_BUFFERS)
        for place in range(vector[0], vector[0] + 16 * vector[1], 16):
            start, length = struct.unpack_from("<qq", message, place)
            if length >= 8:
                # -1 stands for a buffer that is not packed
                yield max(0, int(struct.unpack_from("<q", body, start)[0]))
    except (struct.error, IndexError) as error:
        raise ValueError(f"a message is damaged ({error})") from None


class _Table:
    """A table of FlatBuffers: its fields lie where its list of offsets says."""

    def __init__(self, content: memoryview, start: int) -> None:
        self._content, self._start = content, start
        self._offsets = start - _number(content, start, "<i")

    def place(self, field: int) -> int | None:
        """Give where a field lies; None where it is not set."""
        entry = 4 + 2 * field
        if self._offsets < 0 or entry >= _number(self._content, self._offsets, "<H"):
            return None
        offset = _number(self._content, self._offsets + entry, "<H")
        return self._start + offset if offset else None

    def table(self, field: int) -> "_Table | None":
        """Give a field that is a table."""
        place = self.place(field)
        if place is None:
            return None
        return _Table(self._content, place + _number(self._content, place, "<I"))

    def vector(self, field: int) -> tuple[int, int]:
        """Give where the items of a vector begin, and how many there are."""
        place = self.place(field)
        if place is None:
            return 0, 0
        start = place + _number(self._content, place, "<I")
        return start + 4, _number(self._content, start, "<I")


def _number(content: memoryview, place: int, kind: str) -> int:
    if place < 0:
        raise IndexError("a negative place")
    return int(struct.unpack_from(kind, content, place)[0])
