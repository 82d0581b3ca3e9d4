"""Whether every byte of an index folder is as it was written, and all parts fit."""

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from fdch.errors import DamagedIndex
from fdch.index.storage.acknowledged import Acknowledged, read_acknowledged
from fdch.index.storage.catalogue import Catalogue, check_problem
from fdch.index.storage.changes import join_chunks
from fdch.index.storage.checking import (
    Problem,
    file_problems,
    part_problems,
    sidecar_rows,
)
from fdch.index.storage.items import cells_of, from_row
from fdch.index.storage.layout import (
    ACKNOWLEDGED,
    CATALOGUE,
    LOCK,
    LOG,
    MODEL,
    PICTURES,
    UPLOADED,
    is_damage,
    require_index,
    require_plain,
    translate_os_errors,
)
from fdch.index.storage.locking import WriterLock, lock_problem
from fdch.index.storage.log import (
    COMMIT,
    INDEX,
    ITEM,
    PART,
    REMOVAL,
    Entry,
    Position,
    read_header,
    read_records,
)
from fdch.index.storage.records import (
    About,
    Commit,
    PartRecord,
    read_item,
    read_part,
    read_removal,
)
from fdch.index.storage.recovery import last_commit
from fdch.index.storage.segments import Place
from fdch.index.storage.tables import State, is_intact_item, is_proven
from fdch.index.store import Item
from fdch.progress import Progress, Update, silent

_METHOD = "method"  # an index that says which one makes its codes has it inside


@dataclass(frozen=True)
class Verification:
    """What a look at every byte of an index found.

    Args:
        problems: What is wrong; nothing when the index is sound.
    """

    problems: tuple[Problem, ...]

    @property
    def is_clean(self) -> bool:
        """Tell whether nothing is wrong."""
        return not self.problems


@dataclass
class Replayed:
    """What a log says, as of its last commit.

    Args:
        uid: Identity of the index.
        about: What never changes of it.
        end: The last commit.
        items: Number and checksum of each item that was not removed.
        records: The other records, by sequence number.
        counts: What the last commit says.
        parts: By their numbers.
        payloads: Of the records of parts.
    """

    uid: bytes
    end: Position
    about: About | None = None
    items: dict[int, bytes] = field(default_factory=dict)
    records: dict[int, Entry] = field(default_factory=dict)
    counts: Commit = field(default_factory=Commit)
    parts: dict[int, PartRecord] = field(default_factory=dict)
    payloads: list[bytes] = field(default_factory=list)


def verify_folder(
    folder: Path, progress: Progress = silent, *, is_locked: bool = False
) -> Verification:
    """Look at every byte of an index; change nothing.

    Args:
        folder: The index.
        progress: Called after each step.
        is_locked: Whether the caller has the writer's lock.

    Raises:
        IndexFolderError: There is no index.
        IndexBusy: Another process is writing.
    """
    require_index(folder)
    with ExitStack() as stack, translate_os_errors(folder):
        require_plain(folder)
        if not is_locked and _can_lock(folder):
            stack.callback(WriterLock(folder).release)
        return Verification(tuple(_problems(folder, progress, is_locked)))


def replay_log(folder: Path, until: int | None = None) -> Replayed:
    """Read what the log says, up to a sequence number or its last commit.

    Raises:
        DamagedIndex: Its header, or what a record says, cannot be read.
    """
    header = read_header(folder)
    end = last_commit(folder, header.uid, header.start, until)
    found = Replayed(header.uid, end)
    for record in read_records(folder, header.uid, header.start, end.offset):
        kind, payload = record.entry
        if kind == ITEM:
            found.items[read_item(payload)[0]] = record.digest
        elif kind == INDEX:
            found.about = About.read(payload)
        elif kind == COMMIT:
            found.counts = Commit.read(payload)
        else:
            found.records[record.sequence] = record.entry
        if kind == REMOVAL:
            for number in read_removal(payload).tolist():
                found.items.pop(number, None)
        elif kind == PART:
            part, _ = read_part(payload)
            found.parts[part.part] = part
            found.payloads.append(payload)
    return found


def _can_lock(folder: Path) -> bool:
    try:
        (folder / LOCK).touch()
    except OSError:
        return (folder / LOCK).exists()
    return True


def _problems(folder: Path, progress: Progress, is_locked: bool) -> Iterator[Problem]:
    if not is_locked and (wrong := lock_problem(folder)):
        yield Problem(LOCK, "", wrong)
    seen, wrong_slots = read_acknowledged(folder)
    yield from (Problem(ACKNOWLEDGED, "", what) for what in wrong_slots)
    progress(Update("verifying", 1, 4, "step"))
    try:
        log = replay_log(folder)
    except (DamagedIndex, FileNotFoundError) as problem:
        yield Problem(LOG, "", str(problem))
        return
    yield from _log_problems(log, seen)
    progress(Update("verifying", 2, 4, "step"))
    yield from catalogue_problems(folder, log)
    progress(Update("verifying", 3, 4, "step"))
    yield from _file_problems(folder, log)
    progress(Update("verifying", 4, 4, "step"))


def _log_problems(log: Replayed, seen: Acknowledged | None) -> Iterator[Problem]:
    where = f"byte {log.end.offset}"
    if log.about is None:
        yield Problem(LOG, where, "it does not say what index this is")
    if seen is None:
        return
    if seen.uid != log.uid:
        yield Problem(ACKNOWLEDGED, "", "it belongs to another index")
    elif seen.sequence > log.end.sequence:
        what = f"it is not as written; commits up to {seen.commit} were acknowledged"
        yield Problem(LOG, where, what)


