"""Verify: read every byte of an index folder, and compare its files with the log."""

import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from fdch.errors import DamagedIndex
from fdch.index.storage.catalogue.catalogue import (
    Catalogue,
    check_problem,
    create_catalogue,
    is_log_of_file,
    read_state,
)
from fdch.index.storage.catalogue.cell_table import read_cells
from fdch.index.storage.catalogue.items import from_row
from fdch.index.storage.catalogue.recovery import replay_log
from fdch.index.storage.catalogue.tables import State, kept_parts
from fdch.index.storage.catalogue.word_table import read_words
from fdch.index.storage.files.acknowledged import Acknowledged, read_acknowledged
from fdch.index.storage.files.checking import (
    MISSING,
    Problem,
    file_problems,
    part_problems,
    sidecar_rows,
)
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
from fdch.index.storage.files.misplaced import misplaced
from fdch.index.store import Item
from fdch.progress import Progress, Update, silent

_METHOD = "method"  # an index that says which one makes its codes has it inside


@dataclass(frozen=True)
class Verification:
    """What a look at every byte of an index found wrong."""

    problems: tuple[Problem, ...]

    @property
    def is_clean(self) -> bool:
        """Return whether nothing is wrong."""
        return not self.problems


def verify_folder(
    folder: Path, progress: Progress = silent, *, is_locked: bool = False
) -> Verification:
    """Look at every byte of an index, under the writer's lock; change nothing."""
    require_index(folder)
    with ExitStack() as stack, translate_os_errors(folder):
        can_lock = (folder / LOCK).exists() or os.access(folder, os.W_OK | os.X_OK)
        if can_lock and not is_locked:
            stack.enter_context(WriterLock(folder))
        return Verification(tuple(_problems(folder, progress)))


def _problems(folder: Path, progress: Progress) -> Iterator[Problem]:
    """Compare all files with the log, replayed into a temporary catalogue."""
    if moved := dict(misplaced(folder)):
        for path, target in moved.items():  # a look inside could write over them
            what = f"it is '{target.relative_to(folder)}' under another name"
            yield Problem(path.relative_to(folder).as_posix(), "", what)
        return
    seen, wrong_slots = read_acknowledged(folder)
    yield from (Problem(ACKNOWLEDGED, "", what) for what in wrong_slots)
    progress(Update("verifying", 1, 4, "step"))
    with create_catalogue("") as connection:
        try:
            log = replay_log(folder, connection)
        except (DamagedIndex, FileNotFoundError, sqlite3.IntegrityError) as problem:
            yield Problem(LOG, "", str(problem))
            return
        end = log.position
        if seen is not None and seen.uid != log.uid:
            yield Problem(ACKNOWLEDGED, "", "it belongs to another index")
        elif seen is not None and seen.sequence > end.sequence:
            what = (
                "its end is missing or damaged; commits up to "
                f"{seen.commit} were acknowledged"
            )
            yield Problem(LOG, f"byte {end.offset}", what)
        progress(Update("verifying", 2, 4, "step"))
        yield from _catalogue_problems(folder, log, connection, seen)
        progress(Update("verifying", 3, 4, "step"))
        yield from _file_problems(folder, log, connection)
        progress(Update("verifying", 4, 4, "step"))


