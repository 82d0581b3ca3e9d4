"""Bringing the catalogue to the end of the log when an index is opened.

Equal: go on. Behind, after a kill or a power cut: replay the tail. Anything else:
make the catalogue again from the whole log. What follows the last commit in the log
is a change that was never finished, and is cut off.
"""

import os
import sqlite3
import time
from collections.abc import Iterable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from fdch.errors import DamagedIndex, IndexBusy, IndexFolderError
from fdch.index.storage.acknowledged import Acknowledged, read_acknowledged
from fdch.index.storage.catalogue import (
    Catalogue,
    check_problem,
    create_catalogue,
    read_state,
    write_check,
)
from fdch.index.storage.layout import (
    ACKNOWLEDGED,
    CATALOGUE,
    CHECK,
    DIGEST_BYTES,
    LOG,
    PARTIAL,
    REPAIR,
    WAL,
    sync_folder,
)
from fdch.index.storage.locking import WriterLock
from fdch.index.storage.log import (
    COMMIT,
    HEADER_BYTES,
    Position,
    Record,
    cut_log,
    parse_header,
    read_header,
    read_records,
)
from fdch.index.storage.tables import Applier, State

_TRIES = 20
_PAUSE_SECONDS = 0.05


@dataclass(frozen=True)
class Standing:
    """How far the catalogue follows the log, as seen at one moment.

    Args:
        state: Of the catalogue; None where it has none that can be read.
        seen: The last commit that was acknowledged.
        is_of_log: Whether the catalogue was made from this log.
        is_chained: Whether the log holds the last commit of the catalogue.
        size: Bytes of the log.
        is_checked: Whether the catalogue has a checksum.
    """

    state: State | None
    seen: Acknowledged
    is_of_log: bool
    is_chained: bool
    size: int
    is_checked: bool

    @property
    def is_complete(self) -> bool:
        """Tell whether the catalogue holds every acknowledged commit."""
        state = self.state
        return state is not None and state.sequence >= self.seen.sequence

    @property
    def is_current(self) -> bool:
        """Tell whether the catalogue follows the log to its end."""
        state = self.state
        fits = self.is_of_log and self.is_chained and self.is_checked
        return state is not None and fits and self.size == state.offset


def look(folder: Path) -> Standing:
    """Compare the catalogue with the end of the log."""
    # one open file: a compaction may put another log in its place meanwhile
    with (folder / LOG).open("rb") as log:
        header = parse_header(folder, log.read(HEADER_BYTES))
        seen = require_acknowledged(folder)
        state = read_state(folder)
        is_of_log = is_chained = False
        if state is not None:
            is_of_log = (state.uid, state.first) == (header.uid, header.first)
            log.seek(max(0, state.offset - DIGEST_BYTES))
            is_chained = log.read(DIGEST_BYTES) == state.chain
        size = os.fstat(log.fileno()).st_size
    is_checked = (folder / CHECK).exists()
    return Standing(state, seen, is_of_log, is_chained, size, is_checked)


def recover(folder: Path) -> None:
    """Bring the catalogue to the end of the log. The caller has the writer's lock.

    Raises:
        DamagedIndex: The log is damaged.
    """
    found = look(folder)
    state = found.state
    if found.is_current and found.is_complete:
        return
    if state is None or not found.is_checked or not found.is_of_log:
        rebuild_catalogue(folder)
    elif not found.is_chained:
        raise DamagedIndex(
            f"'{folder / LOG}' does not hold commit {state.commit}, which was "
            f"acknowledged. {REPAIR}"
        )
    elif check_problem(folder, state.uid):
        rebuild_catalogue(folder)  # what is written must get no checksum over damage
    else:
        _replay_tail(folder, state, found.seen)


def make_current(folder: Path) -> None:
    """Let a reader see the last commit, where no writer takes care of it.

    Raises:
        IndexBusy: The catalogue is being made.
        IndexFolderError: It must be made, and may not be written here.
    """
    for left in reversed(range(_TRIES)):
        found = look(folder)
        if found.is_current and found.is_complete:
            return
        if not os.access(folder, os.W_OK | os.X_OK):
            if found.is_complete:
                return
            raise IndexFolderError(
                f"index '{folder}' was not closed properly, and is read-only here. "
                "Open it once where it can be written, or copy it there."
            )
        try:
            lock = WriterLock(folder)
        except IndexBusy:
            if found.is_complete:
                return  # a writer is at work, and sees to the rest
            if not left:
                raise
            time.sleep(_PAUSE_SECONDS)  # it is about to commit, or makes the catalogue
            continue
        try:
            recover(folder)
        finally:
            lock.release()
        return


