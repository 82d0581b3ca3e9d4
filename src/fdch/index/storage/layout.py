"""Names, limits, checksums and system calls of an index folder.

INDEX/items.log            the truth: everything added, changed, removed, in order
INDEX/codes/*.rows         the codes, appended; their checksums stand in the log
INDEX/codes/               .numbers, .grouping and .buckets beside them, by compaction
INDEX/catalogue.sqlite     derived from the log: ids, filter columns
INDEX/catalogue.check      checksum of catalogue.sqlite
INDEX/acknowledged         the last commits that were acknowledged
INDEX/model/               the run that encodes queries
INDEX/pictures/            uploaded pictures, each named by its checksum
INDEX/writer.lock          held by the one writer
INDEX/damaged/             what repairs replaced
"""

import errno
import hashlib
import os
import re
import sqlite3
import stat
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fdch.errors import DamagedIndex, IndexBusy, IndexFolderError

FORMAT = 2
LOG = "items.log"
CATALOGUE = "catalogue.sqlite"
WAL = CATALOGUE + "-wal"
CHECK = "catalogue.check"
ACKNOWLEDGED = "acknowledged"
LOCK = "writer.lock"
CODES = "codes"
MODEL = "model"
PARTIAL = ".partial"
PICTURES = "pictures"
UPLOADED = re.compile(r"[0-9a-f]{32}\.[a-z]{3,4}")  # names of uploaded pictures
ASIDE = "damaged"
_FIRST_FORMAT = "index.sqlite"  # what only an index of the first format has
_RUN = "run.json"  # what a trained run has, which is no index
PART_FILE = re.compile(r"(\d{8})\.(rows|numbers|grouping|buckets)")

MAX_PART_ROWS = 2**24
CHUNK_BYTES = 4096
DIGEST_BYTES = 16
REPAIR = (
    "Run 'fdch index verify' to see what is wrong, 'fdch index repair' to repair it."
)

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_NO_PATH = {
    errno.ENAMETOOLONG: "the name is too long for this file system",
    errno.ENOTDIR: "a file stands where a folder should be",
    errno.EEXIST: "a file stands where a folder should be",
}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
_UNREADABLE = {*_FORBIDDEN, errno.ENOENT, errno.EIO, errno.EISDIR, errno.ENOTDIR}
_FAULTS = {
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_INTERRUPT,
}
_HINTS = {
    sqlite3.SQLITE_FULL: "the disk is full; the last commit is kept. Free some space",
    sqlite3.SQLITE_READONLY: "it is read-only here. Check the folder's permissions",
    sqlite3.SQLITE_CANTOPEN: "a file is missing or may not be opened. Check the "
    "path and the folder's permissions",
    sqlite3.SQLITE_IOERR: "the disk or folder gave an error. Check that the folder "
    "is still there and the disk is sound",
    sqlite3.SQLITE_PERM: "it may not be opened. Check the folder's permissions",
}


def no_index(folder: Path) -> IndexFolderError:
    """Make the error of a folder that is not there, or is something else."""
    if (folder / _RUN).is_file():
        return IndexFolderError(
            f"'{folder}' is no index but a run. Create an index with 'fdch index "
            f"create INDEX --run {folder}'."
        )
    if folder.is_dir():
        what = "is no index"
    elif folder.exists():
        what = "is no index but a file, and an index is a folder"
    else:
        what = "is not there"
    return IndexFolderError(
        f"'{folder}' {what}. Create an index with 'fdch index create', "
        "or check the path."
    )


def is_index(folder: Path) -> bool:
    """Tell whether a folder holds an index, of any format."""
    return any((folder / name).exists() for name in (LOG, CATALOGUE, _FIRST_FORMAT))


def require_index(folder: Path) -> None:
    """Refuse a folder with nothing of an index in it, damaged or not."""
    if not (folder / LOG).exists() and (folder / _FIRST_FORMAT).exists():
        raise IndexFolderError(
            f"index '{folder}' has the first format, which was never released. Create "
            "it again with 'fdch index create'."
        )
    if not any((folder / name).exists() for name in (LOG, CATALOGUE, CODES)):
        raise no_index(folder)


_FILES = (
    *(CATALOGUE + end for end in ("", "-wal", "-shm", "-journal", PARTIAL)),
    *(name + end for name in (LOG, CHECK, ACKNOWLEDGED) for end in ("", PARTIAL)),
    LOCK,
)
_FOLDERS = (CODES, ASIDE)


def require_plain(folder: Path) -> None:
    """Refuse a folder in which a name of ours leads elsewhere, as a link does.

    Raises:
        IndexFolderError: Naming it. Writing there would destroy what it leads to.
    """
    for name in _FILES:
        _require_kind(folder / name, stat.S_ISREG, "file")
    for name in (*_FOLDERS, MODEL, PICTURES):
        _require_kind(folder / name, stat.S_ISDIR, "folder")
    for name in _FOLDERS:
        if (folder / name).is_dir():
            for path in (folder / name).iterdir():
                _require_kind(path, _leads_nowhere, "file")


def _leads_nowhere(mode: int) -> bool:
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def _require_kind(path: Path, is_right: Callable[[int], bool], kind: str) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not is_right(mode):
        what = "a link" if stat.S_ISLNK(mode) else "something else"
        raise IndexFolderError(
            f"'{path}' is no plain {kind} but {what}, which an index never has. Remove "
            "it if you trust the rest of the folder, or restore the index from a copy."
        )


