"""Repair: what any copy still proves is kept, and what is lost is named.

The log and the catalogue are two copies of what is known of items; codes are proven by
checksums in both. Whatever is replaced is copied into INDEX/damaged first. No byte is
guessed: what no checksum proves is removed, and named.
"""

import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes
from fdch.errors import DamagedIndex, DataError, IndexFolderError
from fdch.index.search.rows import row_words
from fdch.index.storage.acknowledged import Acknowledged, begin, read_acknowledged
from fdch.index.storage.changes import join_chunks
from fdch.index.storage.checking import Problem, bad_chunks, file_problems, sidecar_rows
from fdch.index.storage.items import from_row
from fdch.index.storage.layout import (
    ACKNOWLEDGED,
    ASIDE,
    CATALOGUE,
    CHECK,
    CODES,
    DIGEST_BYTES,
    LOG,
    WAL,
    free_path,
    require_index,
    require_plain,
    sync_folder,
    translate_os_errors,
)
from fdch.index.storage.locking import WriterLock
from fdch.index.storage.log import (
    PART,
    REMOVAL,
    LogHeader,
)
from fdch.index.storage.records import (
    Chunks,
    Commit,
    PartRecord,
    read_part,
    read_range,
    read_removal,
    unpack_numbers,
)
from fdch.index.storage.recovery import rebuild_catalogue
from fdch.index.storage.rewriting import Content, write_log
from fdch.index.storage.salvage import Salvage, read_copies
from fdch.index.storage.segments import HEADER_BYTES, Place, Segment
from fdch.index.storage.verification import (
    catalogue_problems,
    replay_log,
    verify_folder,
)
from fdch.index.store import Item

Encode = Callable[[Sequence[Item]], Codes]


@dataclass
class Repair:
    """What a repair did.

    Args:
        restored: What was damaged and is now as it was written.
        lost: Ids of items that are lost.
        unnamed: Losses whose ids are not known.
        left: What is still wrong, such as a damaged file of the model.
        items: How many items the index holds now.
    """

    restored: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    unnamed: list[str] = field(default_factory=list)
    left: tuple[Problem, ...] = ()
    items: int = 0


def repair_folder(folder: Path, encode: Encode | None = None) -> Repair:
    """Repair an index that nobody has open.

    Args:
        folder: The index.
        encode: Makes the codes of items again, by the model of the index.

    Raises:
        IndexFolderError: There is no index.
        DamagedIndex: Nothing can be kept.
        IndexBusy: Another process is writing.
    """
    require_index(folder)
    done = Repair()
    with translate_os_errors(folder):
        require_plain(folder)
        lock = WriterLock(folder)
        try:
            _repair(folder, encode, done)
            done.left = verify_folder(folder, is_locked=True).problems
            seen, _ = read_acknowledged(folder)
            done.items = seen.items if seen is not None else 0
        finally:
            lock.release()
    return done


def _repair(folder: Path, encode: Encode | None, done: Repair) -> None:
    is_whole, what = _is_log_whole(folder)
    salvage = read_copies(folder, is_whole)
    if salvage.about is None:
        raise DamagedIndex(
            f"index '{folder}' cannot be repaired: neither '{LOG}' nor '{CATALOGUE}' "
            "says what it is. Restore it from a copy."
        )
    rebuilder = _Rebuilder(folder, salvage, encode, done)
    rebuilder.put_files_back()
    rebuilder.repair_parts()
    if is_whole and not rebuilder.is_changed:
        _repair_catalogue(folder, done)
        return
    if not is_whole:
        done.restored.append(f"{LOG}: {what}")
    _put_aside(folder, LOG, CATALOGUE, WAL, CHECK, ACKNOWLEDGED)
    rebuilder.write()