def _catalogue_problems(
    folder: Path, log: State, tables: sqlite3.Connection, seen: Acknowledged | None
) -> Iterator[Problem]:
    """Compare the catalogue with its checksum, and with the log.

    Commits are in the log, then acknowledged, then in the catalogue: those before it
    hold no fewer.
    """
    try:
        if (wrong := check_problem(folder, log.uid)) is not None:
            yield Problem(CATALOGUE, "", wrong)
        with (
            closing(Catalogue(folder, writable=False)) as catalogue,
            catalogue.reading() as connection,
        ):
            state = State.read(connection, folder)
            if not is_log_of_file(connection, folder) and not read_state(folder)[1]:
                what = "SQLite's log beside it belongs to another state of it"
                yield Problem(CATALOGUE, "", what)
            if state.uid != log.uid:
                yield Problem(CATALOGUE, "", "it belongs to another index")
                return
            if seen is not None and seen.sequence < state.position.sequence:
                yield Problem(ACKNOWLEDGED, "", f"it is older than '{CATALOGUE}'")
            if state.position.sequence > log.position.sequence:
                commit = state.counts.commit
                what = f"it ends before commit {commit}, which '{CATALOGUE}' has"
                yield Problem(LOG, f"byte {log.position.offset}", what)
            elif state.position.sequence == log.position.sequence:
                yield from _difference(connection, state, log, tables)
    except FileNotFoundError:
        yield Problem(
            CATALOGUE, "", "it is missing; it is rebuilt when the index is opened"
        )
    except Exception as problem:
        if not is_damage(problem):
            raise
        yield Problem(CATALOGUE, "", f"it cannot be read ({problem})")


def _difference(
    connection: sqlite3.Connection,
    state: State,
    log: State,
    tables: sqlite3.Connection,
) -> Iterator[Problem]:
    """Compare the tables of a catalogue with those that the log gives."""
    if state.position != log.position:
        yield Problem(CATALOGUE, "", "it does not follow the log")
        return
    if state != log:
        yield Problem(CATALOGUE, "", "it does not match the log")
    for (what,) in connection.execute("PRAGMA integrity_check(20)"):
        if what != "ok":
            yield Problem(CATALOGUE, "", what)
    for table, read in _TABLES.items():
        if _sum(read(connection)) != _sum(read(tables)):
            yield Problem(CATALOGUE, table, "they do not match the log")


def _sum(rows: Iterable[object]) -> int:
    """Return a number that is the same for the same rows in any order."""
    return sum(hash((row,)) for row in rows)


_TABLES: dict[str, Callable[[sqlite3.Connection], Iterable[object]]] = {
    "records": lambda connection: connection.execute("SELECT * FROM records"),
    "items": lambda connection: connection.execute("SELECT * FROM items"),
    "cells": read_cells,
    "words": read_words,
}


def _picture_problems(folder: Path, item: Item) -> Iterator[Problem]:
    """Look at an uploaded picture, whose name is a checksum of the id and itself."""
    stored = Path(item.image or "")
    if not UPLOADED.fullmatch(stored.name) or stored.parent.name != PICTURES:
        return
    path = folder / PICTURES / stored.name
    where = f"{PICTURES}/{stored.name}"
    if path.is_file():
        if not is_upload(path, item.id, path.stem):
            yield Problem(where, "", "its checksum does not match")
    # a copy has the paths of the index it was made from; a service may keep
    # uploads outside of any index
    elif not stored.is_file() or (
        (stored.parent.parent / LOG).exists()
        and is_upload(stored, item.id, stored.stem)
    ):
        yield Problem(where, "", MISSING)


def is_upload(path: Path, id: str, stem: str) -> bool:
    """Return whether a file is the picture that an item was uploaded with."""
    digest = hashlib.blake2b(id.encode(), digest_size=16)
    digest.update(b"\0" + path.read_bytes())
    return digest.hexdigest() == stem


def _file_problems(
    folder: Path, log: State, tables: sqlite3.Connection
) -> Iterator[Problem]:
    """Look at codes and what speeds up their search, at pictures and the model."""
    uid = log.uid
    place, parts = log.about.place(folder, uid), kept_parts(tables, uid)
    for _, part in sorted(parts.items()):
        yield from part_problems(place, part)
        yield from file_problems(folder, sidecar_rows(part))
    for id, content in tables.execute("SELECT id, content FROM items"):
        yield from _picture_problems(folder, from_row(id, content))
    yield from file_problems(folder, log.about.files)
    if _METHOD in log.about.facts and not log.about.files:
        what = "it was never kept; the index can be searched by codes only"
        yield Problem(MODEL, "", what)
