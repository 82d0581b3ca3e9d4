"""A load of many clients from one process, light enough not to be the bottleneck.

Run as `python -m fdch.bench.load`: what to do as JSON on standard
input, what was measured as JSON on standard output.
"""

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

_HEAD_END = b"\r\n\r\n"
_LENGTH = b"content-length:"
_OK = b" 200 "
PERCENTILES = (50, 95, 99)


@dataclass(frozen=True)
class Load:
    """What to send, to whom and for how long.

    Args:
        port: Of a server on this machine.
        path: What is asked for, by POST.
        bodies: JSON documents, sent in turn.
        clients: Connections, each waiting for its answer before it asks again.
        seconds: When to stop asking.
        requests: Stop after so many, too; None for any number.
    """

    port: int
    path: str
    bodies: Sequence[str]
    clients: int = 64
    seconds: float = 10.0
    requests: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Give plain values."""
        return asdict(self)


class _Work:
    """What all clients share."""

    def __init__(self, load: Load) -> None:
        self.load = load
        head = (
            f"POST {load.path} HTTP/1.1\r\nHost: 127.0.0.1:{load.port}\r\n"
            "Content-Type: application/json\r\nContent-Length: "
        )
        self.requests = [
            f"{head}{len(body.encode())}\r\n\r\n{body}".encode() for body in load.bodies
        ]
        self.times: list[float] = []
        self.errors: dict[str, int] = {}
        self.asked = 0
        self.began = time.perf_counter()

    def next_request(self) -> bytes | None:
        """Give the next request, None when it is time to stop."""
        is_late = time.perf_counter() - self.began >= self.load.seconds
        most = self.load.requests
        if is_late or (most is not None and self.asked >= most):
            return None
        self.asked += 1
        return self.requests[self.asked % len(self.requests)]

    def fail(self, what: str) -> None:
        """Count something that went wrong."""
        self.errors[what] = self.errors.get(what, 0) + 1


class _Client(asyncio.Protocol):
    """One connection that asks, waits, and asks again."""

    def __init__(self, work: _Work, done: "asyncio.Future[None]") -> None:
        self.work, self.done = work, done
        self.received = b""
        self.asked_at: float | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._ask()

    def data_received(self, data: bytes) -> None:
        self.received += data
        end = self.received.find(_HEAD_END)
        if end < 0:
            return
        head = self.received[:end].lower()
        place = head.find(_LENGTH)
        length = int(head[place + len(_LENGTH) :].split(b"\r\n", 1)[0])
        if len(self.received) < end + len(_HEAD_END) + length:
            return
        assert self.asked_at is not None
        self.work.times.append(time.perf_counter() - self.asked_at)
        if _OK not in head[:16]:
            self.work.fail(head[9:12].decode("latin-1"))
        self.received, self.asked_at = b"", None
        self._ask()

    def connection_lost(self, error: Exception | None) -> None:
        if self.asked_at is not None:
            self.work.fail("connection lost")
        if not self.done.done():
            self.done.set_result(None)

    def _ask(self) -> None:
        request = self.work.next_request()
        if request is None:
            self.transport.close()
            return
        self.asked_at = time.perf_counter()
        self.transport.write(request)


async def drive(load: Load) -> dict[str, Any]:
    """Ask with all clients at a time; give what was measured."""
    loop = asyncio.get_running_loop()
    work = _Work(load)
    waits = []
    for _ in range(load.clients):
        done = loop.create_future()
        client = partial(_Client, work, done)
        await loop.create_connection(client, "127.0.0.1", load.port)
        waits.append(done)
    await asyncio.gather(*waits)
    return _measured(work, time.perf_counter() - work.began)


def _measured(work: _Work, seconds: float) -> dict[str, Any]:
    times = sorted(work.times)
    return {
        "requests": len(times),
        "seconds": seconds,
        "per_second": len(times) / seconds,
        "errors": work.errors,
        "milliseconds": {
            f"p{share}": 1000 * times[min(len(times) * share // 100, len(times) - 1)]
            for share in PERCENTILES
            if times
        },
        # of two cores that the servers use as well
        "load_seconds": time.process_time(),
    }


def main() -> None:
    """Read a load, drive it, write what was measured."""
    load = Load(**json.load(sys.stdin))
    json.dump(asyncio.run(drive(load)), sys.stdout)


if __name__ == "__main__":
    main()
