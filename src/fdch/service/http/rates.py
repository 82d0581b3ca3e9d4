"""How often one token or address may ask: a bucket of requests that refills."""

import time
from collections import OrderedDict
from collections.abc import Callable

_MAX_KEYS = 10_000
_ROUNDING = 1e-9


class RateLimit:
    """Allows so many requests a minute to each key.

    Args:
        per_minute: Requests a minute; as many may come at once.
        clock: Gives seconds.

    >>> limit = RateLimit(1, lambda: 0.0)
    >>> limit.wait("someone"), limit.wait("someone")
    (0.0, 60.0)
    """

    def __init__(
        self, per_minute: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.per_minute = per_minute
        self._most = float(per_minute)
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, key: str) -> float:
        """Take a request from a key's bucket; give the seconds to wait if empty."""
        now = self._clock()
        left, since = self._left.pop(key, (self._most, now))
        left = min(self._most, left + (now - since) * self._most / 60)
        allowed = left > 1 - _ROUNDING
        # the least recently seen are forgotten: they have refilled, or are too many
        self._left[key] = (max(0.0, left - 1) if allowed else left, now)
        if len(self._left) > _MAX_KEYS:
            self._left.popitem(last=False)
        return 0.0 if allowed else (1 - left) * 60 / self._most
