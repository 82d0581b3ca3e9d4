"""Repair: what any copy still proves is kept, and what is lost is named.

The log and the catalogue are two copies of the item records; codes are proven by
checksums in both. Whatever is replaced is copied into INDEX/damaged first. No byte is
guessed: what no checksum proves is removed, and named.
"""

import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, count
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes
from fdch.errors import DamagedIndex, DataError, IndexFolderError
from fdch.index.search.rows import row_words
from fdch.index.storage.catalogue.items import from_row
from fdch.index.storage.catalogue.recovery import rebuild_catalogue
from fdch.index.storage.files.acknowledged import Acknowledged, begin, read_acknowledged
from fdch.index.storage.files.checking import (
    Problem,
    file_problems,
    segment_problems,
    sidecar_rows,
)
from fdch.index.storage.files.layout import (
    ACKNOWLEDGED,
    ASIDE,
    CATALOGUE,
    CHECK,
    CODES,
    DIGEST_BYTES,
    LOG,
    VECTORS,
    WAL,
    part_file,
    require_index,
    sync_folder,
    translate_os_errors,
)
from fdch.index.storage.files.locking import WriterLock
from fdch.index.storage.files.log import Kind, LogHeader, write_log
from fdch.index.storage.files.misplaced import owner_by_head
from fdch.index.storage.files.parts import map_arrays
from fdch.index.storage.files.records import (
    GROUPING,
    About,
    Checks,
    Commit,
    FileRow,
    PartRecord,
    join_parts,
    log_entries,
    read_item,
    read_range,
    read_removal,
    unpack_numbers,
)
from fdch.index.storage.files.segments import NUMBERS, ROWS, Place, Segment
from fdch.index.storage.maintenance.copies import Copies, look_up_items, read_copies
from fdch.index.storage.maintenance.putting_back import (
    damaged_uploads,
    owner_by_checksum,
    put_back,
)
from fdch.index.storage.maintenance.verification import verify_folder
from fdch.index.store import Item, Vectors

Encode = Callable[[Sequence[Item]], tuple[Codes, Vectors | None]]


@dataclass
class Repair:
    """What a repair did."""

    restored: list[str] = field(
        default_factory=list
    )  # files and rows that are whole again
    lost: list[str] = field(default_factory=list)  # ids of items that are lost
    unnamed: list[str] = field(default_factory=list)  # losses whose ids are not known
    left: tuple[Problem, ...] = ()  # still wrong, such as a file of the model
    items: int = 0  # how many items the index holds now


def repair_folder(folder: Path, encode: Encode | None = None) -> Repair:
    """Repair an index that nobody has open.

    `encode` makes codes and vectors of items again, by the model of the index.
    """
    require_index(folder)
    done = Repair()
    with translate_os_errors(folder), WriterLock(folder):
        done.restored += put_back(folder, partial(owner_by_head, folder))
    # locked again, for the lock itself may have been under another name
    with translate_os_errors(folder), WriterLock(folder):
        if problems := verify_folder(folder, is_locked=True).problems:
            _repair(folder, problems, encode, done)
            done.left = verify_folder(folder, is_locked=True).problems
        seen, _ = read_acknowledged(folder)
        done.items = seen.items if seen is not None else 0
    return done


def _repair(
    folder: Path, problems: Sequence[Problem], encode: Encode | None, done: Repair
) -> None:
    wrong = [str(each) for each in problems if each.file in (LOG, ACKNOWLEDGED)]
    copies = read_copies(folder, is_whole=not wrong)
    if copies.about is None:
        raise DamagedIndex(
            f"index '{folder}' cannot be repaired: neither '{LOG}' nor '{CATALOGUE}' "
            "says what it is. Restore it from a copy."
        )
    place = copies.about.place(folder, copies.uid)
    for name in (CODES, VECTORS) if place.vector_bytes else (CODES,):
        (folder / name).mkdir(exist_ok=True)
    rebuilder = _Rebuilder(place, copies, encode, done)
    uploads = damaged_uploads(folder, problems, copies.items.values())
    owner = owner_by_checksum(folder, rebuilder.known_files(copies.about), uploads)
    if moved := put_back(folder, owner):
        done.restored += moved
        problems = verify_folder(folder, is_locked=True).problems
        return _repair(folder, problems, encode, done)
    if wrong:
        rebuilder.look_up_items()
    rebuilder.repair_parts()
    if wrong or rebuilder.is_changed:
        done.restored += wrong
        _put_aside(folder, LOG, CATALOGUE, WAL, CHECK, ACKNOWLEDGED)
        rebuilder.write(copies.about)
    elif damaged := [str(each) for each in problems if each.file == CATALOGUE]:
        _put_aside(folder, CATALOGUE, WAL, CHECK)
        rebuild_catalogue(folder)
        done.restored += damaged


