"""What was computed of one commit, kept until the next."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

MAX_BYTES = 512 * 2**20
_ENTRY_BYTES = 2**12  # of what is kept besides arrays
T = TypeVar("T")


class Cache:
    """The latest results, limited in bytes. Threads may share one."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._guard = threading.Lock()
        self._known: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what is kept under a key; make and keep it where there is nothing.

        The latest result is kept whatever its size.
        """
        with self._guard:
            if key in self._known:
                self._known.move_to_end(key)
                known: T = self._known[key][0]
                return known
        made = make()
        taken = getattr(made, "nbytes", 0) + _ENTRY_BYTES
        with self._guard:
            if key not in self._known:
                self._known[key] = (made, taken)
                self._bytes += taken
            while self._bytes > self._max_bytes and len(self._known) > 1:
                self._bytes -= self._known.popitem(last=False)[1][1]
        return made

    def __len__(self) -> int:
        return len(self._known)
