"""Results kept between runs: small values by key, such as features of a picture.

Losing the cache costs time, never a result: whatever is wrong with it, be it
damaged, read-only or full, is logged and the work continues without it.
"""

import hashlib
import logging
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from fdch.errors import RunError

_log = logging.getLogger(__name__)
_T = TypeVar("_T")

EXPORTS = "exports"
_FILE = "results.sqlite"
_WAIT_SECONDS = 30.0
_KEYS_PER_QUERY = 500
_CHECK_BYTES = 8
_TABLE = (
    "CREATE TABLE IF NOT EXISTS results (key BLOB PRIMARY KEY, value BLOB NOT NULL) "
    "WITHOUT ROWID"
)
_PUT = "INSERT OR REPLACE INTO results VALUES (?, ?)"


def default_folder() -> Path:
    """Return $FDCH_CACHE, else fdch in $XDG_CACHE_HOME, else ~/.cache/fdch."""
    if own := os.environ.get("FDCH_CACHE"):
        return Path(own)
    if shared := os.environ.get("XDG_CACHE_HOME"):
        return Path(shared) / "fdch"
    return Path.home() / ".cache" / "fdch"


def cache_files(folder: Path) -> list[Path]:
    """List the files of a cache folder that can be computed again."""
    patterns = (f"{_FILE}*", "pixels-*.npy*", f"{EXPORTS}/**/*")
    found = (path for pattern in patterns for path in folder.glob(pattern))
    return [path for path in found if path.is_file()]


def measure_cache(folder: Path) -> tuple[int, int]:
    """Count the files of a cache folder, and their bytes."""
    sizes = [path.stat().st_size for path in cache_files(folder)]
    return len(sizes), sum(sizes)


def clear_cache(folder: Path) -> tuple[int, int]:
    """Delete what can be computed again; return how many files and bytes."""
    if folder.is_file():
        raise RunError(
            f"the cache '{folder}' is a file; expected a folder. Check FDCH_CACHE."
        )
    measured = measure_cache(folder)
    try:
        for path in cache_files(folder):
            path.unlink(missing_ok=True)
        shutil.rmtree(folder / EXPORTS, ignore_errors=True)
    except OSError as problem:
        raise RunError(
            f"the cache '{folder}' cannot be cleared: {problem.strerror}. Check the "
            "folder's permissions."
        ) from problem
    return measured


class ResultCache:
    """Values by key in one SQLite file, shared by threads and processes.

    It is in the user's cache folder unless another is given. Nothing is written
    before the first `put_many`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cache = ResultCache(folder)
    ...     cache.put_many({b"key": b"value"})
    ...     cache.get_many([b"key", b"other"])
    {b'key': b'value'}
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = default_folder() if folder is None else Path(folder)
        self.path = self.folder / _FILE
        self._is_quiet = False

    def get_many(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """Return the values of those keys that have one, undamaged."""
        wanted = list(dict.fromkeys(keys))
        if not wanted or not self.path.exists():
            return {}

        def select(connection: sqlite3.Connection) -> dict[bytes, bytes]:
            found: dict[bytes, bytes] = {}
            for start in range(0, len(wanted), _KEYS_PER_QUERY):
                some = wanted[start : start + _KEYS_PER_QUERY]
                marks = ",".join("?" * len(some))
                query = f"SELECT key, value FROM results WHERE key IN ({marks})"
                found.update(connection.execute(query, some))
            return found

        return {
            key: value[_CHECK_BYTES:]
            for key, value in (self._try(select) or {}).items()
            if isinstance(value, bytes)
            and value[:_CHECK_BYTES] == _check(key, value[_CHECK_BYTES:])
        }

    def put_many(self, items: Mapping[bytes, bytes]) -> None:
        """Keep values, all or none of them; an earlier one is replaced."""
        if items:
            rows = [(key, _check(key, value) + value) for key, value in items.items()]
            self._try(lambda connection: connection.executemany(_PUT, rows))

    def _try(self, action: Callable[[sqlite3.Connection], _T]) -> _T | None:
        """Run an action in a transaction; delete a damaged file and try again."""
        for attempt in range(2):
            try:
                with closing(self._connect()) as connection, connection:
                    connection.execute(_TABLE)
                    return action(connection)
            except (sqlite3.OperationalError, OSError) as error:
                problem: Exception = error
                break
            except sqlite3.DatabaseError as error:
                problem = error
                if attempt == 0:
                    _log.warning("the cache '%s' is damaged (%s)", self.path, error)
                    for path in self.folder.glob(f"{_FILE}*"):  # its journal too
                        path.unlink(missing_ok=True)
        level = logging.DEBUG if self._is_quiet else logging.WARNING
        _log.log(level, "going on without the cache '%s': %s", self.path, problem)
        self._is_quiet = True
        return None

    def _connect(self) -> sqlite3.Connection:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return sqlite3.connect(self.path, timeout=_WAIT_SECONDS)


def _check(key: bytes, value: bytes) -> bytes:
    return hashlib.blake2b(value, digest_size=_CHECK_BYTES, key=key[:64]).digest()


class NothingKept(ResultCache):
    """Keeps nothing: for pictures that others must not find traces of."""

    def get_many(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """Return nothing."""
        return {}

    def put_many(self, items: Mapping[bytes, bytes]) -> None:
        """Keep nothing."""
