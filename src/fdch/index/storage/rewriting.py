"""A whole log written again: by compaction, by repair, and for a new index.

The new log is written beside the old one and takes its place by one rename. Its
sequence numbers go on after the old one's, so that what was acknowledged stays behind.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path

from fdch.index.storage.layout import (
    LOG,
    PARTIAL,
    open_plainly,
    sync,
    sync_folder,
)
from fdch.index.storage.log import (
    ITEM,
    Entry,
    LogHeader,
    Position,
    encode_records,
    write_all,
)
from fdch.index.storage.records import (
    About,
    Chunks,
    Commit,
    PartRecord,
    item_entry,
    part_entry,
    range_entry,
    removal_entries,
)

_RECORDS_AT_A_TIME = 10_000


@dataclass(frozen=True)
class Content:
    """All that a log must say.

    Args:
        about: What never changes.
        items: Number, id and content of each item, rising.
        ranges: First and last number of items whose ids are their numbers.
        parts: All parts with their checksums.
        removed: Numbers whose codes are still in a part.
        counts: Of the commit.
    """

    about: About
    items: Iterable[tuple[int, str, str]]
    ranges: Sequence[tuple[int, int]]
    parts: Sequence[tuple[PartRecord, Chunks]]
    removed: Sequence[int]
    counts: Commit

    def entries(self) -> Iterator[Entry]:
        """Return the records."""
        yield self.about.entry()
        for part, chunks in self.parts:
            yield part_entry(part, chunks)
        for first, last in self.ranges:
            yield range_entry(first, last - first + 1)
        yield from removal_entries(self.removed)
        for number, id, content in self.items:
            yield item_entry(number, id, content)
        yield self.counts.entry()


def write_log(
    folder: Path, header: LogHeader, content: Content
) -> tuple[Position, list[tuple[int, Entry, bytes]]]:
    """Write a log and put it in place.

    Args:
        folder: The index.
        header: Of the new log.
        content: What it says.

    Returns:
        The end of the log; and number, entry and digest of records other than items.
    """
    partial = folder / (LOG + PARTIAL)
    partial.unlink(missing_ok=True)
    position, kept = header.start, []
    handle = open_plainly(str(partial), os.O_RDWR | os.O_CREAT | os.O_EXCL)
    try:
        write_all(handle, memoryview(header.pack()), 0)
        for some in _batches(content.entries()):
            written, digests, end = encode_records(header.uid, position, some)
            write_all(handle, memoryview(written), position.offset)
            numbered = zip(count(position.sequence + 1), some, digests)
            kept += [record for record in numbered if record[1].kind != ITEM]
            position = end
        sync(handle)
    except OSError:
        partial.unlink(missing_ok=True)
        raise
    finally:
        os.close(handle)
    os.replace(partial, folder / LOG)
    sync_folder(folder)
    return position, kept


def _batches(entries: Iterator[Entry]) -> Iterator[list[Entry]]:
    while some := list(islice(entries, _RECORDS_AT_A_TIME)):
        yield some
