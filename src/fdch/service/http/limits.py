"""Limits: how much a request may hold, and how many come at a time and a minute."""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from fdch.data.pictures.decoding import PictureLimits
from fdch.errors import SettingError

# the API's own bounds, which its OpenAPI document states
MAX_RESULTS = 1000
MAX_RESULTS_IN_ALL = 20_000
MAX_TEXTS = 256
MAX_CHARACTERS = 2000
MAX_CONDITIONS = 16
MAX_CONDITION_CHARACTERS = 1000
MAX_RADIUS = 65_536
MAX_ID_CHARACTERS = 1024
MAX_ITEM_CHARACTERS = 100_000
MAX_LABELS = 256
MAX_COLUMNS = 256
MAX_NAME_CHARACTERS = 256
MIN_THUMBNAIL, MAX_THUMBNAIL = 16, 1024
DEFAULT_THUMBNAIL = 240
# the longest batch of texts, each character written as its number, and some more
MAX_JSON_BYTES = 4 * 2**20
_MAX_KEYS = 10_000
_ROUNDING = 1e-9


@dataclass(frozen=True)
class ServiceLimits:
    """What the one who runs a service may change.

    Args:
        body_bytes: The largest body of a request.
        picture_pixels: The largest picture that is decoded.
        held_bytes: Bodies that are held in memory at a time, all together.
        seconds: How long a request may take.
        body_seconds: How long the body of a request may take to arrive.
        head_seconds: How long the head of a request may take to arrive.
        read_seconds: How long a client may leave a reply without reading on.
        concurrent: Requests that are worked on or wait at a time.
        connections: Connections that are open at a time.
        head_bytes: The largest head of a request.
        rate: Requests a minute from one token or address; None for any number.
        thumbnail_bytes: Memory for thumbnails that were made before.
        stop_seconds: How long a stop waits for requests to finish.
    """

    body_bytes: int = 10 * 2**20
    picture_pixels: int = 50_000_000
    held_bytes: int = 256 * 2**20
    seconds: float = 30.0
    body_seconds: float = 20.0
    head_seconds: float = 10.0
    read_seconds: float = 15.0
    concurrent: int = 256
    connections: int = 1024
    head_bytes: int = 16 * 2**10
    rate: int | None = None
    thumbnail_bytes: int = 64 * 2**20
    stop_seconds: int = 30

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None and not value > 0:
                raise SettingError(f"the limit '{name}' must be positive; got {value}.")

    @property
    def pictures(self) -> PictureLimits:
        """The largest picture that may be uploaded."""
        return PictureLimits(self.body_bytes, self.picture_pixels, quick=True)


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
