"""How an index folder is opened, read and changed: locks, snapshots, commits."""

import json
import logging
import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fdch.errors import DamagedIndex, FdchError, IndexFolderError
from fdch.index.search.rows import MAX_BITS as MOST_BITS
from fdch.index.storage.acknowledged import (
    Acknowledged,
    acknowledge,
    acknowledged,
    require_record,
)
from fdch.index.storage.catalogue import Catalogue
from fdch.index.storage.changes import set_fact
from fdch.index.storage.layout import (
    CATALOGUE,
    CODES,
    DRAFT,
    FORMAT,
    PART_FILE,
    digest,
    no_index,
    require_plain,
    told,
)
from fdch.index.storage.locking import WriterLock
from fdch.index.storage.parts import PartRecord, Place, fact, read_parts
from fdch.index.storage.segments import REPAIR
from fdch.index.storage.snapshot import Snapshot, load_snapshot

_log = logging.getLogger(__name__)
_TRIES = 20


@dataclass(frozen=True, eq=False)
class View:
    """An index inside one transaction."""

    connection: sqlite3.Connection
    snapshot: Snapshot

    def count(self, name: str) -> int:
        """Read a fact that is a count."""
        return fact(self.connection, self.snapshot.place, name)


class Access:
    """An open index folder.

    Args:
        folder: Where it lies.
        writable: Whether to take the writer's lock.
        lock: The writer's lock, where it is held already.
    """

    def __init__(
        self, folder: Path, *, writable: bool, lock: WriterLock | None = None
    ) -> None:
        _require_index(folder, writable)
        folder = folder.absolute()  # the program may leave for another folder
        self._process = os.getpid()
        self._writing = threading.RLock()
        self._snapshot: Snapshot | None = None
        with ExitStack() as undo, told(folder):
            self.lock = WriterLock(folder) if writable and lock is None else lock
            if self.lock:
                undo.callback(self.lock.release)
            seen, _ = acknowledged(folder)
            self.catalogue = Catalogue(folder, writable=writable)
            undo.callback(self.catalogue.close)
            with self.catalogue.reading() as connection:
                self.place, self.facts = read_facts(connection, folder)
                commit = fact(connection, self.place, "commit")
                parts = read_parts(connection, self.place)
            if seen is not None and seen.commit > commit:
                raise DamagedIndex(
                    f"index '{folder}' has lost commits {commit + 1} to {seen.commit}. "
                    f"{REPAIR}"
                )
            if writable:
                self._tidy_up(parts)
            undo.pop_all()

    @contextmanager
    def reading(self) -> Iterator[View]:
        """See the index as of its last commit."""
        self._require_own_process()
        with told(self.place.folder), ExitStack() as stack:
            for left in reversed(range(_TRIES)):
                connection = stack.enter_context(self.catalogue.reading())
                try:
                    snapshot = load_snapshot(connection, self.place, self._snapshot)
                    break
                except FileNotFoundError:
                    # compacted between our look at the catalogue and at the files
                    if not left:
                        raise
                    stack.close()
            self.catalogue.require_unmoved(connection)
            self._snapshot = snapshot
            yield View(connection, snapshot)

    @contextmanager
    def changing(self) -> Iterator[View]:
        """Change the index in one commit, on disk and on record at the end."""
        self._require_own_process()
        place = self.place
        with self._writing, told(place.folder):
            require_record(place.folder)
            with self.catalogue.writing() as connection:
                self._snapshot = load_snapshot(connection, place, self._snapshot)
                snapshot = self._snapshot  # as of the last commit, whatever follows
                yield View(connection, snapshot)
                set_fact(connection, "commit", snapshot.commit + 1)
                record = Acknowledged(
                    snapshot.commit + 1,
                    fact(connection, place, "items"),
                    fact(connection, place, "next_number"),
                    place.uid,
                )
            acknowledge(place.folder, record)
            if self.catalogue.needs_settling:
                self._settled()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other threads of this process from changing the index."""
        self._require_own_process()
        with self._writing, told(self.place.folder):
            yield

    def close(self) -> None:
        """Leave the folder sealed and unlocked."""
        if not self._is_own:
            self._leave()
            return
        with self._writing:
            if self.lock:
                self._settled()
            self.catalogue.close()
            self._snapshot = None  # and with it the maps of files
            if self.lock:
                self.lock.release()

    @property
    def _is_own(self) -> bool:
        return os.getpid() == self._process

    def _require_own_process(self) -> None:
        """Refuse a forked child: what it has of SQLite is its parent's."""
        if not self._is_own:
            raise IndexFolderError(
                f"index '{self.place.folder}' was opened by the process that this one "
                "was forked from. Open it again in this process."
            )

    def _leave(self) -> None:
        """Let go, in a forked child, of what the parent goes on using."""
        self._snapshot = None
        if self.lock:
            self.lock.release()

    def _settled(self) -> None:
        """Settle; what cannot be settled now stays in the log, which is durable."""
        try:
            with told(self.place.folder):
                self.catalogue.settle()
        except FdchError as problem:
            _log.warning("the log of '%s' stays: %s", self.place.folder, problem)

    def _tidy_up(self, parts: list[PartRecord]) -> None:
        """Clear away what a writer that was killed left behind."""
        self.catalogue.settle()
        for part in parts:
            self.place.rows(part.part).cut(part.rows)
            if part.has_gaps:
                self.place.numbers(part.part).cut(part.rows)
        known = {part.part for part in parts}
        for file in (self.place.folder / CODES).iterdir():
            name = PART_FILE.fullmatch(file.name)
            if name and int(name[1]) not in known:
                file.unlink()


def _require_index(folder: Path, writable: bool) -> None:
    if not (folder / CATALOGUE).is_file():
        raise no_index(folder)
    require_plain(folder)
    if (folder / DRAFT).exists():
        raise DamagedIndex(
            f"a repair of index '{folder}' was stopped before it had finished. "
            "Run 'fdch index repair' again."
        )
    if writable and not os.access(folder, os.W_OK | os.X_OK):
        raise IndexFolderError(
            f"index '{folder}' is read-only here. Check the folder's permissions, or "
            "copy it to where it can be changed."
        )


def read_facts(
    connection: sqlite3.Connection, folder: Path
) -> tuple[Place, dict[str, Any]]:
    """Read what an index is.

    Raises:
        DamagedIndex: It does not say so, or its checksum fails.
    """
    facts = dict(connection.execute("SELECT name, value FROM facts"))
    try:
        uid = bytes.fromhex(facts["uid"])
        bits, model = facts["bits"], facts["model"]
        if facts["check"] != facts_checksum(uid, facts):
            raise ValueError("its checksum fails")
        facts["facts"] = json.loads(facts["facts"])
        if len(uid) != 16 or not isinstance(model, str) or type(bits) is not int:
            raise ValueError("a fact is of the wrong kind")
        if facts["format"] != FORMAT or not 1 <= bits <= MOST_BITS:
            raise ValueError(f"format {facts['format']!r}, {bits} bits")
    except (KeyError, TypeError, ValueError, RecursionError) as problem:
        raise DamagedIndex(
            f"'{folder / CATALOGUE}' does not describe an index ({problem}). {REPAIR}"
        ) from problem
    return Place(folder, uid, bits), facts


def facts_checksum(uid: bytes, facts: Mapping[str, object]) -> str:
    """Give the checksum of what never changes of an index."""
    fixed = [facts[name] for name in ("format", "bits", "model", "facts")]
    return digest(json.dumps(fixed).encode(), uid, "facts").hex()