def require_acknowledged(folder: Path) -> Acknowledged:
    """Read the last commit that was acknowledged.

    Raises:
        DamagedIndex: Neither slot can be read.
    """
    seen, wrong = read_acknowledged(folder)
    if seen is None:
        raise DamagedIndex(f"'{folder / ACKNOWLEDGED}': {'; '.join(wrong)}. {REPAIR}")
    return seen


def last_commit(
    folder: Path, uid: bytes, start: Position, until: int | None = None
) -> Position:
    """Find the end of the last commit behind a position, up to a sequence number."""
    end = start
    for record in read_records(folder, uid, start):
        if until is not None and record.sequence > until:
            break
        if record.entry.kind == COMMIT:
            end = record.position
    return end


def _replay_tail(folder: Path, state: State, seen: Acknowledged) -> None:
    end = last_commit(folder, state.uid, state.position)
    _require_reached(folder, state.uid, end, seen)
    cut_log(folder, end.offset)
    with closing(Catalogue(folder, writable=True)) as catalogue:
        with catalogue.writing() as connection:
            tail = read_records(folder, state.uid, state.position, end.offset)
            state = apply_all(connection, state, tail)
        catalogue.checkpoint(state.uid)


def apply_all(
    connection: sqlite3.Connection, state: State, records: Iterable[Record]
) -> State:
    """Apply records to the catalogue; return its new state."""
    applier, end = Applier(connection, state), state.position
    for record in records:
        applier.apply(record.sequence, record.entry, record.digest)
        end = record.position
    return applier.finish(end)


def rebuild_catalogue(folder: Path) -> State:
    """Make the catalogue again from the whole log. The caller has the writer's lock.

    Raises:
        DamagedIndex: The log is damaged. The catalogue then stays as it is.
    """
    header, seen = read_header(folder), require_acknowledged(folder)
    start = header.start
    empty = State(header.uid, "", header.first, header.first, start.offset, start.chain)
    end = last_commit(folder, header.uid, start)
    _require_reached(folder, header.uid, end, seen)
    partial = folder / (CATALOGUE + PARTIAL)
    remove_database(partial)
    try:
        with create_catalogue(partial) as connection:
            records = read_records(folder, header.uid, start, end.offset)
            state = apply_all(connection, empty, records)
        if not state.about:
            raise DamagedIndex(f"'{folder / LOG}' does not say what it is. {REPAIR}")
        cut_log(folder, state.offset)
        put_catalogue(folder, partial, state.uid)
    except BaseException:
        with suppress(OSError):
            remove_database(partial)
        raise
    return state


def put_catalogue(folder: Path, partial: Path, uid: bytes) -> None:
    """Put a new catalogue in place of the old one, which nobody writes."""
    sync_folder(partial)  # the file itself
    (folder / CHECK).unlink(missing_ok=True)
    sync_folder(folder)
    # a write-ahead log of the old one must never be applied to the new one
    for name in (WAL, CATALOGUE + "-shm"):
        (folder / name).unlink(missing_ok=True)
    os.replace(partial, folder / CATALOGUE)
    sync_folder(folder)
    write_check(folder, uid)


def remove_database(path: Path) -> None:
    """Remove a SQLite file with what SQLite keeps beside it."""
    for end in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + end).unlink(missing_ok=True)


def _require_reached(
    folder: Path, uid: bytes, end: Position, seen: Acknowledged
) -> None:
    """Refuse a log that ends before what was acknowledged."""
    if seen.uid != uid:
        raise DamagedIndex(f"'{folder / ACKNOWLEDGED}' is of another index. {REPAIR}")
    if end.sequence < seen.sequence:
        raise DamagedIndex(
            f"'{folder / LOG}' is damaged at byte {end.offset}; commits up to "
            f"{seen.commit} were acknowledged. {REPAIR}"
        )
