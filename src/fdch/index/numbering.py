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

from fdch.index.parts import PartRecord
from fdch.index.restoring import restored, write_at
from fdch.index.segments import HEADER_BYTES, Segment
from fdch.index.verification import bad_chunks

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
    name = segment.path.relative_to(segment.folder)
    query = "SELECT chunk, digest FROM chunks WHERE part = ? AND kind = ?"
    checks = dict(connection.execute(query, (segment.part, segment.kind)))
    numbers = _read(segment, part)
    told: list[str] = []
    lost: list[Window] = []
    for chunk in sorted(wrong):
        low = chunk * segment.chunk_rows
        high = min(low + segment.chunk_rows, part.rows)
        before = int(numbers[low - 1]) if low else -1
        behind = _next_sound(numbers, wrong, chunk, segment.chunk_rows, part)
        inside = _claimed(connection, part, before, behind)
        check = checks.get(chunk)
        right = None
        for trial in _trials(numbers[low:high], inside, wrong[chunk]):
            if check is None:  # all that can be there must be there
                is_right = chunk + 1 not in wrong and len(inside) == high - low
                is_right = is_right and np.array_equal(trial, inside)
            else:
                content = trial.astype(segment.dtype).tobytes()
                is_right = segment.digest(chunk, content) == check
            if is_right:
                right = trial
                break
        if right is None and check is not None:
            right = _flipped(segment, chunk, wrong[chunk], check)
        if right is None:
            first = part.first + before + 1
            lost.append(Window(first, part.first + behind, high - low))
            right = before + 1 + np.arange(high - low)
        else:
            told.append(f"{name}, chunk {chunk}")
        numbers[low:high] = right
        content = numbers[low:high].astype(segment.dtype).tobytes()
        write_at(segment.path, segment.size(low), content)
    return told, lost


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


def _next_sound(
    numbers: Relative,
    wrong: dict[int, bytes],
    chunk: int,
    chunk_rows: int,
    part: PartRecord,
) -> int:
    """Give the first number behind a chunk that is as written."""
    while chunk + 1 in wrong:
        chunk += 1
    row = (chunk + 1) * chunk_rows
    return int(numbers[row]) if row < part.rows else part.span


def _trials(found: Relative, inside: Relative, content: bytes) -> Iterator[Relative]:
    """Give what a chunk may have been: all that is known, or that around wounds."""
    if len(inside) >= len(found):
        yield inside[: len(found)]
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
