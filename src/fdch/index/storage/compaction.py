"""Compaction: parts and log written again without what was removed.

New parts are written beside the old ones, then a new log that names them. The rename
of the log is the switch. Readers that still use the old files keep them until they
let go.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fdch.errors import DamagedIndex
from fdch.index.search.buckets import Buckets
from fdch.index.search.groups import Grouping
from fdch.index.search.rows import Rows
from fdch.index.storage.access import Access, acknowledged_by
from fdch.index.storage.acknowledged import acknowledge
from fdch.index.storage.checking import part_problems
from fdch.index.storage.layout import (
    CATALOGUE,
    CODES,
    MAX_PART_ROWS,
    REPAIR,
    hash_file,
    part_file,
)
from fdch.index.storage.log import PART, LogHeader, write_log
from fdch.index.storage.parts import OpenPart, write_sidecar
from fdch.index.storage.records import (
    BUCKETS,
    GROUPING,
    MAX_SPAN,
    About,
    PartRecord,
    join_parts,
    log_entries,
    pack_numbers,
)
from fdch.index.storage.segments import Place
from fdch.index.storage.snapshot import Snapshot, View
from fdch.index.storage.tables import Applier, State, is_intact_item, kept_records
from fdch.progress import Progress, Update, silent

Batch = tuple[Rows, NDArray[np.int64]]  # codes, and the numbers of their items


def compact(access: Access, progress: Progress = silent) -> None:
    """Rewrite parts that hold removed rows, or that can be joined, and the log."""
    with access.alone():
        with access.writing() as view:
            old = _parts_to_rewrite(view.snapshot.parts)
            kept = _keep_parts(view, old)
            made = _write_parts(view.snapshot, old, progress)
            access.is_log_ahead = True
            state = _replace_log(view, [*kept, *made])
            acknowledge(access.place.folder, acknowledged_by(state))
        for part in old:
            for file in (access.place.folder / CODES).glob(f"{part.record.part:08d}.*"):
                with suppress(OSError):  # the next writer removes it
                    file.unlink()
        access.catalogue.vacuum()
        access.checkpoint()


def _parts_to_rewrite(parts: Sequence[OpenPart]) -> list[OpenPart]:
    """Choose the parts with removed rows, and small neighbours to be joined."""
    return [
        part
        for part in parts
        if part.dead is not None
        or not part.is_compacted
        or (part.record.rows < MAX_PART_ROWS // 2 and len(parts) > 1)
    ]


def _keep_parts(view: View, old: Sequence[OpenPart]) -> list[PartRecord]:
    """Return the parts that stay; refuse to copy damage under a new checksum."""
    place = view.snapshot.place
    known = join_parts(kept_records(view.connection, place.uid, PART))
    for record in (part.record for part in old):
        for problem in part_problems(place, known.pop(record.part, record)):
            raise DamagedIndex(f"'{place.folder}': {problem}. {REPAIR}")
    return list(known.values())


def _write_parts(
    snapshot: Snapshot, old: Sequence[OpenPart], progress: Progress
) -> list[PartRecord]:
    """Write the rows that stay of old parts into new ones."""
    number, done, made = snapshot.state.next_part, 0, []
    total = sum(part.record.rows for part in old)
    for run in _runs(snapshot.parts, old):
        for rows, numbers in _batches(run):
            made.append(_write_part(snapshot.place, number, rows, numbers))
            number += 1
            done += len(rows)
            progress(Update("compacting", done, total, "code"))
    return made


def _runs(
    parts: Sequence[OpenPart], chosen: Sequence[OpenPart]
) -> Iterator[list[OpenPart]]:
    """Return neighbours among the chosen parts; others keep them apart."""
    for is_chosen, run in groupby(parts, key=lambda part: part in chosen):
        if is_chosen:
            yield list(run)


def _batches(run: Sequence[OpenPart]) -> Iterator[Batch]:
    """Return the rows that stay, as many at a time as a part may hold."""
    held: list[Batch] = []
    room = MAX_PART_ROWS
    for part in run:
        offsets = part.living()
        while len(offsets):
            first = int(held[0][1][0]) if held else None
            some = part.item_numbers(offsets[:room])
            if first is not None:
                some = some[: np.searchsorted(some, first + MAX_SPAN)]
            if len(some):
                held.append((part.rows[offsets[: len(some)]], some))
            offsets = offsets[len(some) :]
            room -= len(some)
            if not room or len(offsets):
                yield _join(held)
                held, room = [], MAX_PART_ROWS
    if held:
        yield _join(held)


def _join(held: Sequence[Batch]) -> Batch:
    rows, numbers = zip(*held, strict=True)
    return np.concatenate(rows), np.concatenate(numbers)


def _write_part(
    place: Place, number: int, rows: Rows, numbers: NDArray[np.int64]
) -> PartRecord:
    first, span = int(numbers[0]), int(numbers[-1] - numbers[0]) + 1
    checks = place.rows(number).create(rows)
    part = PartRecord(number, first, len(rows), span, checks=checks)
    if span != len(rows):
        segment = place.numbers(number)
        relative = (numbers - first).astype(segment.dtype)
        checks = segment.create(relative)
        part = replace(part, number_checks=checks, packed=pack_numbers(relative))
    return replace(part, sidecars=_write_sidecars(place, number, rows))


def _write_sidecars(place: Place, part: int, rows: Rows) -> dict[str, tuple[int, str]]:
    """Write what makes searching a part faster, where it pays."""
    arrays: dict[str, dict[str, NDArray[Any]]] = {}
    grouping = Grouping.build(rows, place.bits)
    if grouping is not None:
        rows = rows[grouping.order]
        arrays[GROUPING] = {"rows": rows, **grouping.arrays()}
    buckets = Buckets.build(rows, place.bits)
    if buckets is not None:
        arrays[BUCKETS] = buckets.arrays()
    written = {}
    for kind, each in arrays.items():
        write_sidecar(place, part, kind, each)
        size, content = hash_file(part_file(place.folder, part, kind))
        written[kind] = (size, content.hex())
    return written


def _replace_log(view: View, parts: Sequence[PartRecord]) -> State:
    """Write a log of what is there now, and let the catalogue follow it."""
    connection, snapshot = view.connection, view.snapshot
    before = snapshot.state
    next_part = max([before.next_part, *(part.part + 1 for part in parts)])
    entries = log_entries(
        about=About.read(before.about),
        parts=parts,
        ranges=[range(first, last + 1) for first, last in snapshot.ranges.tolist()],
        removed=[],
        items=_living_items(view),
        counts=replace(before.counts, commit=before.commit + 1, next_part=next_part),
    )
    header = LogHeader(before.uid, before.sequence)
    end, kept = write_log(snapshot.place.folder, header, entries)
    connection.execute("DELETE FROM records")
    connection.execute("DELETE FROM parts")
    applier = Applier(connection, replace(before, first=header.first))
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
        raise DamagedIndex(f"'{path}' has lost an item or a checksum. {REPAIR}")
