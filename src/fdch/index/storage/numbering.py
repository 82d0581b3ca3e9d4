"""Which items a part's rows belong to, found again from the catalogue.

A row's item has a row of its own, is listed as removed, or has its number for an
id: so the catalogue knows all numbers of a part but for running numbers that were
compacted away, and the chunks' checksums prove what is found.
"""

import sqlite3
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, islice, pairwise, product

import numpy as np
from numpy.typing import NDArray

from fdch.index.storage.parts import PartRecord
from fdch.index.storage.restoring import restored, write_at
from fdch.index.storage.segments import HEADER_BYTES, Segment
from fdch.index.storage.verification import bad_chunks

_MOST_TRIALS = 10_000

Relative = NDArray[np.int64]  # numbers, less the part's first


@dataclass(frozen=True)
class Window:
    """Numbers between which it is lost which code is whose.

    Args:
        low: The first of them.
        high: The one behind the last.
        codes: How many codes there are.
    """

    low: int
    high: int
    codes: int


def mend_numbers(
    connection: sqlite3.Connection, segment: Segment, part: PartRecord
) -> tuple[list[str], list[Window]]:
    """Restore a part's file of numbers.

    Returns:
        What was restored, and what was not: rows there have gotten numbers that
        rise, so that all others are found.
    """
    wrong = dict(bad_chunks(connection, segment, part.rows))
    if not wrong:
        return [], []
    file = _Numbers(connection, segment, part, wrong)
    restored = file.restore()
    name = segment.path.relative_to(segment.folder)
    told = [f"{name}, chunk {chunk}" for chunk in sorted(restored)]
    return told, list(file.give_up())


