"""A change of an index: records for the log, and rows that are on disk before them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from fdch.errors import DataError
from fdch.index.search.rows import Rows
from fdch.index.storage.catalogue.items import Row
from fdch.index.storage.catalogue.tables import Applier, State, kept_records
from fdch.index.storage.files.layout import DIGEST_BYTES, MAX_PART_ROWS, VECTORS
from fdch.index.storage.files.log import Entry, Kind, encode_records
from fdch.index.storage.files.records import (
    Checks,
    PartRecord,
    item_entry,
    range_entry,
    read_part,
    removal_entries,
)
from fdch.index.storage.snapshot import View
from fdch.index.store import ColumnType, Vectors

MAX_CODES = 2**47


class Change:
    """What one commit will change; `view` is the index before it, to be written."""

    def __init__(self, view: View) -> None:
        self.view = view
        self._place, counts = view.snapshot.place, view.snapshot.state.counts
        self._entries: list[Entry] = []
        self._numbers: range = range(0)
        self._rows: Sequence[Row] = ()
        self._counts = replace(counts, commit=counts.commit + 1)

    def append_codes(self, rows: Rows, vectors: Vectors | None) -> range:
        """Write codes behind the last ones; their items get the next numbers.

        `vectors` belong to the same items, where the index has some.
        """
        first = self._counts.next_number
        if first + len(rows) > MAX_CODES:
            raise DataError(f"an index holds at most {MAX_CODES:,} codes.")
        parts, done = [part.record for part in self.view.snapshot.parts], 0
        while done < len(rows):
            part = self._part_to_extend(parts, first + done)
            added = min(len(rows) - done, MAX_PART_ROWS - part.rows)
            last, checks = self._last_record(part), {}
            for segment in self._place.row_segments(part.part):
                content = vectors if segment.kind == VECTORS else rows
                assert content is not None
                digest = last.digests(segment.kind)[-DIGEST_BYTES:]
                some = content[done : done + added]
                checks[segment.kind] = Checks(*segment.append(part.rows, some, digest))
            count = part.rows + added
            part = replace(part, rows=count, span=count, checks=checks)
            self._entries.append(part.entry())
            parts = [part]
            done += added
        self._counts = replace(self._counts, next_number=first + len(rows))
        return range(first, first + len(rows))

    def put_items(self, numbers: range, rows: Sequence[Row]) -> None:
        """Add items whose codes have been written, once."""
        self._numbers, self._rows = numbers, rows
        self._count(len(rows))

    def put_range(self, numbers: range) -> None:
        """Let items have their numbers for ids."""
        # ids that begin with a digit lie together in the index of ids
        query = "SELECT id FROM items WHERE id >= '0' AND id < ':'"
        for (id,) in self.view.connection.execute(query):
            is_short = len(id) < 19 and id.isdecimal()
            if is_short and id == str(int(id)) and int(id) in numbers:
                raise DataError(
                    f"an item has the id '{id}', which is the running number of "
                    "another to be added. Give ids of your own to all, or use another "
                    "index."
                )
        if numbers:
            self._entries.append(range_entry(numbers))
            self._count(len(numbers))

    def put_types(self, types: Mapping[str, ColumnType]) -> None:
        """Keep the types of columns, beside those known before."""
        about = self.view.snapshot.about
        changed = {**about.types, **types}
        if changed != about.types:
            self._entries.append(replace(about, types=changed).entry())

    def drop_items(self, numbers: Iterable[int]) -> None:
        """Remove items; their codes stay until the next compaction."""
        gone = list(numbers)
        self._entries += removal_entries(gone)
        self._count(-len(gone))

    def apply(self) -> tuple[bytes, State]:
        """Apply it to the catalogue; return records for the log, and the new state."""
        before, others = self.view.snapshot.state, self._entries
        items = [
            item_entry(number, row.id, row.content)
            for number, row in zip(self._numbers, self._rows, strict=True)
        ]
        entries = [*others, *items, self._counts.entry()]
        content, digests, end = encode_records(before.uid, before.position, entries)
        applier = Applier(self.view.connection, before)
        for at, entry in enumerate(others):
            applier.apply(before.position.sequence + at + 1, entry, digests[at])
        if items:  # without reading them again
            applier.put_items(self._numbers, self._rows, digests[len(others) : -1])
        applier.apply(end.sequence, entries[-1], digests[-1])
        return content, applier.finish(end)

    def _count(self, more: int) -> None:
        self._counts = replace(self._counts, items=self._counts.items + more)

    def _part_to_extend(self, parts: Sequence[PartRecord], number: int) -> PartRecord:
        """Find the part that goes on with a number, or begin one."""
        if parts:
            last = parts[-1]
            goes_on = last.first + last.rows == number and not last.has_gaps
            if goes_on and last.rows < MAX_PART_ROWS and not last.sidecars:
                return last
        part = PartRecord(self._counts.next_part, number, 0, 0)
        self._counts = replace(self._counts, next_part=part.part + 1)
        for segment in self._place.row_segments(part.part):
            segment.create()
        return part

    def _last_record(self, part: PartRecord) -> PartRecord:
        """Return a part with the checksums of the chunks that were last written."""
        uid = self._place.uid
        newest = kept_records(self.view.connection, uid, Kind.PART, newest_first=True)
        for known in map(read_part, newest if part.rows else ()):
            if known.part == part.part:
                return known
        return part