def catalogue_problems(folder: Path, log: Replayed) -> Iterator[Problem]:
    """Compare the catalogue with its checksum, and with the log."""
    try:
        if (wrong := check_problem(folder, log.uid)) is not None:
            yield Problem(CATALOGUE, "", wrong)
        with (
            closing(Catalogue(folder, writable=False)) as catalogue,
            catalogue.reading() as connection,
        ):
            state = State.read(connection, folder)
            if state.uid != log.uid:
                yield Problem(CATALOGUE, "", "it belongs to another index")
                return
            if state.sequence < log.end.sequence:  # a writer was killed
                log = replay_log(folder, state.sequence)
            if state.sequence != log.end.sequence or state.chain != log.end.chain:
                yield Problem(CATALOGUE, "", "it does not follow the log")
                return
            for (what,) in connection.execute("PRAGMA integrity_check(20)"):
                if what != "ok":
                    yield Problem(CATALOGUE, "", what)
            yield from _record_problems(connection, log)
            yield from _item_problems(connection, folder, log)
    except FileNotFoundError:
        yield Problem(CATALOGUE, "", "it is missing; opening the index makes it again")
    except Exception as problem:
        if not is_damage(problem):
            raise
        yield Problem(CATALOGUE, "", f"it cannot be read ({problem})")


def _record_problems(
    connection: sqlite3.Connection, log: Replayed
) -> Iterator[Problem]:
    """Compare removals, ranges and parts with those of the log."""
    left = set(log.records)
    for kind, sequence, payload, check in connection.execute("SELECT * FROM records"):
        proven = is_proven(log.uid, str(kind).encode(), sequence, payload, check)
        if (
            not proven
            or sequence not in left
            or log.records[sequence].kind != (str(kind).encode())
        ):
            yield Problem(CATALOGUE, f"record {sequence}", "it is not that of the log")
        left.discard(sequence)
    if left:
        yield Problem(CATALOGUE, "records", f"{len(left)} are missing")
    parts = dict(connection.execute("SELECT part, content FROM parts"))
    if parts != {number: part.write() for number, part in log.parts.items()}:
        yield Problem(CATALOGUE, "parts", "they are not those of the log")


def _item_problems(
    connection: sqlite3.Connection, folder: Path, log: Replayed
) -> Iterator[Problem]:
    """Compare items with those of the log, and the cells with the items."""
    columns = dict(connection.execute('SELECT name, "column" FROM columns'))
    expected = count = items = 0
    for number, id, content, check in connection.execute("SELECT * FROM items"):
        items += 1
        is_intact = is_intact_item(log.uid, number, id, content, check)
        if not is_intact or log.items.get(number) != check:
            what = "it is not as written"
            yield Problem(CATALOGUE, f"item {str(id)[:80]!r}", what)
            continue
        yield from _picture_problems(folder, from_row(id, content))
        for name, value, spelled in cells_of(id, content):
            expected += hash((columns.get(name), value, number, spelled))
            count += 1
    if items != len(log.items):
        what = f"{items} are there, {len(log.items)} in the log"
        yield Problem(CATALOGUE, "items", what)
    found = 0
    for cell in connection.execute("SELECT * FROM cells"):
        found += hash(cell)
        count -= 1
    if count or expected != found:
        yield Problem(CATALOGUE, "cells", "they are not those of the items")


def _picture_problems(folder: Path, item: Item) -> Iterator[Problem]:
    """Look at an uploaded picture, whose name is a checksum of the id and itself."""
    name = Path(item.image or "").name
    if not UPLOADED.fullmatch(name) or Path(item.image or "").parent.name != PICTURES:
        return
    path = folder / PICTURES / name
    where = f"{PICTURES}/{name}"
    if not path.is_file():
        if path == Path(item.image or "").absolute():
            yield Problem(where, "", "it is missing")
        return
    digest = hashlib.blake2b(item.id.encode(), digest_size=16)
    digest.update(b"\0" + path.read_bytes())
    if digest.hexdigest() != path.stem:
        yield Problem(where, "", "it is not as written")


def _file_problems(folder: Path, log: Replayed) -> Iterator[Problem]:
    """Look at the codes, at what speeds up their search, and at the model."""
    if log.about is None:
        return
    place, chunks = Place(folder, log.uid, log.about.bits), join_chunks(log.payloads)
    for number in sorted(log.parts):
        part = log.parts[number]
        yield from part_problems(place, part, chunks.get(number))
        yield from file_problems(folder, sidecar_rows(part))
    yield from _owner_problems(log)
    files = list(log.about.files)
    yield from file_problems(folder, files)
    known = {path for path, *_ in files}
    for file in sorted((folder / MODEL).rglob("*")):
        name = file.relative_to(folder).as_posix()
        if file.is_file() and name not in known:
            yield Problem(name, "", "it does not belong to the model")
    if _METHOD in log.about.facts and not files:
        what = "it was never kept; the index can be searched by codes only"
        yield Problem(MODEL, "", what)


def _owner_problems(log: Replayed) -> Iterator[Problem]:
    """Look whether each item of the log lies in a part."""
    numbers = np.array(sorted(log.items), dtype=np.int64)
    parts = sorted(log.parts.values(), key=lambda part: part.first)
    firsts = np.array([part.first for part in parts] or [2**62], dtype=np.int64)
    ends = np.array([part.first + part.span for part in parts] or [0], dtype=np.int64)
    at = np.searchsorted(firsts, numbers, side="right") - 1
    missing = int(np.sum((at < 0) | (numbers >= ends[np.maximum(at, 0)])))
    if missing:
        yield Problem(LOG, "items", f"{missing} have no code")
