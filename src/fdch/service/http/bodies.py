"""Bodies of requests: how long they say they are, and whether they are."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope

from fdch.service.http.limits import MAX_JSON_BYTES, ServiceLimits, Shares
from fdch.service.http.problems import Problem, too_busy

_WITH_BODY = frozenset(("POST", "PUT", "PATCH"))
_CLOSE = {"connection": "close"}
# one client's share of the memory for bodies
_SHARE = 4


class HeldBytes:
    """Bodies in memory: how much of them has arrived, of all clients and of each."""

    def __init__(self, limits: ServiceLimits) -> None:
        # a client may always send one body, and others beside it
        self._max = max(limits.held_bytes, 2 * limits.body_bytes)
        self._max_of_client = max(limits.held_bytes // _SHARE, limits.body_bytes)
        self._held = Shares()

    @contextmanager
    def count(self, key: str) -> Iterator[Callable[[int], None]]:
        """Return a function that makes room for what arrives; free it at the end."""
        held, taken = self._held, 0

        def take(more: int) -> None:
            nonlocal taken
            taken += more
            if held.take(key, more) > self._max_of_client or held.total > self._max:
                busy = too_busy("too much is being uploaded.")
                busy.headers |= _CLOSE
                raise busy

        try:
            yield take
        finally:
            held.release(key, taken)


async def read_body(
    receive: Receive, max_bytes: int, seconds: float, take: Callable[[int], None]
) -> bytes:
    """Wait for a whole body; `take` makes room for each part of it."""
    whole = bytearray()
    is_open = True
    try:
        async with asyncio.timeout(seconds):
            while is_open:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientDisconnect
                part = message.get("body", b"")
                if len(whole) + len(part) > max_bytes:
                    raise too_long(max_bytes)
                take(len(part))
                whole += part
                is_open = message.get("more_body", False)
    except TimeoutError:
        hint = "Send it again, or a smaller one."
        raise Problem(
            408, "slow_body", "the body did not arrive in time.", hint, _CLOSE
        ) from None
    return bytes(whole)


def max_body_bytes(headers: Mapping[bytes, bytes], limits: ServiceLimits) -> int:
    """Return how long a body of this kind may be: only forms hold pictures."""
    if headers.get(b"content-type", b"").strip().lower().startswith(b"multipart/"):
        return limits.body_bytes
    return min(MAX_JSON_BYTES, limits.body_bytes)


def read_length(scope: Scope, headers: Mapping[bytes, bytes], max_bytes: int) -> int:
    """Return how long a body may be: as declared, or `max_bytes` if it is chunked."""
    given = headers.get(b"content-length")
    is_chunked = b"transfer-encoding" in headers
    if given is not None and is_chunked:
        what = "a body has a Content-Length or a Transfer-Encoding, not both"
        raise bad_head(what, "Send one of the two.")
    if given is not None and not (given.isdigit() and len(given) < 16):
        raise bad_head("Content-Length is not a number", "Correct it.")
    length = max_bytes if is_chunked else int(given or 0)
    if length > max_bytes:
        raise too_long(max_bytes)
    if length and scope["method"] not in _WITH_BODY:
        what = f"{scope['method'][:10]} takes no body."
        hint = "Leave it out; POST and PUT take one."
        raise Problem(400, "unwanted_body", what, hint)
    if headers.get(b"content-encoding", b"identity").lower() != b"identity":
        what = "compressed bodies are not supported."
        raise Problem(415, "wrong_type", what, "Send it uncompressed.")
    return length


def require_short_head(scope: Scope, max_bytes: int) -> None:
    """Refuse a head that is too long, however its bytes arrived."""
    address = len(scope["raw_path"]) + len(scope["query_string"])
    headers = sum(len(name) + len(value) + 4 for name, value in scope["headers"])
    if address + headers > max_bytes:
        raise long_head()


def long_head() -> Problem:
    """Refuse a head for its length."""
    message = "the address and the headers are too long together."
    hint = "Send less; the body of a POST takes long texts and many conditions."
    return Problem(431, "long_head", message, hint, _CLOSE)


def bad_head(what: str, hint: str) -> Problem:
    """Refuse a head, and whatever else would come over its connection."""
    return Problem(400, "bad_headers", f"{what}.", hint, _CLOSE)


def too_long(max_bytes: int) -> Problem:
    """Refuse a body."""
    message = f"the body has more than {max_bytes:,} bytes."
    hint = "Send a smaller picture, or fewer texts."
    return Problem(413, "too_large", message, hint, _CLOSE)
