"""The catalogue: a SQLite file derived from the log, for ids and filters.

It can be deleted: the next opening rebuilds it. SQLite checks the shape of its
pages, not what they say, so catalogue.check has a checksum of the whole file. The file
itself changes only at a checkpoint; between two of them commits go into SQLite's
write-ahead log, whose frames have checksums of their own.
"""

import logging
import os
import sqlite3
import weakref
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from urllib.parse import quote

from fdch.errors import DamagedIndex, IndexBusy, IndexFolderError
from fdch.index.storage.catalogue.tables import SCHEMA, State
from fdch.index.storage.files.layout import (
    BUSY,
    CATALOGUE,
    CHECK,
    DIGEST_BYTES,
    WAL,
    damaged,
    digest,
    file_number,
    file_version,
    hash_descriptor,
    is_check,
    sqlite_code,
    sync_folder,
    write_durably,
)
from fdch.index.storage.files.locking import (
    drop_inherited,
    held_open,
    hold_open,
    let_go,
    note_open,
)

_log = logging.getLogger(__name__)

_CHECKPOINT_BYTES = 2**25
_CACHE_BYTES = 2**26
_CHECKPOINTS = 3  # that a writer may make while the state is read
_WAIT_SECONDS = 20.0
_APPLICATION = 0x66646368  # "fdch"
_ALL_TABLES = "SELECT sql FROM sqlite_schema"
_MAY_NOT_WRITE = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}


@contextmanager
def create_catalogue(path: Path | str) -> Iterator[sqlite3.Connection]:
    """Make an empty catalogue that nobody else sees yet, to be filled.

    It is made without any care for a power cut: who makes it flushes it at the end.
    Without a name it is a temporary file.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = MEMORY")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute(f"PRAGMA cache_size = {-_CACHE_BYTES // 1024}")
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        connection.execute("BEGIN")
        for table in SCHEMA:
            connection.execute(table)
        yield connection
        connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode = WAL")


def write_check(folder: Path, uid: bytes) -> None:
    """Put the checksum of the catalogue's file on record."""
    content = _file_check(folder / CATALOGUE)
    write_durably(folder / CHECK, content + digest(content, uid, "check"))


def check_problem(folder: Path, uid: bytes) -> str | None:
    """Say what is wrong with the catalogue's file, or with its checksum."""
    content = _read_check(folder)
    if content is None:
        return "its checksum is missing"
    if not is_check(content, uid):
        return "its checksum is damaged"
    is_same = content[:-DIGEST_BYTES] == _file_check(folder / CATALOGUE)
    return None if is_same else "its checksum does not match"


def is_log_of_file(connection: sqlite3.Connection, folder: Path) -> bool:
    """Return whether SQLite's log, if there is one, continues the catalogue's file.

    SQLite would apply pages of an older log to any file. So commits carry a note of
    the file's checksum, and checkpoints clear it.
    """
    (note,) = connection.execute("PRAGMA user_version").fetchone()
    known = _check_note(folder)
    return 0 in (note, known) or note == known  # no checksum: it is rebuilt


def _check_note(folder: Path) -> int:
    """Return 31 bits of the file's checksum, 0 where there is none."""
    return int.from_bytes((_read_check(folder) or b"")[-4:], "little") >> 1


def _read_check(folder: Path) -> bytes | None:
    with suppress(FileNotFoundError):
        return (folder / CHECK).read_bytes()
    return None


def _file_check(path: Path) -> bytes:
    with held_open(path) as handle:
        size, content = hash_descriptor(handle)
    return size.to_bytes(8, "little") + content


def read_state(folder: Path) -> tuple[State | None, bool]:
    """Read up to where the catalogue follows the log, if it can say so.

    Says also whether SQLite's log continues the file; if not, only the state is proven.
    It seems not to where a writer makes a checkpoint meanwhile: then it is read again.
    """
    try:
        for _ in range(_CHECKPOINTS):
            with (
                closing(Catalogue(folder, writable=False)) as catalogue,
                catalogue.reading() as connection,
            ):
                state = State.read(connection, folder)
                if is_log_of_file(connection, folder):
                    return state, True
        return state, False
    except (sqlite3.DatabaseError, DamagedIndex) as problem:
        code = sqlite_code(problem)
        is_there = (folder / CATALOGUE).exists()
        if code in BUSY or (is_there and code == sqlite3.SQLITE_CANTOPEN):
            raise
        return None, False


