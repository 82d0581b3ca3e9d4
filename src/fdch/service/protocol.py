"""HTTP/1.1 as uvicorn speaks it, without patience for heads that never end."""

import asyncio
from typing import Any

import h11
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from fdch.service.headers import SECURITY_HEADERS
from fdch.service.problems import Problem, too_busy

# connections beyond the limit that are told so; further ones are closed at once
_TOLD = 64


async def crowded(scope: Scope, receive: Receive, send: Send) -> None:
    """Tell a client that too many are connected."""
    problem = too_busy("too many are connected.", 5)
    problem.headers["connection"] = "close"
    response = problem.response()
    response.raw_headers.extend(SECURITY_HEADERS)
    await response(scope, receive, send)


class JoinedWrites:
    """A transport that writes once what is written in one turn of the loop.

    A reply's head and body then leave in one packet, by one call of the system.
    """

    def __init__(self, transport: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._waiting: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Write at the end of the turn."""
        if not self._waiting:
            self._loop.call_soon(self._flush)
        self._waiting.append(data)

    def close(self) -> None:
        """Write what waits, and close."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        if waiting and not self._transport.is_closing():
            self._transport.write(b"".join(waiting))


class PatientProtocol(H11Protocol):
    """Closes connections whose next request's head does not arrive in time."""

    head_seconds = 10.0
    most = 1024
    _watch: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first head."""
        super().connection_made(JoinedWrites(transport, self.loop))  # type: ignore[arg-type]
        if len(self.connections) > self.most + _TOLD:
            transport.abort()
            return
        if len(self.connections) > self.most:
            self.app = crowded
        self._watch_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._unwatch_head()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Stop waiting once a request has begun; wait for the next one's head."""
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._watch_head()
        else:
            self._unwatch_head()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP in the shape of all errors."""
        hint = "Send HTTP/1.1, with a head of moderate length."
        reply = Problem(400, "bad_http", "the request is not understood.", hint)
        content = bytes(reply.response().body)
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(content)).encode()),
            (b"connection", b"close"),
            *SECURITY_HEADERS,
        ]
        for event in (
            h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
            h11.Data(data=content),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _watch_head(self) -> None:
        if self._watch is None:
            self._watch = self.loop.call_later(self.head_seconds, self._give_up)

    def _unwatch_head(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None

    def _give_up(self) -> None:
        self._watch = None
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self.transport.close()


def protocol(head_seconds: float, most: int) -> type[PatientProtocol]:
    """Give the protocol with some patience, for so many connections."""
    limits = {"head_seconds": head_seconds, "most": most}
    return type("Protocol", (PatientProtocol,), limits)