def open_plainly(path: str, flags: int) -> int:
    """Open a file for `open`, but never through a link."""
    never = getattr(os, "O_NOFOLLOW", 0)  # Windows has none
    return os.open(path, flags | never, 0o666)


def digest(
    content: bytes | bytearray | memoryview, uid: bytes, kind: str, *place: int
) -> bytes:
    """Give the checksum of some bytes, bound to an index and a place in it."""
    salt = struct.pack("<QQ", *place, *[0] * (2 - len(place)))
    return hashlib.blake2b(
        content, digest_size=DIGEST_BYTES, key=uid, salt=salt, person=kind.encode()
    ).digest()


def file_number(path: Path) -> tuple[int, int]:
    """Return what tells a file from another that takes its place."""
    found = path.stat()
    return found.st_dev, found.st_ino


def file_version(path: Path) -> tuple[int, ...]:
    """Return what changes when a file is written or replaced."""
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def hash_file(path: Path) -> tuple[int, bytes]:
    """Return the length and the checksum of a file."""
    with path.open("rb") as file:
        content = hashlib.file_digest(
            file, lambda: hashlib.blake2b(digest_size=DIGEST_BYTES)
        )
        return os.fstat(file.fileno()).st_size, content.digest()


def part_file(folder: Path, part: int, kind: str) -> Path:
    """Name the file of a part, such as codes/00000003.rows."""
    return folder / CODES / f"{part:08d}.{kind}"


def free_path(path: Path) -> Path:
    """Give a path that nothing has yet: with a number behind it where it is taken."""
    free, count = path, 1
    while free.exists():
        count += 1
        free = path.with_name(f"{path.name}.{count}")
    return free


def sync(handle: int, *, is_in_place: bool = False) -> None:
    """Make what was written to a file survive a power cut.

    Args:
        handle: Of the file, or of a folder, for its names.
        is_in_place: Whether only bytes were replaced that had been there before.
    """
    if not _sync_fully(handle):
        only_bytes = getattr(os, "fdatasync", os.fsync)  # macOS has none
        (only_bytes if is_in_place else os.fsync)(handle)


def _sync_fully(handle: int) -> bool:
    """Flush the drive's own cache as well, which macOS does on demand only."""
    try:
        import fcntl

        fcntl.fcntl(handle, fcntl.F_FULLFSYNC)  # type: ignore[attr-defined,unused-ignore]
    except (ImportError, AttributeError, OSError):
        return False  # there is no such call here, or not for this file system
    return True


def sync_folder(folder: Path) -> None:
    """Make new and renamed files of a folder survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        sync(handle)
    finally:
        os.close(handle)


def make_folders(folder: Path) -> None:
    """Make a folder and those above it, such that they survive a power cut."""
    if not folder.is_dir():
        make_folders(folder.parent)
        folder.mkdir(exist_ok=True)
        sync_folder(folder.parent)


def write_durably(path: Path, content: bytes) -> None:
    """Write a file whole or not at all, and for good when this returns."""
    partial = path.with_name(path.name + PARTIAL)
    try:
        partial.unlink(missing_ok=True)
        with open(partial, "xb", opener=open_plainly) as file:
            file.write(content)
            file.flush()
            sync(file.fileno())
        os.replace(partial, path)
        sync_folder(path.parent)
    except OSError:
        with suppress(OSError):
            partial.unlink()
        raise


@contextmanager
def translate_os_errors(folder: Path) -> Iterator[None]:
    """Turn errors of the system into errors that users can act on."""
    try:
        yield
    except OSError as problem:
        raise _from_system(folder, problem) from problem
    except sqlite3.Error as problem:
        raise _from_sqlite(folder, problem) from problem


def is_damage(problem: BaseException) -> bool:
    """Tell damage, which may show in any way, from a fault of the machine."""
    if isinstance(problem, OSError):
        return problem.errno in _UNREADABLE
    if isinstance(problem, sqlite3.Error):
        code = getattr(problem, "sqlite_errorcode", 0) & 0xFF
        return code not in _FAULTS
    return not isinstance(problem, ImportError | MemoryError)


def _from_system(folder: Path, problem: OSError) -> IndexFolderError:
    if problem.errno in _FULL:
        return IndexFolderError(
            f"index '{folder}' could not be written: the disk is full "
            f"({problem.strerror}); the last commit is kept. Free some space."
        )
    if problem.errno in _FORBIDDEN:
        return IndexFolderError(
            f"index '{folder}': {problem.strerror} ('{problem.filename}'). "
            "Check the folder's permissions."
        )
    if problem.errno in _NO_PATH:
        return IndexFolderError(
            f"'{folder}' cannot be an index: {_NO_PATH[problem.errno]}. Choose another "
            "path."
        )
    if problem.errno == errno.ENOENT:
        return DamagedIndex(
            f"index '{folder}' has lost '{problem.filename or folder}'. Restore it "
            "from a copy, or run 'fdch index repair'."
        )
    return IndexFolderError(
        f"index '{folder}': {problem}. Check that the folder is still there and "
        "the disk is sound."
    )


def _from_sqlite(folder: Path, problem: sqlite3.Error) -> IndexFolderError:
    code = getattr(problem, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return IndexBusy(
            f"index '{folder}' is in use by another process ({problem}). Try again."
        )
    if code in _HINTS:
        return IndexFolderError(f"index '{folder}': {_HINTS[code]} ({problem}).")
    return DamagedIndex(
        f"index '{folder}': {CATALOGUE} is damaged ({problem}). "
        "Run 'fdch index verify' to see what is wrong."
    )
