"""The catalogue: one SQLite file that knows what counts in an index folder."""

import logging
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from fdch.errors import DamagedIndex, IndexBusy, IndexFolderError
from fdch.index.storage.forking import drop_inherited, note_open
from fdch.index.storage.layout import CATALOGUE, WAL
from fdch.index.storage.seal import Seal
from fdch.index.storage.tables import SCHEMA, require_own_schema

_log = logging.getLogger(__name__)

PAGE_BYTES = 4096
_SETTLE_BYTES = 2**25
_CACHE_BYTES = 2**26
_WAIT_SECONDS = 20.0
_APPLICATION = 0x66646368  # "fdch"
_MAY_NOT_WRITE = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}
State = tuple[int, ...]


def create_catalogue(folder: Path, facts: dict[str, str | int]) -> None:
    """Make an empty catalogue with some facts, and seal it."""
    path = folder / CATALOGUE
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
        connection.execute("PRAGMA journal_mode = WAL")
        commit_durably(connection)
        connection.execute("BEGIN")
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        for table in SCHEMA:
            connection.execute(table)
        connection.executemany("INSERT INTO facts VALUES (?, ?)", facts.items())
        connection.execute("COMMIT")
    uid = bytes.fromhex(str(facts["uid"]))
    Seal.of(folder, uid, PAGE_BYTES).write(folder)


def commit_durably(connection: sqlite3.Connection) -> None:
    """Let commits survive a power cut."""
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA fullfsync = ON")  # the drive's cache too, on macOS


class Reader(sqlite3.Connection):
    """A connection; `still` is how the file was, where SQLite cannot lock it."""

    still: State | None = None


