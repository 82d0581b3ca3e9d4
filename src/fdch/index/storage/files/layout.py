"""Names, checksums and system calls of an index folder; see docs/index-folder.md."""

import errno
import hashlib
import os
import re
import sqlite3
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from fdch.errors import (
    DamagedIndex,
    FdchError,
    IndexBusy,
    IndexFolderError,
    MissingIndex,
)

FORMAT = 3
LOG = "items.log"
CATALOGUE = "catalogue.sqlite"
WAL = CATALOGUE + "-wal"
CHECK = "catalogue.check"
ACKNOWLEDGED = "acknowledged"
LOCK = "writer.lock"
CODES = "codes"
VECTORS = "vectors"
MODEL = "model"
PARTIAL = ".partial"
PICTURES = "pictures"
UPLOADED = re.compile(r"[0-9a-f]{32}\.[a-z]{3,4}")  # names of uploaded pictures
ASIDE = "damaged"
_RUN = "run.json"  # what a trained run has, which is no index
PART_FILE = re.compile(r"(\d{8})\.(rows|vectors|numbers|grouping|buckets)")

MAX_PART_ROWS = 2**24
CHUNK_BYTES = 4096
DIGEST_BYTES = 16

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
_UNREADABLE = {*_FORBIDDEN, errno.ENOENT, errno.EIO, errno.EISDIR, errno.ENOTDIR}
_TAKEN, _MOUNTED = {errno.EEXIST, errno.ENOTEMPTY}, {errno.EBUSY, errno.EXDEV}
_CHECK_DISK = "check that the folder is still there and the disk is sound"
_HINTS: dict[int, str] = {
    **dict.fromkeys(_FULL, "the disk is full; the last commit is kept. Free space"),
    **dict.fromkeys(_FORBIDDEN, "check the folder's permissions"),
    errno.ENAMETOOLONG: "the name is too long. Choose another path",
    errno.ENOTDIR: "a file is where a folder should be. Choose another path",
    **dict.fromkeys(
        _TAKEN, "it already exists. Choose another path, or remove it first"
    ),
    **dict.fromkeys(_MOUNTED, "a mount point is no index. Name a folder in it"),
}
_SQLITE_ERRNO = {
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_READONLY: errno.EACCES,
    sqlite3.SQLITE_CANTOPEN: errno.EACCES,
    sqlite3.SQLITE_PERM: errno.EACCES,
    sqlite3.SQLITE_IOERR: errno.EIO,
}
BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_SQLITE_FAULTS = {
    *BUSY,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_INTERRUPT,
}


def damaged(what: str) -> DamagedIndex:
    """Make the error of damage that a repair may mend."""
    return DamagedIndex(
        f"{what}. Run 'fdch index verify' to see what is wrong, 'fdch index repair' to "
        "repair it."
    )


def require_index(folder: Path) -> None:
    """Refuse a folder with nothing of an index in it, damaged or not; and links."""
    if any((folder / name).exists() for name in (LOG, CATALOGUE, CODES)):
        with translate_os_errors(folder):
            _require_plain(folder)
        return
    if (folder / _RUN).is_file():
        raise IndexFolderError(
            f"'{folder}' is a run, not an index. Create an index with 'fdch "
            f"index create INDEX --run {folder}'."
        )
    error, what = IndexFolderError, "is not an index"
    if not folder.exists():
        error, what = MissingIndex, "does not exist"
    elif not folder.is_dir():
        what = "is a file; an index is a folder"
    raise error(
        f"'{folder}' {what}. Create an index with 'fdch index create', "
        "or check the path."
    )


_FILES = (
    *(CATALOGUE + end for end in ("", "-wal", "-shm", "-journal", PARTIAL)),
    *(name + end for name in (LOG, CHECK, ACKNOWLEDGED) for end in ("", PARTIAL)),
    LOCK,
)
_FOLDERS = (CODES, VECTORS, ASIDE)


def _require_plain(folder: Path) -> None:
    """Refuse a link under a name of ours: writing would destroy what it leads to."""
    inside = [path for name in _FOLDERS for path in (folder / name).glob("*")]
    files = [*(folder / name for name in _FILES), *inside]
    folders = [folder / name for name in (*_FOLDERS, MODEL, PICTURES)]
    for path in [*files, *folders]:
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:
            continue
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise IndexFolderError(
                f"'{path}' is a link or device; an index contains only plain files and "
                "folders. Remove it if you trust the rest of the folder, or restore "
                "the index from a copy."
            )


def open_plainly(path: str, flags: int) -> int:
    """Open a file for `open`, but never through a link."""
    never = getattr(os, "O_NOFOLLOW", 0)  # Windows has none
    return os.open(path, flags | never, 0o666)


def digest(
    content: bytes | bytearray | memoryview, uid: bytes, kind: str, *place: int
) -> bytes:
    """Return the checksum of some bytes, bound to an index and a place in it."""
    salt = struct.pack("<QQ", *place, *[0] * (2 - len(place)))
    return hashlib.blake2b(
        content, digest_size=DIGEST_BYTES, key=uid, salt=salt, person=kind.encode()
    ).digest()


def is_check(content: bytes, uid: bytes) -> bool:
    """Return whether this is what catalogue.check holds, whatever the catalogue is."""
    known, check = content[:-DIGEST_BYTES], content[-DIGEST_BYTES:]
    return check == digest(known, uid, "check")


