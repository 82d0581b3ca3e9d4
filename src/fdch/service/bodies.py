"""Bodies of requests: how long they say they are, and whether they are."""

import asyncio
from collections.abc import Mapping

from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope

from fdch.service.problems import Problem

_WITH_BODY = frozenset(("POST", "PUT", "PATCH"))


def declared_length(scope: Scope, headers: Mapping[bytes, bytes], most: int) -> int:
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


async def body_of(receive: Receive, most: int, seconds: float) -> bytes:
    """Wait for a whole body.

    Raises:
        Problem: It is too long, or too slow.
    """
    parts: list[bytes] = []
    length = 0
    try:
        async with asyncio.timeout(seconds):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientDisconnect
                parts.append(message.get("body", b""))
                length += len(parts[-1])
                if length > most:
                    raise too_long(most)
                if not message.get("more_body", False):
                    return b"".join(parts)
    except TimeoutError:
        raise Problem(
            408,
            "slow_body",
            "the body did not arrive in time.",
            "Send it again, or a smaller one.",
            {"connection": "close"},
        ) from None


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
