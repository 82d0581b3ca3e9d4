"""Compaction: parts written anew without the rows of removed items.

New parts are written beside the old ones; one commit puts them in their place.
Readers that still look at the old files keep them until they let go.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fdch.index.search.buckets import Buckets
from fdch.index.search.groups import Grouping
from fdch.index.search.rows import Rows
from fdch.index.storage.access import Access, View
from fdch.index.storage.changes import new_part, put_chunks, put_part, set_fact
from fdch.index.storage.kept_files import file_digest
from fdch.index.storage.layout import CODES, MOST_PART_ROWS, part_file
from fdch.index.storage.parts import (
    BUCKETS,
    GROUPING,
    MOST_SPAN,
    OpenPart,
    PartRecord,
    Place,
)
from fdch.index.storage.sidecars import write_sidecar
from fdch.progress import Progress, Update, silent

Batch = tuple[Rows, NDArray[np.int64]]  # codes, and the numbers of their items


def compact(access: Access, progress: Progress = silent) -> None:
    """Write parts anew that hold removed rows, or that can be joined."""
    with access.alone():
        with access.changing() as view:
            old = _to_write_anew(view.snapshot.parts)
            total = sum(part.record.rows for part in old)
            done = 0
            for run in _runs(view.snapshot.parts, old):
                for rows, numbers in _batches(run):
                    made = _write_part(view, rows, numbers)
                    _write_sidecars(view, made, rows)
                    done += len(rows)
                    progress(Update("compacting", done, total, "code"))
            _forget(view, old)
        for part in old:
            _unlink(access.place, part.record.part)
        access.catalogue.vacuum()


def _to_write_anew(parts: Sequence[OpenPart]) -> list[OpenPart]:
    """Choose the parts with removed rows, and small neighbours to be joined."""
    return [
        part
        for part in parts
        if part.dead is not None
        or not part.is_compacted
        or (part.record.rows < MOST_PART_ROWS // 2 and len(parts) > 1)
    ]


def _runs(
    parts: Sequence[OpenPart], chosen: Sequence[OpenPart]
) -> Iterator[list[OpenPart]]:
    """Give neighbours among the chosen parts; others keep them apart."""
    run: list[OpenPart] = []
    for part in parts:
        if any(part is one for one in chosen):
            run.append(part)
        elif run:
            yield run
            run = []
    if run:
        yield run


def _batches(run: Sequence[OpenPart]) -> Iterator[Batch]:
    """Give the rows that stay, as many at a time as a part may hold."""
    held: list[Batch] = []
    room = MOST_PART_ROWS
    for part in run:
        offsets = part.living()
        while len(offsets):
            first = int(held[0][1][0]) if held else None
            some = part.item_numbers(offsets[:room])
            if first is not None:
                some = some[: np.searchsorted(some, first + MOST_SPAN)]
            if len(some):
                held.append((part.rows[offsets[: len(some)]], some))
            offsets = offsets[len(some) :]
            room -= len(some)
            if not room or len(offsets):
                yield _joined(held)
                held, room = [], MOST_PART_ROWS
    if held:
        yield _joined(held)


def _joined(held: Sequence[Batch]) -> Batch:
    rows, numbers = zip(*held, strict=True)
    return np.concatenate(rows), np.concatenate(numbers)


def _write_part(view: View, rows: Rows, numbers: NDArray[np.int64]) -> int:
    connection, place = view.connection, view.snapshot.place
    part = new_part(connection, place)
    first, last = int(numbers[0]), int(numbers[-1])
    span = last - first + 1
    segment = place.rows(part)
    segment.begin()
    put_chunks(connection, part, "rows", segment.append(0, rows, None))
    if span != len(rows):
        segment = place.numbers(part)
        segment.begin()
        relative = (numbers - first).astype(segment.dtype)
        put_chunks(connection, part, "numbers", segment.append(0, relative, None))
    put_part(connection, place, PartRecord(part, first, len(rows), span))
    return part


def _write_sidecars(view: View, part: int, rows: Rows) -> None:
    """Write what makes searching a part faster, where it pays."""
    place = view.snapshot.place
    grouping = Grouping.build(rows, place.bits)
    if grouping is not None:
        rows = rows[grouping.order]
        _write_sidecar(view, part, GROUPING, {"rows": rows, **grouping.arrays()})
    buckets = Buckets.build(rows, place.bits)
    if buckets is not None:
        _write_sidecar(view, part, BUCKETS, buckets.arrays())


def _write_sidecar(
    view: View, part: int, kind: str, arrays: dict[str, NDArray[Any]]
) -> None:
    folder, uid = view.snapshot.place.folder, view.snapshot.place.uid
    write_sidecar(folder, uid, part, kind, arrays)
    file = part_file(folder, part, kind)
    row = (f"{CODES}/{file.name}", *file_digest(file))
    view.connection.execute("INSERT INTO files VALUES (?, ?, ?)", row)


def _forget(view: View, old: Sequence[OpenPart]) -> None:
    for part in old:
        number = (part.record.part,)
        view.connection.execute("DELETE FROM parts WHERE part = ?", number)
        view.connection.execute("DELETE FROM chunks WHERE part = ?", number)
        sidecars = f"{CODES}/{part.record.part:08d}.%"
        view.connection.execute("DELETE FROM files WHERE path LIKE ?", (sidecars,))
    view.connection.execute("DELETE FROM removed")
    set_fact(view.connection, "generation", view.snapshot.generation + 1)


def _unlink(place: Place, part: int) -> None:
    for file in (place.folder / CODES).glob(f"{part:08d}.*"):
        with suppress(OSError):  # the next writer clears it away
            file.unlink()