def _is_log_whole(folder: Path) -> tuple[bool, str]:
    """Tell whether the log proves every commit that was acknowledged."""
    try:
        log = replay_log(folder)
    except (DamagedIndex, FileNotFoundError) as problem:
        return False, str(problem)
    seen, wrong = read_acknowledged(folder)
    if seen is not None and seen.uid != log.uid:
        return False, f"{ACKNOWLEDGED} is of another index"
    if log.about is None or (seen is not None and seen.sequence > log.end.sequence):
        return False, f"it is not as written at byte {log.end.offset}"
    if wrong:
        return False, f"{ACKNOWLEDGED}: {'; '.join(wrong)}"
    return True, ""


def _repair_catalogue(folder: Path, done: Repair) -> None:
    """Make the catalogue again where it does not agree with the log."""
    wrong = list(catalogue_problems(folder, replay_log(folder)))
    if wrong:
        _put_aside(folder, CATALOGUE, WAL, CHECK)
        rebuild_catalogue(folder)
        done.restored.append(str(wrong[0]))


def _put_aside(folder: Path, *names: str) -> None:
    """Copy what will be replaced into the folder of damaged files."""
    aside = folder / ASIDE
    aside.mkdir(exist_ok=True)
    for name in names:
        path = folder / name
        if path.is_file():
            target = free_path(aside / path.name)
            shutil.copyfile(path, target)
            sync_folder(target)
    sync_folder(aside)
    sync_folder(folder)


