"""Limits on the size, concurrency and rate of requests."""

import ipaddress
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from fdch.data.pictures.decoding import PictureLimits
from fdch.errors import SettingError

# the API's own bounds, which its OpenAPI document states
MAX_RESULTS = 1000
MAX_RESULTS_IN_ALL = 20_000
MAX_TEXTS = 256
MAX_CHARACTERS = 2000
MAX_CONDITIONS = 16
MAX_CONDITION = 1000
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
    """Limits that an operator may change; seconds are timeouts."""

    body_bytes: int = 10 * 2**20
    picture_pixels: int = 50_000_000
    held_bytes: int = 256 * 2**20  # of bodies in memory, all together
    seconds: float = 30.0  # for a request
    body_seconds: float = 20.0
    head_seconds: float = 10.0
    read_seconds: float = 15.0  # for a client that does not read on
    concurrent: int = 256  # requests
    connections: int = 1024
    address_connections: int = 128  # and requests at a time, of one address
    head_bytes: int = 16 * 2**10
    rate: int | None = None  # requests a minute from one token or address
    upload_quota: int | None = None  # bytes of all uploaded pictures of an index
    stop_seconds: int = 30  # for requests to finish

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None and not value > 0:
                raise SettingError(f"the limit '{name}' must be positive; got {value}.")

    @property
    def pictures(self) -> PictureLimits:
        """The largest picture that may be uploaded."""
        return PictureLimits(self.body_bytes, self.picture_pixels, quick=True)


@lru_cache(maxsize=_MAX_KEYS)
def network_of(address: str) -> str:
    """Return what one client has of addresses: one of IPv4, a /64 of IPv6.

    >>> network_of("127.0.0.2"), network_of("2001:db8::1:2"), network_of("nobody")
    ('127.0.0.2', '2001:db8::', 'unknown')
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return "unknown"
    if found.version == 4:
        return str(found)
    return str(ipaddress.ip_address(int(found) >> 64 << 64))


class Shares:
    """Counts how many of something each client holds.

    >>> shares = Shares()
    >>> shares.take("someone"), shares.take("someone", 3), shares.take("another")
    (1, 4, 1)
    """

    def __init__(self) -> None:
        self._held: Counter[str] = Counter()

    @property
    def total(self) -> int:
        """How many all clients hold."""
        return self._held.total()

    def take(self, key: str, more: int = 1) -> int:
        """Take some more; give how many the client holds now."""
        self._held[key] += more
        return self._held[key]

    def release(self, key: str, taken: int = 1) -> None:
        """Return some back."""
        self._held[key] -= taken
        if not self._held[key]:
            del self._held[key]


class RateLimit:
    """Allows a number of requests a minute to each key, also in one burst.

    >>> limit = RateLimit(1, lambda: 0.0)
    >>> limit.wait("someone"), limit.wait("someone")
    (0.0, 60.0)
    """

    def __init__(
        self, per_minute: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.per_minute = per_minute
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, key: str) -> float:
        """Take a request from a key's bucket; return the seconds to wait if empty."""
        now, most = self._clock(), float(self.per_minute)
        left, since = self._left.pop(key, (most, now))
        left = min(most, left + (now - since) * most / 60)
        allowed = left > 1 - _ROUNDING
        # the least recently seen are forgotten: they have refilled, or are too many
        self._left[key] = (max(0.0, left - 1) if allowed else left, now)
        if len(self._left) > _MAX_KEYS:
            self._left.popitem(last=False)
        return 0.0 if allowed else (1 - left) * 60 / most