class Catalogue:
    """Connections to the catalogue of a folder: many to read, one to write.

    Args:
        folder: The index.
        writable: Whether to open one to write. Its holder has the writer's lock.
    """

    def __init__(self, folder: Path, *, writable: bool) -> None:
        self.folder = folder
        self.path = folder / CATALOGUE
        drop_inherited()
        self._idle: list[Reader] = []
        self._guard = threading.Lock()
        self._owes_seal = False
        self._kept_bytes = 0  # of the log, that the last settling left
        self._is_closed = False
        self._file: tuple[int, int] | None = None
        self._uid: object = None
        self._reader = self._connected_reader()
        self._writer = self._connected("rw") if writable else None
        if self._writer:
            commit_durably(self._writer)
            self._writer.execute("PRAGMA wal_autocheckpoint = 0")
            self._writer.execute(f"PRAGMA cache_size = {-_CACHE_BYTES // 1024}")
        # the reader keeps the file open, so that no other can have its number
        self._file = _file_number(self.path)
        note_open(self)

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        """Give a connection inside one read transaction.

        Raises:
            IndexBusy: The file was written meanwhile, where SQLite could not lock it.
        """
        reader = self._taken()
        try:
            reader.execute("BEGIN")
            yield reader
            self.require_unmoved(reader)
        except BaseException as problem:
            reader.close()
            if isinstance(problem, Exception):  # which may come of a torn state
                self.require_unmoved(reader)
            raise
        try:
            reader.execute("COMMIT")
        except sqlite3.Error:  # damaged; what was read was read
            reader.close()
            return
        with self._guard:
            self._idle.append(reader)

    def require_unmoved(self, reader: Reader) -> None:
        """Refuse what was read of a file that was written meanwhile.

        Raises:
            IndexBusy: A reader that may not write has no lock to keep a writer off.
        """
        if reader.still is not None and reader.still != _state(self.path):
            raise IndexBusy(
                f"index '{self.folder}' was written while this process read it, which "
                "may not lock it (the folder is read-only here). Try again."
            )

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Give the writer's connection inside a transaction; commit at the end."""
        connection = self._writer
        if connection is None and not self._is_closed:
            raise IndexFolderError(
                f"index '{self.folder}' was opened for reading; "
                "open it with writable=True to change it."
            )
        if connection is None:
            raise IndexFolderError(f"index '{self.folder}' is closed; open it again.")
        self._require_same_file()
        if self._owes_seal:
            self.settle()
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise

    @property
    def needs_settling(self) -> bool:
        """Tell whether the log has grown long."""
        try:
            return self._log_bytes() - self._kept_bytes > _SETTLE_BYTES
        except FileNotFoundError:
            return False

    def settle(self) -> None:
        """Copy the log into the database, seal it, and empty the log."""
        if self._writer is None:
            return
        self._require_same_file()
        before = Seal.read(self.folder)
        seal = before.after(self.folder)
        self._owes_seal = True
        self._writer.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        if seal != before:
            seal.write(self.folder)
        self._owes_seal = False
        # Whoever reads an older state keeps the log long, but makes nobody wait.
        self._writer.execute("PRAGMA busy_timeout = 0")
        try:
            self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            self._writer.execute(f"PRAGMA busy_timeout = {int(_WAIT_SECONDS * 1000)}")
        with suppress(FileNotFoundError):
            self._kept_bytes = self._log_bytes()

    def _log_bytes(self) -> int:
        return (self.folder / WAL).stat().st_size

    def vacuum(self) -> None:
        """Give back the space of what was removed."""
        if self._writer is None:
            return
        (pages,) = self._writer.execute("PRAGMA page_count").fetchone()
        (free,) = self._writer.execute("PRAGMA freelist_count").fetchone()
        if free * 4 > pages:
            try:
                self._writer.execute("VACUUM")
            except sqlite3.OperationalError as problem:
                _log.warning("no space was given back in '%s': %s", self.path, problem)

    def close(self) -> None:
        """Close every connection.

        The last one that may write lets SQLite copy the log and delete it: that is
        well when the log is settled, else the writer's must not be the last.
        """
        owes = self._owes_seal or not _is_empty(self.folder / WAL)
        self._close(writer_first=owes)

    def drop(self) -> None:
        """Close every connection in a forked child, whose parent has the log."""
        self._guard = threading.Lock()  # a thread that is not here may have it
        self._close(writer_first=True)

    def _close(self, *, writer_first: bool) -> None:
        with self._guard:
            readers = [*self._idle, self._reader]
            self._idle.clear()
        self._is_closed = True
        writers = [] if self._writer is None else [self._writer]
        self._writer = None
        order = [*writers, *readers] if writer_first else [*readers, *writers]
        for connection in order:
            connection.close()

    def _taken(self) -> Reader:
        if self._is_closed:
            raise IndexFolderError(f"index '{self.folder}' is closed; open it again.")
        self._require_same_file()
        while True:
            with self._guard:
                if not self._idle:
                    break
                reader = self._idle.pop()
            if self._is_current(reader):
                return reader
            reader.close()
        return self._connected_reader()

    def _is_current(self, reader: Reader) -> bool:
        """Tell whether a reader sees every commit, also one that is in the log."""
        if reader.still is None:
            return True
        return reader.still == _state(self.path) and _is_empty(self.folder / WAL)

    def _require_same_file(self) -> None:
        """Refuse a folder that was put in the place of the one that was opened."""
        try:
            found = _file_number(self.path)
        except FileNotFoundError:
            return  # what is open stays readable; whoever needs the files will tell
        if self._file is not None and found != self._file:
            raise self._replaced()

    def _require_same_index(self, connection: sqlite3.Connection) -> None:
        row = connection.execute("SELECT value FROM facts WHERE name = 'uid'")
        (uid,) = row.fetchone() or (None,)
        if self._uid is None:
            self._uid = uid
        elif uid != self._uid:
            raise self._replaced()
        self._require_same_file()

    def _replaced(self) -> IndexFolderError:
        return IndexFolderError(
            f"index '{self.folder}' was replaced while it was open. Open it again."
        )

    def _connected_reader(self) -> Reader:
        try:
            return self._connected("ro")
        except sqlite3.OperationalError as problem:
            code = problem.sqlite_errorcode & 0xFF
            if code not in _MAY_NOT_WRITE or not self.path.is_file():
                raise
        # SQLite wants to write beside the file even to read it. Where it may not,
        # and no log is there, the file itself says everything.
        still = _state(self.path)
        if _is_empty(self.folder / WAL):
            return self._connected("ro", still)
        return self._connected("ro")  # a writer has come, and made what is needed

    def _connected(self, mode: str, still: State | None = None) -> Reader:
        unlocked = "&immutable=1" if still is not None else ""
        connection = sqlite3.connect(
            f"file:{quote(os.fsencode(self.path.absolute()))}?mode={mode}{unlocked}",
            uri=True,
            timeout=_WAIT_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            factory=Reader,
        )
        connection.still = still
        try:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA cell_size_check = ON")
            require_own_schema(connection, self.folder)
            self._require_same_index(connection)
        except UnicodeDecodeError as problem:  # SQLite's own message, from the damage
            connection.close()
            raise DamagedIndex(
                f"'{self.path}' is damaged: a table's name is malformed. "
                "Run 'fdch index verify' to see what is wrong."
            ) from problem
        except BaseException:
            connection.close()
            raise
        return connection


def _is_empty(log: Path) -> bool:
    try:
        return log.stat().st_size == 0
    except FileNotFoundError:
        return True


def _state(path: Path) -> State:
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns


def _file_number(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino
