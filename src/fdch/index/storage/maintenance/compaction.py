"""Compaction: parts and log written again without what was removed.

New parts are written beside the old ones, then a new log that names them. The rename
of the log is the switch. Readers that still use the old files keep them until they
let go.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fdch.index.search.buckets import Buckets
from fdch.index.search.groups import Grouping
from fdch.index.search.rows import Rows
from fdch.index.storage.access import Access
from fdch.index.storage.catalogue.tables import (
    Applier,
    State,
    is_intact_item,
    kept_parts,
)
from fdch.index.storage.catalogue.word_table import shrink_words
from fdch.index.storage.files.acknowledged import acknowledge
from fdch.index.storage.files.checking import part_problems
from fdch.index.storage.files.layout import (
    CATALOGUE,
    DIGEST_BYTES,
    MAX_PART_ROWS,
    VECTORS,
    damaged,
    hash_file,
    part_file,
    part_files,
)
from fdch.index.storage.files.log import LogHeader, write_log
from fdch.index.storage.files.parts import OpenPart, write_arrays
from fdch.index.storage.files.records import (
    BUCKETS,
    GROUPING,
    MAX_SPAN,
    Checks,
    PartRecord,
    log_entries,
    pack_numbers,
)
from fdch.index.storage.files.segments import NUMBERS, ROWS, Place, Segment
from fdch.index.storage.snapshot import Snapshot, View
from fdch.progress import Progress, Update, silent

VECTOR_BYTES_AT_A_TIME = 2**26
Piece = tuple[OpenPart, NDArray[np.int64]]  # rows of a part, by their offsets


def compact(access: Access, progress: Progress = silent) -> None:
    """Rewrite codes and log without what was removed."""
    with access.exclusive():
        with access.writing() as view:
            old = view.snapshot.parts
            _require_intact(view)
            made = _write_parts(view.snapshot, progress)
            access.is_log_ahead = True
            state = _replace_log(view, made)
            acknowledge(access.place.folder, state.acknowledged)
        gone = tuple(f"{part.record.part:08d}." for part in old)
        for file in part_files(access.place.folder):
            if file.name.startswith(gone):
                with suppress(OSError):  # the next writer removes it
                    file.unlink()
        access.catalogue.vacuum()
        access.checkpoint()


def _require_intact(view: View) -> None:
    """Refuse to copy damage under a new checksum."""
    place = view.snapshot.place
    for part in kept_parts(view.connection, place.uid).values():
        for problem in part_problems(place, part):
            raise damaged(f"'{place.folder}': {problem}")


def _write_parts(snapshot: Snapshot, progress: Progress) -> list[PartRecord]:
    """Write the rows that stay into new parts."""
    number, done, made = snapshot.state.counts.next_part, 0, []
    for pieces in _batches(snapshot.parts):
        made.append(_write_part(snapshot.place, number, pieces))
        number += 1
        done += made[-1].rows
        progress(Update("compacting", done, int(snapshot.starts[-1]), "code"))
    return made


def _batches(parts: Sequence[OpenPart]) -> Iterator[list[Piece]]:
    """Return the rows that stay, as many at a time as a part may hold."""
    held: list[Piece] = []
    first, room = 0, MAX_PART_ROWS
    for part in parts:
        offsets = part.living()
        while len(offsets):
            numbers = part.item_numbers(offsets[:room])
            first = first if held else int(numbers[0])
            count = int(np.searchsorted(numbers, first + MAX_SPAN))
            if count:
                held.append((part, offsets[:count]))
            offsets, room = offsets[count:], room - count
            if not room or len(offsets):
                yield held
                held, room = [], MAX_PART_ROWS
    if held:
        yield held


def _write_part(place: Place, number: int, pieces: Sequence[Piece]) -> PartRecord:
    rows = np.concatenate([part.rows[offsets] for part, offsets in pieces])
    numbers = np.concatenate([part.item_numbers(offsets) for part, offsets in pieces])
    first, span = int(numbers[0]), int(numbers[-1] - numbers[0]) + 1
    digests, packed = {ROWS: place.segment(number, ROWS).create(rows)}, b""
    if place.vector_bytes:
        digests[VECTORS] = _write_vectors(place.segment(number, VECTORS), pieces)
    if span != len(rows):
        segment = place.segment(number, NUMBERS)
        relative = (numbers - first).astype(np.uint32)
        digests[NUMBERS], packed = segment.create(relative), pack_numbers(relative)
    checks = {kind: Checks(0, each) for kind, each in digests.items()}
    sidecars = _write_sidecars(place, number, rows)
    return PartRecord(number, first, len(rows), span, sidecars, checks, packed)


def _write_vectors(segment: Segment, pieces: Sequence[Piece]) -> bytes:
    """Write vectors, as many at a time as fit into memory; return their checksums."""
    digests, done = segment.create(), 0
    step = max(1, VECTOR_BYTES_AT_A_TIME // segment.row_bytes)
    for part, offsets in pieces:
        assert part.vectors is not None
        for start in range(0, len(offsets), step):
            some = part.vectors[offsets[start : start + step]]
            first, added = segment.append(done, some, digests[-DIGEST_BYTES:])
            digests = digests[: first * DIGEST_BYTES] + added
            done += len(some)
    return digests


def _write_sidecars(place: Place, part: int, rows: Rows) -> dict[str, tuple[int, str]]:
    """Write what makes searching a part faster, where it pays."""
    grouping = Grouping.build(rows, place.bits)
    stored = rows if grouping is None else grouping.rows
    written = {}
    buckets = Buckets.build(stored, place.bits)
    for kind, table in ((GROUPING, grouping), (BUCKETS, buckets)):
        if table is not None:
            path = part_file(place.folder, part, kind)
            write_arrays(path, table.arrays())
            size, content = hash_file(path)
            written[kind] = (size, content.hex())
    return written


def _replace_log(view: View, parts: Sequence[PartRecord]) -> State:
    """Write a log of what is there now, and let the catalogue follow it."""
    connection, snapshot = view.connection, view.snapshot
    before, counts = snapshot.state, snapshot.state.counts
    next_part = max([counts.next_part, *(part.part + 1 for part in parts)])
    entries = log_entries(
        about=before.about,
        parts=parts,
        ranges=[range(first, last + 1) for first, last in snapshot.ranges.tolist()],
        removed=[],
        items=_living_items(view),
        counts=replace(counts, commit=counts.commit + 1, next_part=next_part),
    )
    header = LogHeader(before.uid, before.position.sequence)
    end, kept = write_log(snapshot.place.folder, header, entries)
    connection.execute("DELETE FROM records")
    shrink_words(connection)
    applier = Applier(connection, replace(before, first=header.first, parts=()))
    for record in kept:
        applier.apply(*record)
    return applier.finish(end)


def _living_items(view: View) -> Iterator[tuple[int, str, str]]:
    """Return every item that has a row, each proven by its checksum."""
    snapshot = view.snapshot
    living = snapshot.living()
    expected = living[~snapshot.is_running(living)]
    count = 0
    for row in view.connection.execute("SELECT * FROM items ORDER BY number"):
        is_next = count < len(expected) and row[0] == expected[count]
        if not is_next or not is_intact_item(snapshot.place.uid, *row):
            break
        count += 1
        yield row[:3]
    if count != len(expected):
        path = snapshot.place.folder / CATALOGUE
        raise damaged(f"'{path}' has lost an item or a checksum")