class _Numbers:
    """A file of numbers with chunks that are not as written.

    Args:
        connection: The catalogue.
        segment: The file.
        part: Whose numbers it holds.
        wrong: The chunks that are not as written; each is taken out when it is.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        segment: Segment,
        part: PartRecord,
        wrong: dict[int, bytes],
    ) -> None:
        self._connection = connection
        self._segment = segment
        self._part = part
        self._wrong = wrong
        self._numbers = _read(segment, part)
        query = "SELECT chunk, digest FROM chunks WHERE part = ? AND kind = ?"
        self._checks: dict[int, bytes] = dict(
            connection.execute(query, (segment.part, segment.kind))
        )

    def restore(self) -> list[int]:
        """Restore chunks as long as one helps to prove another."""
        restored: list[int] = []
        while True:
            before = len(restored)
            for chunk in sorted(self._wrong):
                right = self._proven(chunk)
                if right is not None:
                    self._write(chunk, right)
                    restored.append(chunk)
            if len(restored) == before:
                return restored

    def give_up(self) -> Iterator[Window]:
        """Let the rows of all other chunks have the next numbers that rise."""
        while self._wrong:
            chunk = min(self._wrong)
            before, behind = self._bounds(chunk)
            number, codes = before + 1, 0
            while chunk in self._wrong:
                low, high = self._rows(chunk)
                self._write(chunk, np.arange(number, number + high - low))
                number, codes, chunk = (
                    number + high - low,
                    codes + high - low,
                    chunk + 1,
                )
            first = self._part.first
            yield Window(first + before + 1, first + behind, codes)

    def _proven(self, chunk: int) -> Relative | None:
        """Find what a chunk was, where its checksum or the catalogue proves it."""
        low, high = self._rows(chunk)
        before, behind = self._bounds(chunk)
        inside = _claimed(self._connection, self._part, before, behind)
        content = self._wrong[chunk]
        check = self._checks.get(chunk)
        if check is None:  # all that can be there must be there
            is_alone = chunk - 1 not in self._wrong and chunk + 1 not in self._wrong
            return inside if is_alone and len(inside) == high - low else None
        for trial in _trials(self._numbers[low:high], inside, content):
            written = trial.astype(self._segment.dtype).tobytes()
            if self._segment.digest(chunk, written) == check:
                return trial
        return _flipped(self._segment, chunk, content, check)

    def _rows(self, chunk: int) -> tuple[int, int]:
        low = chunk * self._segment.chunk_rows
        return low, min(low + self._segment.chunk_rows, self._part.rows)

    def _bounds(self, chunk: int) -> tuple[int, int]:
        """Give the last number before a chunk and the first behind that are right."""
        first = last = chunk
        while first - 1 in self._wrong:
            first -= 1
        while last + 1 in self._wrong:
            last += 1
        low, high = self._rows(first)[0], self._rows(last)[1]
        before = int(self._numbers[low - 1]) if low else -1
        is_last = high == self._part.rows
        return before, self._part.span if is_last else int(self._numbers[high])

    def _write(self, chunk: int, right: Relative) -> None:
        low, high = self._rows(chunk)
        self._numbers[low:high] = right
        content = right.astype(self._segment.dtype).tobytes()
        write_at(self._segment.path, self._segment.size(low), content)
        del self._wrong[chunk]


def _read(segment: Segment, part: PartRecord) -> Relative:
    content = segment.path.read_bytes()[HEADER_BYTES : segment.size(part.rows)]
    content = content.ljust(part.rows * segment.row_bytes, b"\0")
    return np.frombuffer(content, dtype=segment.dtype).astype(np.int64)


def _claimed(
    connection: sqlite3.Connection, part: PartRecord, before: int, behind: int
) -> Relative:
    """Give the numbers between two that the catalogue knows of a part."""
    low, high = part.first + before + 1, part.first + behind
    known = []
    for table in ("items", "removed"):
        query = f"SELECT number FROM {table} WHERE number >= ? AND number < ?"
        found = connection.execute(query, (low, high))
        known.append(np.fromiter((number for (number,) in found), dtype=np.int64))
    query = (
        "SELECT first, first + count FROM ranges WHERE first < ? AND first + count > ?"
    )
    for first, end in connection.execute(query, (high, low)):
        known.append(np.arange(max(first, low), min(end, high)))
    return np.unique(np.concatenate(known)) - part.first


def _trials(found: Relative, inside: Relative, content: bytes) -> Iterator[Relative]:
    """Give what a chunk may have been: all that is known, or that around wounds."""
    if len(inside) >= len(found):
        yield inside[: len(found)]
        yield inside[len(inside) - len(found) :]
    if len(content):
        yield from islice(_filled(found, inside), _MOST_TRIALS)


def _filled(found: Relative, inside: Relative) -> Iterator[Relative]:
    """Keep the longest rising run of possible numbers; fill in what lies between."""
    places = [-1, *_rising(found, inside), len(found)]
    wounds, ways = [], []
    for left, right in pairwise(places):
        low = bisect_left(inside, found[left] + 1) if left >= 0 else 0
        high = bisect_left(inside, found[right]) if right < len(found) else len(inside)
        rows = right - left - 1
        if high - low < rows:
            return
        if rows:
            wounds.append(slice(left + 1, right))
            ways.append(_chosen(inside[low:high], rows))
    for choice in product(*ways):
        whole = found.copy()
        for place, numbers in zip(wounds, choice, strict=True):
            whole[place] = numbers
        yield whole


def _chosen(numbers: Relative, count: int) -> list[Relative]:
    """Give the ways to choose so many numbers, leaving out few."""
    ways = combinations(range(len(numbers)), len(numbers) - count)
    return [np.delete(numbers, way) for way in islice(ways, _MOST_TRIALS)]


def _rising(found: Relative, inside: Relative) -> list[int]:
    """Give the places of the longest run of possible numbers that rises."""
    possible = np.flatnonzero(np.isin(found, inside)).tolist()
    ends: list[int] = []  # of the runs of each length, the least last number
    at: list[int] = []
    before: dict[int, int] = {}
    for place in possible:
        length = bisect_left(ends, found[place])
        before[place] = at[length - 1] if length else -1
        ends[length:] = [int(found[place]), *ends[length + 1 :]]
        at[length:] = [place, *at[length + 1 :]]
    run = []
    place = at[-1] if at else -1
    while place >= 0:
        run.append(place)
        place = before[place]
    return run[::-1]


def _flipped(
    segment: Segment, chunk: int, content: bytes, check: bytes
) -> Relative | None:
    mended = restored(content, lambda trial: segment.digest(chunk, trial) == check)
    if mended is None:
        return None
    return np.frombuffer(mended, dtype=segment.dtype).astype(np.int64)
