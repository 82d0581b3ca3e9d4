"""One writer at a time: a lock that the system lets go when its holder dies."""

import json
import os
import socket
import time
import weakref
from pathlib import Path

from fdch.errors import IndexBusy, IndexFolderError
from fdch.index.storage.layout import LOCK, digest, open_plainly

_MAX_BYTES = 1024
_KEY = b"writer"
_TRIES = 5
_PAUSE_SECONDS = 0.01


class WriterLock:
    """Holds the writer's lock of a folder until `release`."""

    def __init__(self, folder: Path) -> None:
        self._owner = os.getpid()
        self._handle = _opened(folder / LOCK)
        try:
            _require_free(self._handle, folder)
            if os.access(folder / LOCK, os.W_OK):
                os.ftruncate(self._handle, 0)
                os.pwrite(self._handle, _owner(), 0)
        except BaseException:
            os.close(self._handle)
            raise
        _held.add(self)

    def release(self) -> None:
        """Let the next writer in."""
        if self._handle < 0:
            return
        try:
            if os.getpid() == self._owner:  # a forked child has it by inheritance
                _let_go(self._handle)
        except OSError:
            pass  # a read-only folder was only locked for looking
        finally:
            os.close(self._handle)
            self._handle = -1


_held: weakref.WeakSet[WriterLock] = weakref.WeakSet()


def _disinherit() -> None:
    """Let go in a forked child, so that the lock dies with the parent alone."""
    for lock in _held:
        lock.release()
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_disinherit)


def is_locked(folder: Path) -> bool:
    """Tell whether a writer is at work, without getting in the way of one."""
    import fcntl

    try:
        handle = open_plainly(str(folder / LOCK), os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False


def lock_problem(folder: Path) -> str | None:
    """Say what is wrong with the words in a lock file, if anything is."""
    try:
        content = (folder / LOCK).read_bytes()
    except FileNotFoundError:
        return None
    return None if not content or _read_owner(content) else "it is malformed"


def _opened(path: Path) -> int:
    try:
        return open_plainly(str(path), os.O_RDWR | os.O_CREAT)
    except PermissionError:
        return open_plainly(str(path), os.O_RDONLY)
    except OSError:
        if path.exists():
            return open_plainly(str(path), os.O_RDONLY)
        raise


def _require_free(handle: int, folder: Path) -> None:
    try:
        import fcntl
    except ImportError as problem:  # Windows
        raise IndexFolderError(
            "writing to an index needs a system with file locks (Linux, macOS)."
        ) from problem
    for left in reversed(range(_TRIES)):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError as problem:
            if left:  # perhaps someone only looks whether there is a writer
                time.sleep(_PAUSE_SECONDS)
                continue
            raise _busy(handle, folder) from problem


def _busy(handle: int, folder: Path) -> IndexBusy:
    owner = _read_owner(os.pread(handle, _MAX_BYTES, 0)) or "another process"
    return IndexBusy(
        f"index '{folder}' is being written by {owner}. "
        "Wait until it has finished, or stop it."
    )


def _let_go(handle: int) -> None:
    """Unlock the file itself, which a forked child may have open still."""
    import fcntl

    try:
        os.ftruncate(handle, 0)
    finally:
        fcntl.flock(handle, fcntl.LOCK_UN)


def _owner() -> bytes:
    line = json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode()
    return line + b"\n" + digest(line, _KEY, "lock").hex().encode() + b"\n"


def _read_owner(content: bytes) -> str | None:
    line, _, check = content.partition(b"\n")
    if check != digest(line, _KEY, "lock").hex().encode() + b"\n":
        return None
    owner = json.loads(line)
    return f"process {owner['pid']} on {owner['host']}"
