"""HTTP/1.1 as uvicorn speaks it, with timeouts where nothing moves."""

import asyncio
import socket
import sys
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Any

import h11
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from fdch.service.http.bodies import long_head
from fdch.service.http.limits import ServiceLimits, Shares, network_of
from fdch.service.http.problems import SECURITY_HEADERS, Problem, too_busy

# connections beyond the limit that get a reply; further ones are closed at once
_MAX_REFUSED = 64
# written without waiting for the end of a turn
_FLUSH_BYTES = 2**16
_SEND_BUFFER_BYTES = 2**17
# what is read of a refused request, and for how long, before its connection is closed
_MAX_DISCARDED = 32 * 2**20
_LINGER_SECONDS = 5.0
# at a stop, clients that have read nothing for so long are disconnected
_STOPPING_SECONDS = 2.0


async def refuse_connection(
    message: str, scope: Scope, receive: Receive, send: Send
) -> None:
    """Reply that there are too many connections."""
    problem = too_busy(message, 5)
    problem.headers["connection"] = "close"
    response = problem.response()
    response.raw_headers.extend(SECURITY_HEADERS)
    await response(scope, receive, send)


class BufferedTransport:
    """A transport that joins all writes of one turn of the loop.

    A reply's head and body then leave in one packet, by one call of the system.

    Args:
        transport: What is written to.
        loop: Whose turns count.
        on_write: Called after each write.
        is_being_sent: Says whether more of a request may come.
    """

    def __init__(
        self,
        transport: Any,
        loop: asyncio.AbstractEventLoop,
        on_write: Callable[[], None],
        is_being_sent: Callable[[], bool],
    ) -> None:
        self._transport, self._loop = transport, loop
        self._on_write, self._is_being_sent = on_write, is_being_sent
        self._waiting = bytearray()
        self._written = 0
        self._end: asyncio.TimerHandle | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    @property
    def sent(self) -> int:
        """Bytes that the system has taken."""
        return self._written - self._transport.get_write_buffer_size()

    @property
    def is_lingering(self) -> bool:
        """Whether only the client's end of the connection is open."""
        return self._end is not None

    def write(self, data: bytes) -> None:
        """Write at the end of the turn, or at once where it is much."""
        if not self._waiting:
            self._loop.call_soon(self._flush)
        self._waiting += data
        if len(self._waiting) > _FLUSH_BYTES:
            self._flush()

    def is_closing(self) -> bool:
        """Whether nothing more is written."""
        return self.is_lingering or self._transport.is_closing()

    def close(self) -> None:
        """Write what waits, and close: where more may come, a little later.

        A connection that is closed while more arrives is reset, and the client may
        then never see the reply.
        """
        self._flush()
        if self.is_closing() or not self._is_being_sent():
            self.forget()
            self._transport.close()
            return
        self._transport.write_eof()
        self._transport.resume_reading()
        self._end = self._loop.call_later(_LINGER_SECONDS, self.close)

    def forget(self) -> None:
        """Listen no longer."""
        if self._end is not None:
            self._end.cancel()

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, bytearray()
        if waiting and not self.is_closing():
            self._transport.write(waiting)
            self._written += len(waiting)
            self._on_write()


class TimeoutProtocol(H11Protocol):
    """Closes connections where nothing moves.

    That is where the next request's head does not arrive in time, or a reply is not
    read. A client that sends too much is read for a while, so that it sees the reply
    that says so.
    """

    head_seconds = 10.0
    read_seconds = 15.0
    max_connections = 1024
    max_of_address = 128
    shares = Shares()
    is_proxy: Callable[[str], bool] = staticmethod(lambda _: False)
    _network = ""
    _watch: asyncio.TimerHandle | None = None
    _reading: asyncio.TimerHandle | None = None
    _discarded = 0

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first head."""
        self._buffered = BufferedTransport(
            transport, self.loop, self._watch_client, self._is_being_sent
        )
        super().connection_made(self._buffered)  # type: ignore[arg-type]
        # where the system keeps little, it is soon seen whether a client reads
        if (connection := transport.get_extra_info("socket")) is not None:
            connection.setsockopt(
                socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER_BYTES
            )
        beyond = len(self.connections) - self.max_connections
        message = "too many clients are connected."
        address = str((transport.get_extra_info("peername") or ("",))[0])
        if not self.is_proxy(address):  # behind one there are many clients
            self._network = network_of(address)
            beyond_share = self.shares.take(self._network) - self.max_of_address
            if beyond_share > beyond:
                beyond = beyond_share
                message = "too many connections from this address."
        if beyond > _MAX_REFUSED:
            transport.abort()
            return
        if beyond > 0:
            self.app = partial(refuse_connection, message)
        self._watch_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._unwatch_head()
        self._unwatch_client()
        self._buffered.forget()
        if self._network:
            self.shares.release(self._network)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Stop waiting once a request has begun; wait for the next one's head."""
        if self._buffered.is_lingering:
            self._discarded += len(data)
            if self._discarded > _MAX_DISCARDED:
                self._buffered.abort()
            return
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._watch_head()
        else:
            self._unwatch_head()

    def shutdown(self) -> None:
        """Finish; do not wait for clients that do not read."""
        self.read_seconds = min(self.read_seconds, _STOPPING_SECONDS)
        self._unwatch_client()
        super().shutdown()
        self._watch_client()

    def send_400_response(self, msg: str) -> None:
        """Refuse invalid or endless HTTP with an error in the usual shape."""
        error = sys.exception()  # uvicorn calls this where it handles one
        if getattr(error, "error_status_hint", 400) == 431:
            problem = long_head()
        else:
            close = {"connection": "close"}
            what = "the request is not valid HTTP."
            problem = Problem(400, "bad_http", what, "Send HTTP/1.1.", close)
        reply = problem.response()
        headers = [*reply.raw_headers, *SECURITY_HEADERS]
        reason = HTTPStatus(reply.status_code).phrase.encode()
        for event in (
            h11.Response(status_code=reply.status_code, headers=headers, reason=reason),
            h11.Data(data=bytes(reply.body)),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _is_being_sent(self) -> bool:
        return self.conn.their_state in (h11.SEND_BODY, h11.ERROR)

    def _watch_head(self) -> None:
        if self._watch is None:
            self._watch = self.loop.call_later(self.head_seconds, self._close_idle)

    def _unwatch_head(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None

    def _close_idle(self) -> None:
        self._watch = None
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self.transport.close()

    def _watch_client(self) -> None:
        if self._reading is None and self._buffered.get_write_buffer_size():
            self._reading = self.loop.call_later(
                self.read_seconds, self._disconnect_slow_client, self._buffered.sent
            )

    def _unwatch_client(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    def _disconnect_slow_client(self, before: int) -> None:
        self._reading = None
        if self._buffered.get_write_buffer_size() and self._buffered.sent <= before:
            self._buffered.abort()
        else:
            self._watch_client()


def make_protocol(
    limits: ServiceLimits,
    max_connections: int,
    is_proxy: Callable[[str], bool] = lambda _: False,
) -> type[TimeoutProtocol]:
    """Make a protocol class with the timeouts and limits of a service.

    Args:
        limits: Of a service.
        max_connections: Of all clients.
        is_proxy: Says of an address whether many clients are behind it.
    """
    settings = {
        "head_seconds": limits.head_seconds,
        "read_seconds": limits.read_seconds,
        "max_connections": max_connections,
        "max_of_address": limits.address_connections,
        "shares": Shares(),
        "is_proxy": staticmethod(is_proxy),
    }
    return type("Protocol", (TimeoutProtocol,), settings)
