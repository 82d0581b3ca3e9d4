"""Bodies of requests: how long they say they are, and whether they are."""

import asyncio
from collections import Counter
from collections.abc import Mapping

from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope

from fdch.service.http.limits import MAX_JSON_BYTES, ServiceLimits
from fdch.service.http.problems import Problem, too_busy

_WITH_BODY = frozenset(("POST", "PUT", "PATCH"))
# one client's share of the memory for bodies
_SHARE = 4


class HeldBytes:
    """Bodies in memory: how much of them has arrived, of all clients and of each.

    Args:
        limits: A client may always send one body, and others beside it.
    """

    def __init__(self, limits: ServiceLimits) -> None:
        self._most = max(limits.held_bytes, 2 * limits.body_bytes)
        self._most_of_one = max(limits.held_bytes // _SHARE, limits.body_bytes)
        self._held: Counter[str] = Counter()
        self._all = 0

    def take(self, key: str, count: int) -> None:
        """Make room for what has arrived from a client.

        Raises:
            Problem: There is none.
        """
        if (
            self._all + count > self._most
            or self._held[key] + count > self._most_of_one
        ):
            busy = too_busy("too much is being uploaded.")
            busy.headers["connection"] = "close"
            raise busy
        self._held[key] += count
        self._all += count

    def give_back(self, key: str, count: int) -> None:
        """Forget what is no longer in memory."""
        self._all -= count
        self._held[key] -= count
        if self._held[key] <= 0:
            del self._held[key]


class Body:
    """The body of one request, as much of it as has arrived."""

    def __init__(self, held: HeldBytes, key: str) -> None:
        self._held, self._key = held, key
        self._parts: list[bytes] = []
        self._length = 0

    async def read(self, receive: Receive, most: int, seconds: float) -> bytes:
        """Wait for the whole of it.

        Raises:
            Problem: It is too long or too slow, or there is no room for it.
        """
        try:
            async with asyncio.timeout(seconds):
                while await self._take(receive, most):
                    pass
        except TimeoutError:
            raise Problem(
                408,
                "slow_body",
                "the body did not arrive in time.",
                "Send it again, or a smaller one.",
                {"connection": "close"},
            ) from None
        whole = b"".join(self._parts)
        self._parts.clear()
        return whole

    def drop(self) -> None:
        """Leave its room to others."""
        self._held.give_back(self._key, self._length)
        self._length = 0

    async def _take(self, receive: Receive, most: int) -> bool:
        """Take the next part; return whether more is to come."""
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        part = message.get("body", b"")
        if self._length + len(part) > most:
            raise too_long(most)
        self._held.take(self._key, len(part))
        self._length += len(part)
        self._parts.append(part)
        return bool(message.get("more_body", False))


def max_body_bytes(headers: Mapping[bytes, bytes], limits: ServiceLimits) -> int:
    """Give how long a body of this kind may be: only forms hold pictures."""
    if headers.get(b"content-type", b"").strip().lower().startswith(b"multipart/"):
        return limits.body_bytes
    return min(MAX_JSON_BYTES, limits.body_bytes)


def read_length(scope: Scope, headers: Mapping[bytes, bytes], most: int) -> int:
    """Give how long a body may be: as declared, or the most where it is not.

    Raises:
        Problem: It is too long, or it is not wanted.
    """
    given = headers.get(b"content-length")
    is_chunked = b"transfer-encoding" in headers
    if given is not None and is_chunked:
        raise bad_head(
            "a body has a Content-Length or a Transfer-Encoding, not both",
            "Send one of the two.",
        )
    if given is not None and not (given.isdigit() and len(given) < 16):
        raise bad_head("Content-Length is no number", "Correct it.")
    length = most if is_chunked else int(given or 0)
    if length > most:
        raise too_long(most)
    if length and scope["method"] not in _WITH_BODY:
        raise Problem(
            400,
            "unwanted_body",
            f"{scope['method'][:10]} takes no body.",
            "Leave it out; POST and PUT take one.",
        )
    if headers.get(b"content-encoding", b"identity").lower() != b"identity":
        raise Problem(
            415, "wrong_type", "packed bodies are not taken.", "Send it unpacked."
        )
    return length


def bad_head(what: str, hint: str) -> Problem:
    """Refuse a head, and whatever else would come over its connection."""
    close = {"connection": "close"}
    return Problem(400, "bad_headers", f"{what}.", hint, close)


def too_long(most: int) -> Problem:
    """Refuse a body."""
    return Problem(
        413,
        "too_large",
        f"the body has more than {most:,} bytes.",
        "Send a smaller picture, or fewer texts.",
        {"connection": "close"},
    )
