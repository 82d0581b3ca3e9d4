"""Whether every byte of an index folder is as it was written, and all parts fit."""

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fdch.errors import DamagedIndex
from fdch.index.storage.catalogue.catalogue import Catalogue, check_problem
from fdch.index.storage.catalogue.cell_table import read_cells
from fdch.index.storage.catalogue.items import cell_rows, from_row, read_row
from fdch.index.storage.catalogue.tables import State, is_intact_item, is_proven
from fdch.index.storage.catalogue.word_table import holds_same_words
from fdch.index.storage.files.acknowledged import Acknowledged, read_acknowledged
from fdch.index.storage.files.layout import (
    ACKNOWLEDGED,
    CATALOGUE,
    LOCK,
    LOG,
    MODEL,
    PICTURES,
    UPLOADED,
    is_damage,
    require_index,
    translate_os_errors,
)
from fdch.index.storage.files.locking import WriterLock
from fdch.index.storage.files.log import Entry
from fdch.index.storage.files.records import About, PartRecord
from fdch.index.storage.maintenance.checking import (
    Problem,
    file_problems,
    part_problems,
    sidecar_rows,
)
from fdch.index.storage.maintenance.replay import Replay, replay_log
from fdch.index.store import Item
from fdch.progress import Progress, Update, silent

_METHOD = "method"  # an index that says which one makes its codes has it inside


@dataclass(frozen=True)
class Verification:
    """What a look at every byte of an index found wrong."""

    problems: tuple[Problem, ...]

    @property
    def is_clean(self) -> bool:
        """Tell whether nothing is wrong."""
        return not self.problems


def verify_folder(
    folder: Path, progress: Progress = silent, *, is_locked: bool = False
) -> Verification:
    """Look at every byte of an index, under the writer's lock; change nothing."""
    require_index(folder)
    with ExitStack() as stack, translate_os_errors(folder):
        if not is_locked and _can_lock(folder):
            stack.enter_context(WriterLock(folder))
        return Verification(tuple(_problems(folder, progress)))


def _can_lock(folder: Path) -> bool:
    try:
        (folder / LOCK).touch()
    except OSError:
        return (folder / LOCK).exists()
    return True


def _problems(folder: Path, progress: Progress) -> Iterator[Problem]:
    seen, wrong_slots = read_acknowledged(folder)
    yield from (Problem(ACKNOWLEDGED, "", what) for what in wrong_slots)
    progress(Update("verifying", 1, 4, "step"))
    try:
        log = replay_log(folder)
    except (DamagedIndex, FileNotFoundError) as problem:
        yield Problem(LOG, "", str(problem))
        return
    yield from log_problems(log, seen)
    progress(Update("verifying", 2, 4, "step"))
    yield from catalogue_problems(folder, log)
    progress(Update("verifying", 3, 4, "step"))
    yield from _file_problems(folder, log)
    progress(Update("verifying", 4, 4, "step"))


def log_problems(log: Replay, seen: Acknowledged | None) -> Iterator[Problem]:
    """Compare the log with what was acknowledged."""
    where = f"byte {log.end.offset}"
    if log.about is None:
        yield Problem(LOG, where, "it does not say what index this is")
    if seen is not None and seen.uid != log.uid:
        yield Problem(ACKNOWLEDGED, "", "it belongs to another index")
    elif seen is not None and seen.sequence > log.end.sequence:
        what = f"it is not as written; commits up to {seen.commit} were acknowledged"
        yield Problem(LOG, where, what)


def catalogue_problems(folder: Path, log: Replay) -> Iterator[Problem]:
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
            if log.about is not None and About.read(state.about) != log.about:
                yield Problem(CATALOGUE, "", "it is not what the log says it is")
            for (what,) in connection.execute("PRAGMA integrity_check(20)"):
                if what != "ok":
                    yield Problem(CATALOGUE, "", what)
            yield from _record_problems(connection, log)
            yield from _item_problems(connection, folder, log)
            if not holds_same_words(connection, _stored_words(connection)):
                yield Problem(CATALOGUE, "words", "they are not those of the texts")
    except FileNotFoundError:
        yield Problem(CATALOGUE, "", "it is missing; opening the index makes it again")
    except Exception as problem:
        if not is_damage(problem):
            raise
        yield Problem(CATALOGUE, "", f"it cannot be read ({problem})")


def _record_problems(connection: sqlite3.Connection, log: Replay) -> Iterator[Problem]:
    """Compare removals, ranges and parts with those of the log."""
    left = dict(log.records)
    for kind, sequence, payload, check in connection.execute("SELECT * FROM records"):
        entry = Entry(str(kind).encode(), payload)
        if left.pop(sequence, None) != entry or not is_proven(
            log.uid, entry, sequence, check
        ):
            yield Problem(CATALOGUE, f"record {sequence}", "it is not that of the log")
    if left:
        yield Problem(CATALOGUE, "records", f"{len(left)} are missing")
    parts = dict(connection.execute("SELECT part, content FROM parts"))
    if parts != {number: part.write() for number, part in log.parts().items()}:
        yield Problem(CATALOGUE, "parts", "they are not those of the log")


def _item_problems(
    connection: sqlite3.Connection, folder: Path, log: Replay
) -> Iterator[Problem]:
    """Compare items with those of the log, and the cells with the items."""
    columns = dict(connection.execute('SELECT name, "column" FROM columns'))
    expected = count = items = 0
    for number, id, content, check in connection.execute("SELECT * FROM items"):
        items += 1
        is_intact = is_intact_item(log.uid, number, id, content, check)
        if not is_intact or log.items.get(number) != check:
            where = f"item {str(id)[:80]!r}"
            yield Problem(CATALOGUE, where, "it is not as written")
            continue
        item = from_row(id, content)
        yield from _picture_problems(folder, item)
        for name, value, spelled in cell_rows(item.labels, item.columns):
            expected += hash((columns.get(name), value, number, spelled))
            count += 1
    if items != len(log.items):
        what = f"{items} are there, {len(log.items)} in the log"
        yield Problem(CATALOGUE, "items", what)
    found = 0
    for cell in read_cells(connection):
        found += hash(cell)
        count -= 1
    if count or expected != found:
        yield Problem(CATALOGUE, "cells", "they are not those of the items")


def _stored_words(connection: sqlite3.Connection) -> Iterator[tuple[int, str]]:
    """Give the words that the texts of all items are found by."""
    for number, id, content in connection.execute(
        "SELECT number, id, content FROM items"
    ):
        yield number, read_row(id, content).words


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


def _file_problems(folder: Path, log: Replay) -> Iterator[Problem]:
    """Look at the codes, at what speeds up their search, and at the model."""
    if log.about is None:
        return
    place, parts = log.about.place(folder, log.uid), log.parts()
    for _, part in sorted(parts.items()):
        yield from part_problems(place, part)
        yield from file_problems(folder, sidecar_rows(part))
    yield from _owner_problems(log, list(parts.values()))
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


def _owner_problems(log: Replay, parts: list[PartRecord]) -> Iterator[Problem]:
    """Look whether each item of the log lies in a part."""
    numbers = np.array(list(log.items), dtype=np.int64)
    has_part = np.zeros(len(numbers), dtype=bool)
    for part in parts:
        has_part |= (numbers >= part.first) & (numbers < part.first + part.span)
    if missing := len(numbers) - int(has_part.sum()):
        yield Problem(LOG, "items", f"{missing} have no code")