def file_number(path: Path) -> tuple[int, int]:
    """Return what differs between a file and another that takes its place."""
    found = path.stat()
    return found.st_dev, found.st_ino


def file_version(path: Path) -> tuple[int, ...]:
    """Return what changes when a file is written or replaced."""
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def hash_file(path: Path) -> tuple[int, bytes]:
    """Return the length and the checksum of a file."""
    with path.open("rb") as file:
        return hash_descriptor(file.fileno())


def hash_descriptor(handle: int) -> tuple[int, bytes]:
    """Return the length and the checksum of an open file."""
    checksum, size = hashlib.blake2b(digest_size=DIGEST_BYTES), 0
    while block := os.pread(handle, 2**20, size):
        checksum.update(block)
        size += len(block)
    return size, checksum.digest()


def is_own_name(folder: Path, path: Path) -> bool:
    """Return whether a file in an index has a name that files of an index have."""
    first = path.relative_to(folder).parts[0]
    is_known = first in (*_FILES, MODEL, PICTURES)
    return is_known or PART_FILE.fullmatch(path.name) is not None


def part_file(folder: Path, part: int, kind: str) -> Path:
    """Name the file of a part, such as codes/00000003.rows."""
    inside = VECTORS if kind == VECTORS else CODES
    return folder / inside / f"{part:08d}.{kind}"


def part_files(folder: Path) -> list[Path]:
    """List the files of all parts, and whatever lies beside them."""
    inside = [folder / name for name in (CODES, VECTORS)]
    return [path for each in inside if each.is_dir() for path in sorted(each.iterdir())]


def sync(handle: int, *, is_in_place: bool = False) -> None:
    """Make a file, or the names in a folder, survive a power cut.

    `is_in_place` says that only bytes were replaced that had been there before.
    """
    try:
        import fcntl

        # macOS flushes the drive's own cache on demand only
        fcntl.fcntl(handle, fcntl.F_FULLFSYNC)  # type: ignore[attr-defined,unused-ignore]
    except (ImportError, AttributeError, OSError):
        # there is no such call here, or not for this file system
        only_bytes = getattr(os, "fdatasync", os.fsync)  # macOS has none
        (only_bytes if is_in_place else os.fsync)(handle)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder, or the bytes of a file, survive a power cut."""
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


def write_all(handle: int, content: memoryview, offset: int) -> None:
    """Write all of some bytes at an offset."""
    while content:
        written = os.pwrite(handle, content[: 2**26], offset)
        content, offset = content[written:], offset + written


@contextmanager
def replace_durably(path: Path) -> Iterator[BinaryIO]:
    """Write a file whole or not at all, and for good when the block ends.

    `files.write_whole` is for files outside of indexes: it lets a library write under a
    name, follows links, lets several processes write at once and flushes no folder.
    """
    partial = path.with_name(path.name + PARTIAL)
    try:
        partial.unlink(missing_ok=True)
        with open(partial, "xb", opener=open_plainly) as file:
            yield file
            file.flush()
            sync(file.fileno())
        os.replace(partial, path)
        sync_folder(path.parent)
    except OSError:
        with suppress(OSError):
            partial.unlink()
        raise


def write_durably(path: Path, content: bytes) -> None:
    """Write bytes whole or not at all, and for good when this returns."""
    with replace_durably(path) as file:
        file.write(content)


@contextmanager
def translate_os_errors(folder: Path) -> Iterator[None]:
    """Turn errors of the system into errors that users can act on."""
    try:
        yield
    except FdchError:  # some are an OSError too
        raise
    except OSError as problem:
        if problem.errno == errno.ENOENT:
            raise DamagedIndex(
                f"index '{folder}' has lost '{problem.filename or folder}'. Restore it "
                "from a copy, or run 'fdch index repair'."
            ) from problem
        hint = _HINTS.get(problem.errno or 0, _CHECK_DISK)
        where = f" ('{problem.filename}')" if problem.filename else ""
        what = f"{problem.strerror or problem}{where}"
        raise IndexFolderError(f"index '{folder}': {what}; {hint}.") from problem
    except sqlite3.Error as problem:
        raise _from_sqlite(folder, problem) from problem


def _from_sqlite(folder: Path, problem: sqlite3.Error) -> IndexFolderError:
    code = sqlite_code(problem)
    if code in BUSY:
        return IndexBusy(
            f"index '{folder}' is in use by another process ({problem}). Try again."
        )
    if code in _SQLITE_ERRNO:
        hint = _HINTS.get(_SQLITE_ERRNO[code], _CHECK_DISK)
        return IndexFolderError(f"index '{folder}': {problem}; {hint}.")
    return damaged(f"index '{folder}': {CATALOGUE} is damaged ({problem})")


def sqlite_code(problem: BaseException) -> int:
    """Return SQLite's code of an error, 0 where there is none."""
    return int(getattr(problem, "sqlite_errorcode", 0)) & 0xFF


def is_damage(problem: BaseException) -> bool:
    """Return whether an error comes of damage, and not of a fault of the machine."""
    if isinstance(problem, OSError):
        return problem.errno in _UNREADABLE
    if isinstance(problem, sqlite3.Error):
        return sqlite_code(problem) not in _SQLITE_FAULTS
    return not isinstance(problem, ImportError | MemoryError)
