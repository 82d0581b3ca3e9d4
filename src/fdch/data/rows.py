"""Rows chosen, hashed and worked on in threads, alike for all row containers."""

import hashlib
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from fdch.errors import DataError, FdchError, MissingFile, MissingRow, count_noun
from fdch.machine import usable_cores

# of one file
MAX_ROWS = 10_000_000
MAX_LABELS = 100_000
# quick rows that one thread works on before it lets another continue
TOGETHER = 8
HASH_BYTES = 16
_T = TypeVar("_T")
_MAX_THREADS = 32


class Rows(ABC):
    """One side of a number of pairs, in rows."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __getitem__(self, rows: Any) -> Self: ...

    def __repr__(self) -> str:
        return f"{type(self).__name__}({count_noun(len(self), 'row')})"

    @abstractmethod
    def add_to(self, digest: "Digest") -> None:
        """Add what distinguishes these rows from others to a fingerprint."""

    @property
    def present(self) -> NDArray[np.bool_]:
        """Return for each row whether it has a value: all do unless some lack it."""
        return np.ones(len(self), dtype=np.bool_)


def choose(rows: Any, count: int) -> NDArray[np.intp]:
    """Turn an index, a slice, an index array or a mask into row numbers.

    >>> choose(slice(1, None), 3).tolist(), choose(-1, 3).tolist()
    ([1, 2], [2])
    """
    if isinstance(rows, slice):
        return np.arange(count, dtype=np.intp)[rows]
    wanted = np.atleast_1d(np.asarray(rows))
    if wanted.dtype == np.bool_:
        if wanted.shape != (count,):
            raise DataError(f"a mask of {len(wanted)} was given for {count} rows.")
        return np.flatnonzero(wanted)
    if wanted.size == 0:
        return np.empty(0, dtype=np.intp)
    if wanted.ndim != 1 or wanted.dtype.kind not in "iu":
        if wanted.ndim == 1 and wanted.dtype.kind in "UO":
            raise DataError(
                f"rows are chosen by whole numbers or a mask; got '{wanted[0]}'. "
                "np.isin(pairs.ids, ids) is the mask of ids."
            )
        raise DataError(f"rows are chosen by whole numbers; got {wanted.dtype}.")
    low, high = int(wanted.min()), int(wanted.max())
    if low < -count or high >= count:
        wrong = low if low < -count else high
        raise MissingRow(f"row {wrong} does not exist; there are {count} rows.")
    return np.where(wanted < 0, wanted + count, wanted).astype(np.intp)


def objects(values: Sequence[Any] | NDArray[np.object_]) -> NDArray[np.object_]:
    """Put values into an array as they are: texts, paths, numbers or None.

    >>> objects(["a", None]).tolist()
    ['a', None]
    """
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def find_present(values: NDArray[np.object_]) -> NDArray[np.bool_]:
    """Return which values are not None."""
    return np.array([value is not None for value in values], dtype=np.bool_)


def shorten(text: str, most: int = 80) -> str:
    """Shorten a text that is too long for a message.

    >>> shorten("a long name", 6)
    'a long...'
    """
    return text if len(text) <= most else f"{text[:most]}..."


def list_names(names: Sequence[Any] | NDArray[np.object_], most: int = 5) -> str:
    """List some names for a message, and count the others.

    >>> list_names(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    listed = ", ".join(f"'{str(name)[:80]}'" for name in names[:most])
    more = len(names) - most
    return f"{listed} and {more} more" if more > 0 else listed


def unreadable(path: Path, error: OSError) -> DataError:
    """Make the error of a file that could not be opened or read."""
    if isinstance(error, FileNotFoundError):
        return MissingFile(f"there is no file '{path}'; check the path.")
    if isinstance(error, IsADirectoryError):
        return DataError(f"'{path}' cannot be read: it is a folder; name a file in it.")
    reason = error.strerror or error
    return DataError(f"'{path}' cannot be read: {reason}. Check its permissions.")


@contextmanager
def reading(path: Path, kind: str, advice: str) -> Iterator[None]:
    """Name the file in errors about its content; make one of whatever else is raised.

    Libraries fail in any way over damaged files.
    """
    try:
        yield
    except DataError as error:
        raise type(error)(f"'{path}': {error}") from error.__cause__
    except FdchError:
        raise
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise unreadable(path, error) from error
    except MemoryError:
        raise DataError(
            f"'{path}' does not fit into memory. Give fewer rows or columns."
        ) from None
    except Exception as error:
        raise DataError(
            f"'{path}' is not a valid {kind}: {shorten(str(error), 300)}. {advice}"
        ) from error


class Digest:
    """A hash of parts in their order; each part counts with its length.

    >>> Digest(b"ab", b"c").hex() == Digest(b"a", b"bc").hex()
    False
    """

    def __init__(self, *parts: bytes) -> None:
        self._hash = hashlib.blake2b(digest_size=HASH_BYTES)
        for part in parts:
            self.add(part)

    def add(self, part: bytes | memoryview) -> None:
        """Take in one more part."""
        size = part.nbytes if isinstance(part, memoryview) else len(part)
        self._hash.update(size.to_bytes(8, "little"))
        self._hash.update(part)

    def add_text(self, text: str | None) -> None:
        """Take in a text; none at all differs from an empty one."""
        # surrogatepass: an unpaired surrogate is no reason to fail here
        raw = b"-" if text is None else b"+" + text.encode("utf-8", "surrogatepass")
        self.add(raw)

    def add_array(self, values: NDArray[Any]) -> None:
        """Take in the shape, kind and numbers of an array, little-endian."""
        plain = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
        self.add(f"{plain.dtype.str}{plain.shape}".encode())
        self.add(plain.reshape(-1).view(np.uint8).data)

    def bytes(self) -> "bytes":
        """Return the 16 bytes of the hash."""
        return self._hash.digest()

    def hex(self) -> str:
        """Return the hash as 32 hexadecimal digits."""
        return self._hash.hexdigest()


def count_threads() -> int:
    """Count the threads that rows are shared by: one for each core, within reason."""
    return min(_MAX_THREADS, usable_cores())


def in_threads(
    work: Callable[[int], _T],
    count: int,
    workers: int | None = None,
    together: int = 1,
    ahead: int = 4,
) -> Generator[_T]:
    """Yield work(0), work(1), ... in order, computed a little ahead in threads.

    An error is raised in place of the rows computed together with its row; work not
    begun is dropped. Where a row takes less than a millisecond, several together
    save most of what passing results between threads costs.
    """
    threads = workers or count_threads()
    waiting: deque[Future[list[_T]]] = deque()

    def work_on(start: int) -> list[_T]:
        return [work(row) for row in range(start, min(start + together, count))]

    pool = ThreadPoolExecutor(threads, thread_name_prefix="fdch-rows")
    try:
        for start in range(0, count, together):
            waiting.append(pool.submit(work_on, start))
            if len(waiting) > ahead * threads:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