class Reader(sqlite3.Connection):
    """A connection; `still` is how the file was, where SQLite cannot lock it."""

    still: tuple[int, ...] | None = None


class Catalogue:
    """Connections to the catalogue of a folder: many to read, one to write.

    Who opens it writable has the writer's lock.
    """

    def __init__(self, folder: Path, *, writable: bool) -> None:
        self.folder, self.path = folder, folder / CATALOGUE
        drop_inherited()
        self._idle: list[Reader] = []  # any thread takes from its end, or adds there
        self._kept_bytes = 0  # of the write-ahead log, that the last checkpoint left
        self._is_closed = self._is_checked = False
        self._file: tuple[int, int] | None = None
        self._uid: object = None
        # stays open, so that no other file can get the number of this one
        self._reader = self._connect_reader()
        self._writer = self._connect("rw") if writable else None
        if self._writer:
            # items.log is flushed, and has all that a power cut could take from here
            self._writer.execute("PRAGMA synchronous = NORMAL")
            self._writer.execute("PRAGMA wal_autocheckpoint = 0")
            self._writer.execute(f"PRAGMA cache_size = {-_CACHE_BYTES // 1024}")
        self._file, _ = hold_open(self.path)
        self._let_go = weakref.finalize(self, let_go, self._file)
        note_open(self)

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        """Yield a connection inside one read transaction."""
        reader = self._take_reader()
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
        self._idle.append(reader)

    def require_unmoved(self, reader: Reader) -> None:
        """Refuse what was read, without a lock, of a file that was written since."""
        if reader.still is not None and reader.still != file_version(self.path):
            raise IndexBusy(
                f"index '{self.folder}' was written while this process read it, which "
                "may not lock it (the folder is read-only here). Try again."
            )

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Yield the writer's connection inside a transaction; commit at the end."""
        self._require_open()
        self.require_same_file()
        connection = self._writer
        if connection is None:
            raise IndexFolderError(
                f"index '{self.folder}' was opened for reading; "
                "open it with writable=True to change it."
            )
        connection.execute("BEGIN IMMEDIATE")
        try:
            note, known = _check_note(self.folder), "PRAGMA user_version"
            if connection.execute(known).fetchone() != (note,):
                connection.execute(f"{known} = {note}")
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise

    @property
    def needs_checkpoint(self) -> bool:
        """Return whether the write-ahead log has grown long, as seen by the file."""
        grown = _size(self.folder / WAL) - self._kept_bytes
        return grown > max(_CHECKPOINT_BYTES, _size(self.path) // 4)

    def checkpoint(self, uid: bytes) -> None:
        """Copy the write-ahead log into the file, and put its checksum on record."""
        if self._writer is None:
            return
        self.require_same_file()
        if _size(self.folder / WAL):
            self._require_checked(uid)
            (self.folder / CHECK).unlink(missing_ok=True)
            sync_folder(self.folder)
            self._writer.execute("PRAGMA user_version = 0")
            # Whoever reads an older state keeps the log long, but makes nobody wait.
            self._writer.execute("PRAGMA busy_timeout = 0")
            try:
                self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            finally:
                wait = int(_WAIT_SECONDS * 1000)
                self._writer.execute(f"PRAGMA busy_timeout = {wait}")
        if not (self.folder / CHECK).exists():
            write_check(self.folder, uid)
        self._is_checked = True
        self._kept_bytes = _size(self.folder / WAL)

    def _require_checked(self, uid: bytes) -> None:
        """Write no checksum over damage that was there before this process came."""
        if self._is_checked or not (self.folder / CHECK).exists():
            return
        if (wrong := check_problem(self.folder, uid)) is not None:
            raise damaged(f"'{self.path}': {wrong}")

    def vacuum(self) -> None:
        """Free the space of what was removed."""
        if self._writer is None:
            return
        (pages,) = self._writer.execute("PRAGMA page_count").fetchone()
        (free,) = self._writer.execute("PRAGMA freelist_count").fetchone()
        if free * 4 > pages:
            try:
                self._writer.execute("VACUUM")
            except sqlite3.OperationalError as problem:
                _log.warning("no space was given back in '%s': %s", self.path, problem)

    def close(self, *, is_inherited: bool = False) -> None:
        """Close every connection.

        The last one that may write lets SQLite copy its log into the file, whose
        checksum would then be wrong: so the writer's is the last only if there is
        nothing to copy. In a forked child, `is_inherited`, it is the parent's log.
        """
        writer_first = is_inherited or _size(self.folder / WAL) > 0
        self._is_closed = True
        order = [self._reader]
        with suppress(IndexError):
            while True:  # one by one: no other thread gets what is closed here
                order.append(self._idle.pop())
        if self._writer is not None:
            order.insert(0 if writer_first else len(order), self._writer)
            self._writer = None
        for connection in order:
            connection.close()
        self._let_go()

    def _take_reader(self) -> Reader:
        self._require_open()
        while True:
            try:
                reader = self._idle.pop()
            except IndexError:
                return self._connect_reader()
            # one without locks does not see what is in the write-ahead log
            if reader.still is None or (
                reader.still == file_version(self.path) and not _size(self.folder / WAL)
            ):
                return reader
            reader.close()

    def _require_open(self) -> None:
        if self._is_closed:
            raise IndexFolderError(f"index '{self.folder}' is closed; open it again.")

    def is_replaced(self) -> bool:
        """Return whether another file stands where this one was opened."""
        try:
            return self._file not in (None, file_number(self.path))
        except FileNotFoundError:
            return False  # what is open stays readable

    def require_same_file(self) -> None:
        """Refuse to go on if the folder was replaced while it was open."""
        if self.is_replaced():
            raise self._replacement_error()

    def _replacement_error(self) -> IndexFolderError:
        return IndexFolderError(
            f"index '{self.folder}' was replaced while it was open. Open it again."
        )

    def _connect_reader(self) -> Reader:
        try:
            return self._connect("ro")
        except sqlite3.OperationalError as problem:
            if sqlite_code(problem) not in _MAY_NOT_WRITE or not self.path.is_file():
                raise
        # SQLite wants to write beside the file even to read it. Where it may not,
        # and no log is there, the file itself says everything.
        still = file_version(self.path)
        if not _size(self.folder / WAL):
            return self._connect("ro", still)
        return self._connect("ro")  # a writer has come, and made what is needed

    def _connect(self, mode: str, still: tuple[int, ...] | None = None) -> Reader:
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
            self._require_own(connection)
        except BaseException as problem:
            connection.close()
            if isinstance(problem, UnicodeDecodeError):  # a name that SQLite quotes
                raise self._not_ours() from problem
            raise
        return connection

    def _require_own(self, connection: sqlite3.Connection) -> None:
        """Trust no trigger, view or table that this program did not make."""
        found = [str(sql) for (sql,) in connection.execute(_ALL_TABLES) if sql]
        if sorted(found) != _own_schema():
            raise self._not_ours()
        (uid,) = connection.execute("SELECT uid FROM state").fetchone() or (None,)
        if self._uid is None:
            self._uid = uid
        elif uid != self._uid:
            raise self._replacement_error()
        self.require_same_file()

    def _not_ours(self) -> DamagedIndex:
        return damaged(f"'{self.path}' is damaged, or not the catalogue of an index")


@cache
def _own_schema() -> list[str]:
    """Return the tables as SQLite notes them, with those that FTS5 makes for itself."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for table in SCHEMA:
            connection.execute(table)
        return sorted(str(sql) for (sql,) in connection.execute(_ALL_TABLES) if sql)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