def _put_aside(folder: Path, *names: str) -> None:
    """Copy what will be replaced into the folder of damaged files."""
    aside = folder / ASIDE
    aside.mkdir(exist_ok=True)
    for name in names:
        path = folder / name
        if path.is_file():
            ends = ("" if number == 1 else f".{number}" for number in count(1))
            targets = (aside / f"{path.name}{end}" for end in ends)
            target = next(each for each in targets if not each.exists())
            shutil.copyfile(path, target)
            sync_folder(target)
    sync_folder(aside)
    sync_folder(folder)


class _Rebuilder:
    """Brings files and records to what `copies` prove, and notes what was `done`."""

    def __init__(
        self, place: Place, copies: Copies, encode: Encode | None, done: Repair
    ) -> None:
        self._place, self._folder, self._copies = place, place.folder, copies
        self._encode, self._done = encode, done
        self._parts = dict(sorted(join_parts(copies.payloads(Kind.PART)).items()))
        removed = map(read_removal, copies.payloads(Kind.REMOVAL))
        self._removed = {number for each in removed for number in each.tolist()}
        ranges = {read_range(payload) for payload in copies.payloads(Kind.RANGE)}
        self._ranges = sorted(ranges, key=lambda numbers: numbers.start)
        self._lost: set[int] = set()
        self.is_changed = False

    def known_files(self, about: About) -> list[FileRow]:
        """Return files of the model and of parts whose checksums are known."""
        tables = map(sidecar_rows, self._parts.values())
        return [*about.files, *chain.from_iterable(tables)]

    def repair_parts(self) -> None:
        """Restore the files of parts; note the items whose rows are lost."""
        for number, part in self._parts.items():
            if part.has_gaps:
                self._repair_numbers(part)
            for segment in self._place.row_segments(number):
                part = self._repair_rows(part, segment)
            self._parts[number] = self._repair_sidecars(part)

    def write(self, about: About) -> None:
        """Write log, catalogue and acknowledged slots of what is left."""
        copies = self._copies
        living, dead, items = self._sort_numbers()
        ends = [part.first + part.span for part in self._parts.values()]
        counts = Commit(
            commit=max(copies.counts.commit, copies.acknowledged) + 1,
            items=items,
            next_number=max([copies.counts.next_number, *ends]),
            next_part=max([copies.counts.next_part, *(n + 1 for n in self._parts)]),
        )
        rows = (read_item(copies.items[number]) for number in living)
        entries = log_entries(
            about, self._parts.values(), self._ranges, dead, rows, counts
        )
        header = LogHeader(copies.uid, copies.sequence)
        end, _ = write_log(self._folder, header, entries)
        seen = Acknowledged(end.sequence, counts.commit, counts.items, copies.uid)
        begin(self._folder, seen)
        rebuild_catalogue(self._folder)

    def _sort_numbers(self) -> tuple[list[int], list[int], int]:
        """Report what is lost; return named items, rows without one, and a count."""
        copies = self._copies
        coded, is_running = self._coded_numbers()
        gone = np.array(sorted(self._removed | self._lost), dtype=np.int64)
        is_gone = np.isin(coded, gone)
        newest, unknown = {}, []
        for number in coded[~is_running & ~is_gone].tolist():
            if number in copies.items:
                newest[self._id(number)] = number  # an older one was replaced
            else:
                unknown.append(number)
        running = coded[is_running & ~is_gone]
        bare = copies.expected - set(coded.tolist()) - self._removed
        bare_ids = sorted({self._id(number) for number in bare} - newest.keys())
        living = sorted(newest.values())
        count = len(living) + len(running)
        self._report_losses(count, unknown, bare_ids)
        alive = np.concatenate([np.array(living, dtype=np.int64), running])
        return living, np.setdiff1d(coded, alive).tolist(), count

    def look_up_items(self) -> None:
        """Look in the catalogue for items that have a code, but no record so far."""
        coded, is_running = self._coded_numbers()
        known = self._removed | self._copies.items.keys()
        missing = set(coded[~is_running].tolist()) - known
        look_up_items(self._folder, self._copies, sorted(missing))

    def _coded_numbers(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the numbers of all rows, and which of them are ids."""
        parts = map(_numbers, self._parts.values())
        coded = np.unique(np.concatenate([np.empty(0, np.int64), *parts]))
        is_running = np.zeros(len(coded), dtype=bool)
        for ids in self._ranges:
            is_running |= (coded >= ids.start) & (coded < ids.stop)
        return coded, is_running

    def _report_losses(self, alive: int, unknown: list[int], bare: list[str]) -> None:
        """Report what is lost, and that more or less is there than there should be."""
        copies, done = self._copies, self._done
        lost = sorted(self._lost - self._removed)
        done.lost += [self._id(number) for number in lost] + bare
        done.unnamed += [f"the item that was added as number {n}" for n in unknown]
        if copies.counts.commit < copies.acknowledged:
            first, last = copies.counts.commit + 1, copies.acknowledged
            done.unnamed.append(f"what commits {first} to {last} changed")
            return
        more = alive + len(lost) + len(bare) + len(unknown) - copies.counts.items
        if more > 0:
            done.unnamed.append(f"removals: {more} removed items are there again")
        elif more < 0:
            done.unnamed.append(f"{-more} items")

    def _id(self, number: int) -> str:
        payload = self._copies.items.get(number)
        return str(number) if payload is None else read_item(payload)[1]

    def _repair_numbers(self, part: PartRecord) -> None:
        """Write a damaged file of numbers again, which the log has as well."""
        segment = self._place.segment(part.part, NUMBERS)
        if any(segment_problems(segment, part.rows, part.digests(NUMBERS))):
            name = self._set_aside(segment)
            segment.create(unpack_numbers(part.packed, part.rows))
            self._done.restored.append(f"{name}: written again from the log")

    def _repair_rows(self, part: PartRecord, segment: Segment) -> PartRecord:
        """Restore damaged chunks of rows from their items, or give them up."""
        if not any(segment_problems(segment, part.rows, part.digests(segment.kind))):
            return part
        name = self._set_aside(segment)
        segment.restore(part.rows)
        checks, numbers = bytearray(part.digests(segment.kind)), _numbers(part)
        what = "header"
        for chunk, present in segment.chunks(part.rows):
            at = slice(chunk * DIGEST_BYTES, (chunk + 1) * DIGEST_BYTES)
            if segment.digest(chunk, present) == checks[at]:
                continue
            low = chunk * segment.chunk_rows
            some = numbers[low : low + segment.chunk_rows].tolist()
            what = f"rows {low} to {low + len(some) - 1}"
            content, how = self._restore_chunk(part, segment, chunk, some, checks[at])
            if content:
                segment.write_at(low, content)
                self._done.restored.append(f"{name}: {what} {how}")
            else:
                self._lost.update(some)
            check = segment.digest(chunk, content or present)
            self.is_changed |= check != checks[at]
            checks[at] = check
        if what == "header":
            self._done.restored.append(f"{name}: {what}")
        known = {**part.checks, segment.kind: Checks(0, bytes(checks))}
        return replace(part, checks=known)

    def _restore_chunk(
        self,
        part: PartRecord,
        segment: Segment,
        chunk: int,
        numbers: list[int],
        check: bytes | bytearray,
    ) -> tuple[bytes, str]:
        """Find what a damaged chunk held, and how; nothing where that is not proven."""
        low, is_codes = chunk * segment.chunk_rows, segment.kind == ROWS
        if is_codes:
            content = self._take_grouped(part, low, len(numbers))
            if segment.digest(chunk, content) == check:
                return content, "from the grouping"
        codes, vectors = self._encode_again(numbers)
        content = codes if is_codes else vectors
        if content and segment.digest(chunk, content) == check:
            return content, "encoded"
        # another machine may round real numbers differently; equal codes prove the rest
        if len(vectors) == len(numbers) * segment.row_bytes and not is_codes:
            rows = self._place.segment(part.part, ROWS).map_rows(part.rows)
            if rows[low : low + len(numbers)].tobytes() == codes:
                return vectors, "encoded, their codes being equal"
        return b"", ""

    def _take_grouped(self, part: PartRecord, low: int, count: int) -> bytes:
        """Take codes from the grouping, which has them a second time."""
        with suppress(DamagedIndex, OSError, ValueError, TypeError, LookupError):
            arrays = map_arrays(part_file(self._folder, part.part, GROUPING))
            owners = arrays["order"]
            found = np.flatnonzero((owners >= low) & (owners < low + count))
            content: bytes = arrays["rows"][found[np.argsort(owners[found])]].tobytes()
            return content
        return b""

    def _encode_again(self, numbers: list[int]) -> tuple[bytes, bytes]:
        """Encode items again: codes, vectors; nothing where one is not known."""
        known = [self._copies.items.get(number) for number in numbers]
        if self._encode is None or None in known:
            return b"", b""
        try:
            items = [from_row(*read_item(each)[1:]) for each in known if each]
            codes, vectors = self._encode(items)
        except (DataError, IndexFolderError, OSError):
            return b"", b""
        content = np.ascontiguousarray(row_words(codes)).tobytes()
        return content, b"" if vectors is None else vectors.tobytes()

    def _repair_sidecars(self, part: PartRecord) -> PartRecord:
        """Go on without files for speed that are damaged; compaction makes new ones."""
        files = sidecar_rows(part)
        if not files or not (self._lost or any(file_problems(self._folder, files))):
            return part
        for path, _, _ in files:
            _put_aside(self._folder, path)
            (self._folder / path).unlink(missing_ok=True)
            self._done.restored.append(f"{path}: removed; 'compact' rebuilds it")
        self.is_changed = True
        return replace(part, sidecars={})

    def _set_aside(self, segment: Segment) -> str:
        name = str(segment.path.relative_to(self._folder))
        _put_aside(self._folder, name)
        return name


def _numbers(part: PartRecord) -> NDArray[np.int64]:
    relative = np.arange(part.rows, dtype=np.int64)
    if part.has_gaps:
        relative = unpack_numbers(part.packed, part.rows).astype(np.int64)
    return part.first + relative
