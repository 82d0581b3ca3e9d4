"""Bringing the catalogue to the end of the log when an index is opened.

Equal: go on. Behind, after a kill or a power cut: replay the tail. Anything else:
make the catalogue again from the whole log. What follows the last commit in the log
is a change that was never finished, and is cut off.
"""

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path

from fdch.errors import DamagedIndex, IndexBusy, IndexFolderError
from fdch.index.storage.acknowledged import Acknowledged, read_acknowledged
from fdch.index.storage.catalogue import (
    Catalogue,
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
    LogHeader,
    Record,
    cut_log,
    read_header,
    read_records,
)
from fdch.index.storage.tables import Applier, State


def recover(folder: Path) -> None:
    """Bring the catalogue to the end of the log. The caller has the writer's lock.

    Raises:
        DamagedIndex: The log is damaged.
    """
    header, seen = read_header(folder), require_acknowledged(folder)
    state = read_state(folder)
    is_checked = (folder / CHECK).exists()  # else killed while the file was written
    if state is None or not is_checked or not _follows(folder, header, state):
        rebuild_catalogue(folder)
        return
    if not is_current(folder, header, state, seen):
        _replay_tail(folder, state, seen)


def make_current(folder: Path) -> None:
    """Let a reader see the last commit, where no writer takes care of it.

    Raises:
        IndexBusy: The catalogue is being made.
        IndexFolderError: It must be made, and may not be written here.
    """
    header, seen = read_header(folder), require_acknowledged(folder)
    state = read_state(folder)
    is_usable = state is not None and _follows(folder, header, state)
    if state is not None and is_usable and is_current(folder, header, state, seen):
        return
    is_complete = is_usable and state is not None and state.sequence >= seen.sequence
    if not os.access(folder, os.W_OK | os.X_OK):
        if not is_complete:
            raise IndexFolderError(
                f"index '{folder}' was not closed properly, and is read-only here. "
                "Open it once where it can be written, or copy it there."
            )
        return
    try:
        lock = WriterLock(folder)
    except IndexBusy:
        if state is None:
            raise
        return  # a writer is at work, and sees to the catalogue
    try:
        recover(folder)
    finally:
        lock.release()


def require_acknowledged(folder: Path) -> Acknowledged:
    """Read the last commit that was acknowledged.

    Raises:
        DamagedIndex: Neither slot can be read.
    """
    seen, wrong = read_acknowledged(folder)
    if seen is None:
        raise DamagedIndex(f"'{folder / ACKNOWLEDGED}': {'; '.join(wrong)}. {REPAIR}")
    return seen


def is_current(
    folder: Path, header: LogHeader, state: State, seen: Acknowledged
) -> bool:
    """Tell whether the catalogue follows the log to its end."""
    return (
        seen.sequence <= state.sequence
        and (folder / LOG).stat().st_size == state.offset
        and (folder / CHECK).exists()
        and _follows(folder, header, state)
    )


def _follows(folder: Path, header: LogHeader, state: State) -> bool:
    """Tell whether the catalogue was made from this log.

    Raises:
        DamagedIndex: It was, and the log has lost what the catalogue knows.
    """
    if (state.uid, state.first) != (header.uid, header.first):
        return False
    with (folder / LOG).open("rb") as file:
        file.seek(state.offset - DIGEST_BYTES)
        chain = file.read(DIGEST_BYTES)
    if chain != state.chain:
        raise DamagedIndex(
            f"'{folder / LOG}' does not hold commit {state.commit}, which was "
            f"acknowledged. {REPAIR}"
        )
    return True


def commits_of(records: Iterable[Record]) -> Iterator[list[Record]]:
    """Join records to commits; what follows the last one is left out."""
    pending: list[Record] = []
    for record in records:
        pending.append(record)
        if record.entry.kind == COMMIT:
            yield pending
            pending = []


def _replay_tail(folder: Path, state: State, seen: Acknowledged) -> None:
    with closing(Catalogue(folder, writable=True)) as catalogue:
        for commit in commits_of(read_records(folder, state.uid, state.position)):
            with catalogue.writing() as connection:
                state = apply_all(connection, state, commit)
        _require_reached(folder, state, seen)
        cut_log(folder, state.offset)
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
    records = read_records(folder, header.uid, start)
    commits = (record for commit in commits_of(records) for record in commit)
    partial = folder / (CATALOGUE + PARTIAL)
    remove_database(partial)
    try:
        with create_catalogue(partial) as connection:
            state = apply_all(connection, empty, commits)
        if not state.about:
            raise DamagedIndex(f"'{folder / LOG}' does not say what it is. {REPAIR}")
        _require_reached(folder, state, seen)
        put_catalogue(folder, partial, state.uid)
    except BaseException:
        with suppress(OSError):
            remove_database(partial)
        raise
    cut_log(folder, state.offset)
    return state


def put_catalogue(folder: Path, partial: Path, uid: bytes) -> None:
    """Put a new catalogue in place of the old one, which nobody writes."""
    sync_folder(partial)  # the file itself
    (folder / CHECK).unlink(missing_ok=True)
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


def _require_reached(folder: Path, state: State, seen: Acknowledged) -> None:
    """Refuse a log that ends before what was acknowledged."""
    if seen.uid != state.uid:
        raise DamagedIndex(f"'{folder / ACKNOWLEDGED}' is of another index. {REPAIR}")
    if state.sequence < seen.sequence:
        raise DamagedIndex(
            f"'{folder / LOG}' is damaged behind commit {state.commit}; commits up to "
            f"{seen.commit} were acknowledged. {REPAIR}"
        )
