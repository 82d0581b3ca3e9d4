"""Bringing the catalogue to the end of the log when an index is opened.

Equal: go on. Behind, after a kill or a power cut: replay the tail. Anything else:
make the catalogue again from the whole log. What follows the last commit in the log
is a change that was never finished, and is cut off.
"""

import os
import sqlite3
import time
from contextlib import closing, suppress
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from fdch.errors import IndexBusy, IndexFolderError
from fdch.index.storage.catalogue.catalogue import (
    Catalogue,
    check_problem,
    create_catalogue,
    read_state,
    write_check,
)
from fdch.index.storage.catalogue.tables import State, apply_all
from fdch.index.storage.files.acknowledged import (
    Acknowledged,
    acknowledge,
    read_acknowledged,
)
from fdch.index.storage.files.layout import (
    ACKNOWLEDGED,
    CATALOGUE,
    CHECK,
    DIGEST_BYTES,
    LOG,
    PARTIAL,
    WAL,
    damaged,
    sync_folder,
)
from fdch.index.storage.files.locking import WriterLock
from fdch.index.storage.files.log import (
    HEADER_BYTES,
    Kind,
    Position,
    cut_log,
    last_commit,
    parse_header,
    read_header,
    read_records,
)
from fdch.index.storage.files.misplaced import require_own_names
from fdch.index.storage.files.records import About

_TRIES = 20
_PAUSE_SECONDS = 0.05


class _Standing(NamedTuple):
    """How far the catalogue follows the log, as seen at one moment."""

    state: State | None = None  # of the catalogue; None where it cannot be read
    is_usable: bool = False  # it follows this log, which holds its last commit
    is_complete: bool = False  # it has every commit that was acknowledged
    is_current: bool = False  # nothing is to be done


def _compare(folder: Path) -> _Standing:
    """Compare the catalogue with the end of the log."""
    # one open file: a compaction may put another log in its place meanwhile
    with (folder / LOG).open("rb") as log:
        header = parse_header(folder, log.read(HEADER_BYTES))
        seen, (state, is_whole) = _require_acknowledged(folder), read_state(folder)
        if state is None:
            return _Standing()
        sequence, offset, check = state.position
        log.seek(max(0, offset - DIGEST_BYTES))
        is_chained = log.read(DIGEST_BYTES) == check
        is_at_end = os.fstat(log.fileno()).st_size == offset
    is_usable = is_whole and is_chained and header == (state.uid, state.first)
    is_complete = is_whole and sequence >= seen.sequence
    is_checked = (folder / CHECK).exists()
    is_at_end &= sequence == seen.sequence
    is_current = is_usable and is_at_end and is_checked
    return _Standing(state, is_usable, is_complete, is_current)


def recover(folder: Path) -> None:
    """Bring the catalogue to the end of the log. The caller has the writer's lock."""
    found = _compare(folder)
    if found.is_current:
        return
    require_own_names(folder)
    state = found.state
    # what is written must get no checksum over damage
    if state is None or not found.is_usable or check_problem(folder, state.uid):
        rebuild_catalogue(folder, state)
    else:
        _replay_tail(folder, state)


def make_current(folder: Path) -> None:
    """Let a reader see the last commit, where no writer takes care of it."""
    for left in reversed(range(_TRIES)):
        found = _compare(folder)
        if found.is_current:
            return
        if not os.access(folder, os.W_OK | os.X_OK):
            if found.is_complete:
                return
            raise IndexFolderError(
                f"index '{folder}' was not closed properly, and is read-only here. "
                "Open it once where it can be written, or copy it there."
            )
        try:
            with WriterLock(folder):
                return recover(folder)
        except IndexBusy:
            if found.is_complete:
                return  # a writer is at work, and sees to the rest
            if not left:
                raise
            time.sleep(_PAUSE_SECONDS)  # it is about to commit, or makes the catalogue


def _replay_tail(folder: Path, state: State) -> None:
    end = last_commit(folder, state.uid, state.position)
    _end_log(folder, state.uid, end)
    with closing(Catalogue(folder, writable=True)) as catalogue:
        with catalogue.writing() as connection:
            tail = read_records(folder, state.uid, state.position, end.offset)
            _acknowledge(folder, apply_all(connection, state, tail).acknowledged)
        catalogue.checkpoint(state.uid)


def replay_log(folder: Path, connection: sqlite3.Connection) -> State:
    """Apply the log, up to its last commit, to empty tables."""
    uid, first = header = read_header(folder)
    end = last_commit(folder, uid, header.start)
    records = read_records(folder, uid, header.start, end.offset)
    described = next(records, None)
    if described is None or described.entry.kind != Kind.INDEX:
        raise damaged(f"'{folder / LOG}' does not say what index this is")
    state = State(uid, first, header.start, About.read(described.entry.payload))
    return apply_all(connection, state, chain([described], records))


def rebuild_catalogue(folder: Path, known: State | None = None) -> None:
    """Make the catalogue again from the whole log. The caller has the writer's lock.

    If the log is damaged, or ends before what is `known`, the catalogue stays.
    """
    partial = folder / (CATALOGUE + PARTIAL)
    _remove_database(partial)
    try:
        with create_catalogue(partial) as connection:
            state = replay_log(folder, connection)
        _end_log(folder, state.uid, state.position, known)
        _acknowledge(folder, state.acknowledged)
        sync_folder(partial)  # the file itself
        (folder / CHECK).unlink(missing_ok=True)
        sync_folder(folder)
        # a write-ahead log of the old one must never be applied to the new one
        for name in (WAL, CATALOGUE + "-shm"):
            (folder / name).unlink(missing_ok=True)
        # not by `replace_durably`: SQLite wrote it, and the old log had to go before
        os.replace(partial, folder / CATALOGUE)
        sync_folder(folder)
        write_check(folder, state.uid)
    except BaseException:
        with suppress(OSError):
            _remove_database(partial)
        raise


def _remove_database(path: Path) -> None:
    """Remove a SQLite file with what SQLite keeps beside it."""
    for end in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + end).unlink(missing_ok=True)


def _require_acknowledged(folder: Path) -> Acknowledged:
    seen, wrong = read_acknowledged(folder)
    if seen is None:
        raise damaged(f"'{folder / ACKNOWLEDGED}': {'; '.join(wrong)}")
    return seen


def _end_log(
    folder: Path, uid: bytes, end: Position, known: State | None = None
) -> None:
    """Cut off what follows the last commit.

    A log that ends before what was acknowledged, or is known to a catalogue of the
    same index, is refused.
    """
    latest = _require_acknowledged(folder)
    if latest.uid != uid:
        raise damaged(f"'{folder / ACKNOWLEDGED}' is of another index")
    if known is not None and known.uid == uid:
        latest = max(latest, known.acknowledged)
    if end.sequence < latest.sequence:
        raise damaged(
            f"'{folder / LOG}' is damaged at byte {end.offset}; commits up to "
            f"{latest.commit} were acknowledged"
        )
    cut_log(folder, end.offset)


def _acknowledge(folder: Path, last: Acknowledged) -> None:
    """Let no later log end before a commit that readers will see."""
    if _require_acknowledged(folder).sequence < last.sequence:
        acknowledge(folder, last)