class _Rebuilder:
    """Brings files and records to what can be proven.

    Args:
        folder: The index.
        salvage: What log and catalogue prove.
        encode: Makes codes again.
        done: What was done.
    """

    def __init__(
        self, folder: Path, salvage: Salvage, encode: Encode | None, done: Repair
    ) -> None:
        assert salvage.about is not None
        self._folder, self._salvage, self._done = folder, salvage, done
        self._about, self._encode = salvage.about, encode
        self._place = Place(folder, salvage.uid, salvage.about.bits)
        self.is_changed = False
        self._parts, self._removed, self._ranges = self._replay()
        self._lost: set[int] = set()

    def _replay(
        self,
    ) -> tuple[dict[int, tuple[PartRecord, Chunks]], set[int], list[tuple[int, int]]]:
        """Apply the records in order; the last compaction has named all its parts."""
        payloads: list[bytes] = []
        removed: set[int] = set()
        ranges: list[tuple[int, int]] = []
        parts: dict[int, PartRecord] = {}
        for sequence in sorted(self._salvage.records):
            kind, payload = self._salvage.records[sequence]
            with suppress(DamagedIndex):
                if kind == PART:
                    part, _ = read_part(payload)
                    parts[part.part] = part
                    payloads.append(payload)
                elif kind == REMOVAL:
                    removed.update(read_removal(payload).tolist())
                else:
                    first, count = read_range(payload)
                    ranges.append((first, first + count - 1))
        chunks = join_chunks(payloads)
        found = {number: (parts[number], chunks[number]) for number in parts}
        return found, removed, sorted(set(ranges))

    def put_files_back(self) -> None:
        """Rename files of codes that were swapped, by what their headers say."""
        wanted = {}
        for part, _ in self._parts.values():
            for segment in self._segments(part):
                wanted[segment.header()] = segment.path
        moved: list[tuple[Path, Path]] = []
        for path in sorted((self._folder / CODES).glob("*")):
            if not path.is_file():
                continue
            with path.open("rb") as file:
                target = wanted.get(file.read(HEADER_BYTES))
            if target is not None and target != path and not _has(target, wanted):
                moved.append((path, target))
        for _, target in moved:
            if target.exists():
                _put_aside(self._folder, str(target.relative_to(self._folder)))
        held = [
            (path.rename(path.with_name(f"{path.name}.moving")), to)
            for path, to in moved
        ]
        for path, target in held:
            path.rename(target)
            name = target.relative_to(self._folder)
            self._done.restored.append(f"{name}: it had another name")
        if moved:
            sync_folder(self._folder / CODES)

    def repair_parts(self) -> None:
        """Restore the files of parts; note the items whose codes are lost."""
        for number in sorted(self._parts):
            part, chunks = self._parts[number]
            if part.has_gaps:
                self._repair_numbers(part, chunks)
            self._repair_rows(part, chunks)
            self._repair_sidecars(number)

    def write(self) -> None:
        """Write log, catalogue and acknowledged slots of what is left."""
        salvage = self._salvage
        living, running = self._living()
        counts = Commit(
            commit=max(salvage.counts.commit, salvage.acknowledged) + 1,
            items=len(living) + running,
            next_number=max(
                [salvage.counts.next_number]
                + [part.first + part.span for part, _ in self._parts.values()]
            ),
            next_part=max([salvage.counts.next_part, *(n + 1 for n in self._parts)]),
        )
        content = Content(
            about=self._about,
            items=((n, *salvage.items[n]) for n in sorted(living)),
            ranges=self._ranges,
            parts=[self._parts[number] for number in sorted(self._parts)],
            removed=sorted(self._dead),
            counts=counts,
        )
        header = LogHeader(salvage.uid, salvage.sequence)
        position, _ = write_log(self._folder, header, content)
        seen = Acknowledged(position.sequence, counts.commit, counts.items, salvage.uid)
        begin(self._folder, seen)
        rebuild_catalogue(self._folder)

    def _living(self) -> tuple[set[int], int]:
        """Find the items that are there; note what is lost, and what has no item."""
        salvage = self._salvage
        coded = self._numbers()
        inside = _in_ranges(coded, self._ranges)
        gone = np.array(sorted(self._removed | self._lost), dtype=np.int64)
        is_gone = np.isin(coded, gone)
        numbers = coded[~inside & ~is_gone].tolist()
        newest: dict[str, int] = {}
        for number in numbers:
            if number in salvage.items:
                newest[salvage.items[number][0]] = number  # an older one was replaced
        living = set(newest.values())
        unknown = [n for n in numbers if n not in salvage.items]
        running = coded[inside & ~is_gone]
        bare = salvage.expected - set(coded.tolist()) - self._removed
        gone_ids = {salvage.items[n][0] for n in bare} - newest.keys()
        self._name_losses(len(living) + len(running), unknown, sorted(gone_ids))
        alive = np.union1d(np.array(sorted(living), dtype=np.int64), running)
        self._dead = np.setdiff1d(coded, alive).tolist()
        return living, len(running)

    def _name_losses(self, alive: int, unknown: list[int], bare: list[str]) -> None:
        """Report what is lost, and that more or less is there than there should be."""
        salvage, done = self._salvage, self._done
        lost = sorted(self._lost - self._removed)
        done.lost += [salvage.items.get(n, (str(n), ""))[0] for n in lost]
        done.lost += bare
        done.unnamed += [f"the item that was added as number {n}" for n in unknown]
        if salvage.counts.commit < salvage.acknowledged:
            first, last = salvage.counts.commit + 1, salvage.acknowledged
            done.unnamed.append(f"what commits {first} to {last} changed")
            return
        more = alive + len(lost) + len(bare) + len(unknown) - salvage.counts.items
        if more > 0:
            done.unnamed.append(f"removals: {more} removed items are there again")
        elif more < 0:
            done.unnamed.append(f"{-more} items")

    def _numbers(self) -> NDArray[np.int64]:
        """Return the numbers of all rows of all parts."""
        found = [np.empty(0, np.int64)]
        for part, chunks in self._parts.values():
            found.append(part.first + self._relative(part, chunks))
        return np.unique(np.concatenate(found))

    def _relative(self, part: PartRecord, chunks: Chunks) -> NDArray[np.int64]:
        if not part.has_gaps:
            return np.arange(part.rows, dtype=np.int64)
        return unpack_numbers(chunks.packed, part.rows).astype(np.int64)

    def _segments(self, part: PartRecord) -> list[Segment]:
        rows, numbers = self._place.rows(part.part), self._place.numbers(part.part)
        return [rows, numbers] if part.has_gaps else [rows]

    def _repair_numbers(self, part: PartRecord, chunks: Chunks) -> None:
        """Write a damaged file of numbers again, which the log has as well."""
        segment = self._place.numbers(part.part)
        if not _is_damaged(segment, part.rows, chunks.numbers):
            return
        name = self._set_aside(segment)
        numbers = unpack_numbers(chunks.packed, part.rows)
        segment.begin()
        segment.append(0, numbers.astype(segment.dtype), None)
        self._done.restored.append(f"{name}: written again from the log")

    def _repair_rows(self, part: PartRecord, chunks: Chunks) -> None:
        """Restore damaged chunks of codes from their items, or give them up."""
        segment = self._place.rows(part.part)
        if not _is_damaged(segment, part.rows, chunks.rows):
            return
        name = self._set_aside(segment)
        _make_whole(segment, part.rows)
        checks = bytearray(chunks.rows)
        relative = self._relative(part, chunks)
        bad = list(bad_chunks(segment, part.rows, chunks.rows))
        for chunk in bad:
            low = chunk * segment.chunk_rows
            high = min(low + segment.chunk_rows, part.rows)
            numbers = (part.first + relative[low:high]).tolist()
            check = bytes(checks[chunk * DIGEST_BYTES : (chunk + 1) * DIGEST_BYTES])
            content = self._encoded(segment, chunk, numbers, check)
            if content is not None:
                segment.write_at(low, content)
                self._done.restored.append(f"{name}: rows {low} to {high - 1} encoded")
                continue
            self._lost.update(numbers)
            present = segment.read(low, high)
            at = slice(chunk * DIGEST_BYTES, (chunk + 1) * DIGEST_BYTES)
            checks[at] = segment.digest(chunk, present)
            self.is_changed = True
        if not bad:
            self._done.restored.append(f"{name}: header")
        repaired = Chunks(0, bytes(checks), chunks.numbers, chunks.packed)
        self._parts[part.part] = part, repaired

    def _encoded(
        self, segment: Segment, chunk: int, numbers: list[int], check: bytes
    ) -> bytes | None:
        """Encode the items of a chunk again; None where that does not prove right."""
        known = [self._salvage.items.get(number) for number in numbers]
        if self._encode is None or not all(known):
            return None
        try:
            items = [from_row(*each) for each in known if each is not None]
            codes = self._encode(items)
        except (DataError, IndexFolderError, OSError):
            return None
        rows = np.ascontiguousarray(row_words(codes)).reshape(-1).view(np.uint8)
        content = rows.tobytes()
        return content if segment.digest(chunk, content) == check else None

    def _repair_sidecars(self, number: int) -> None:
        """Go on without files for speed that are damaged; compaction makes new ones."""
        part, chunks = self._parts[number]
        if any(file_problems(self._folder, sidecar_rows(part))) or (
            part.sidecars and self._lost
        ):
            for path, _, _ in sidecar_rows(part):
                (self._folder / path).unlink(missing_ok=True)
                self._done.restored.append(f"{path}: removed; 'compact' makes it again")
            part = PartRecord(part.part, part.first, part.rows, part.span)
            self._parts[number] = part, chunks
            self.is_changed = True

    def _set_aside(self, segment: Segment) -> str:
        name = str(segment.path.relative_to(self._folder))
        _put_aside(self._folder, name)
        return name


def _has(path: Path, wanted: dict[bytes, Path]) -> bool:
    """Tell whether a file of codes is where it belongs."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return wanted.get(file.read(HEADER_BYTES)) == path


def _is_damaged(segment: Segment, rows: int, known: bytes) -> bool:
    if not segment.path.is_file():
        return True
    with segment.path.open("rb") as file:
        if file.read(HEADER_BYTES) != segment.header():
            return True
    return next(bad_chunks(segment, rows, known), None) is not None


def _make_whole(segment: Segment, rows: int) -> None:
    """Give a file its header and its length."""
    if not segment.path.is_file():
        segment.begin()
    with segment.path.open("r+b") as file:
        file.write(segment.header())
        file.truncate(segment.size(rows))
    sync_folder(segment.path)


def _in_ranges(
    numbers: NDArray[np.int64], ranges: list[tuple[int, int]]
) -> NDArray[np.bool_]:
    inside = np.zeros(len(numbers), dtype=bool)
    for first, last in ranges:
        inside |= (numbers >= first) & (numbers <= last)
    return inside
