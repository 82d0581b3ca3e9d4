"""One writer at a time, by a lock of the system; no child of a fork shares in it.

Closing what a child inherits of SQLite could copy the parent's log into the file, or
wait for a thread that the child does not have. So not even the end of the child closes
it. Only where the child opens an index itself it must go: SQLite keeps one list of
files and locks for a process, would take the parent's locks for its own, and would
miss what is committed once the parent has let go of them.
"""

import ctypes
import os
import socket
import threading
import weakref
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from fdch.errors import IndexBusy, IndexFolderError
from fdch.index.storage.files.layout import LOCK, file_number, open_plainly

_MAX_BYTES = 1024


class WriterLock:
    """Holds the writer's lock of a folder until `release`."""

    def __init__(self, folder: Path) -> None:
        self._owner = os.getpid()
        self._handle = _open_lock(folder / LOCK)
        try:
            _require_free(self._handle, folder)
            first = os.pread(self._handle, 1, 0)
            # not where it may not be written, or is another file under this name
            self._is_named = os.access(folder / LOCK, os.W_OK) and (
                not first or first.isdigit()
            )
            if self._is_named:
                os.ftruncate(self._handle, 0)
                owner = f"{os.getpid()} {socket.gethostname()}\n"
                os.pwrite(self._handle, owner.encode(), 0)
        except BaseException:
            os.close(self._handle)
            raise
        _held.add(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        """Let the next writer in."""
        if self._handle < 0:
            return
        if os.getpid() == self._owner:  # a forked child has it by inheritance
            if self._is_named:
                os.ftruncate(self._handle, 0)
            # unlocked and not only closed: a forked child may have it open still
            fcntl = load_locks()
            fcntl.flock(self._handle, fcntl.LOCK_UN)
        os.close(self._handle)
        self._handle = -1


_held: weakref.WeakSet[WriterLock] = weakref.WeakSet()
_open: weakref.WeakSet[Any] = weakref.WeakSet()
_inherited: list[Any] = []


def note_open(opened: Any) -> None:
    """Remember what a child must leave alone until it opens an index itself."""
    _open.add(opened)


def drop_inherited() -> None:
    """Close what this process inherited, before it opens something of its own."""
    while _inherited:
        _inherited.pop().close(is_inherited=True)


def _disinherit() -> None:
    for lock in _held:
        lock.release()  # so that it dies with the parent alone
    for opened in _open:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(opened))  # it is never freed
        _inherited.append(opened)
    _held.clear()
    _open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_disinherit)


def _open_lock(path: Path) -> int:
    try:
        return open_plainly(str(path), os.O_RDWR | os.O_CREAT)
    except OSError:
        if path.exists():  # and may not be written
            return open_plainly(str(path), os.O_RDONLY)
        raise


def load_locks() -> Any:
    """Import the locks of the system."""
    try:
        import fcntl
    except ImportError as problem:  # Windows
        raise IndexFolderError(
            "writing to an index needs a system with file locks (Linux, macOS)."
        ) from problem
    return fcntl


def _require_free(handle: int, folder: Path) -> None:
    fcntl = load_locks()
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as problem:
        owner = _owner(os.pread(handle, _MAX_BYTES, 0))
        raise IndexBusy(
            f"index '{folder}' is being written by {owner}. "
            "Wait until it has finished, or stop it. If it is 'fdch serve', send "
            "it the changes instead: PUT or DELETE /v1/items/ID."
        ) from problem


def _owner(content: bytes) -> str:
    """Read who holds the lock, which a kill may have left half-written."""
    try:
        pid, host = content.decode().split()
    except ValueError:
        return "another process"
    return f"process {pid} on {host}"


_descriptors: dict[tuple[int, int], int] = {}
_users: Counter[tuple[int, int]] = Counter()
_holding = threading.RLock()  # a collected catalogue may let go at any moment


def hold_open(path: Path) -> tuple[tuple[int, int], int]:
    """Keep a file open until `let_go`; return its number and a descriptor.

    Closing any descriptor of a file ends all locks that the process has on it, those
    of SQLite too. A writer elsewhere would then take itself for the only user, and
    delete the log of what is open here. So one descriptor stays open for all users.
    """
    with _holding:
        number = file_number(path)
        _users[number] += 1  # first, so that nobody closes it meanwhile
        try:
            if number not in _descriptors:
                _descriptors[number] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            _users[number] -= 1
            raise
        return number, _descriptors[number]


def let_go(number: tuple[int, int]) -> None:
    """Close a file that `hold_open` keeps, if this was its last user."""
    with _holding:
        _users[number] -= 1
        if not _users[number]:
            del _users[number]
            os.close(_descriptors.pop(number))


@contextmanager
def held_open(path: Path) -> Iterator[int]:
    """Yield a descriptor of a file that SQLite may have open in this process."""
    number, handle = hold_open(path)
    try:
        yield handle
    finally:
        let_go(number)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_holding.acquire,
        after_in_parent=_holding.release,
        after_in_child=_holding.release,
    )
