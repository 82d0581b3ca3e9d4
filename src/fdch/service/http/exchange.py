"""One request and its reply: heads as they came, bodies handed on, headers added."""

import ipaddress
from collections.abc import Callable
from functools import lru_cache

from starlette.types import Message, Receive, Scope, Send

from fdch.service.http.bodies import bad_head
from fdch.service.http.problems import Problem

_ONCE = (b"host", b"authorization", b"content-length")


class Reply:
    """Sends one reply, with our headers."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.headers: list[tuple[bytes, bytes]] = []
        self.status = 0
        self.on_start: Callable[[], None] = lambda: None

    async def send(self, message: Message) -> None:
        """Send a part of the reply."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.on_start()
            message["headers"] = [*message.get("headers", ()), *self.headers]
        await self._send(message)

    async def refuse(self, scope: Scope, receive: Receive, problem: Problem) -> None:
        """Send an error, unless the reply has begun."""
        if not self.status:
            self.on_start = lambda: None
            await problem.response()(scope, receive, self.send)


def read_headers(scope: Scope) -> dict[bytes, bytes]:
    """Return headers by name; those that set the rights and the length come once."""
    found: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name in found and name in _ONCE:
            raise bad_head(f"the header '{name.decode()}' came twice", "Send it once.")
        found[name] = value
    return found


def client_address(scope: Scope) -> str:
    """Return a client's address as a trusted proxy reports it; 'unknown' if invalid.

    >>> client_address({"client": ("<b>", 1)}), client_address({"client": ("::1", 1)})
    ('unknown', '::1')
    """
    return _parse_address((scope.get("client") or ("",))[0])


@lru_cache(maxsize=10_000)
def _parse_address(given: str) -> str:
    try:
        return str(ipaddress.ip_address(given))
    except ValueError:
        return "unknown"


def replay_body(body: bytes, receive: Receive) -> Receive:
    """Hand on a body that has arrived."""
    pending: list[Message] = [{"type": "http.request", "body": body}]

    async def replay() -> Message:
        return pending.pop() if pending else await receive()

    return replay
