"""A load of many clients from one process, light enough not to be the bottleneck.

Run as `python -m fdch.bench.serving.load`: what to do as JSON on standard input,
what was measured as JSON on standard output.
"""

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

_HEAD_END = b"\r\n\r\n"
_LENGTH = b"content-length:"
PERCENTILES = (50, 95, 99)


@dataclass(frozen=True)
class Load:
    """What to send to a server on this machine, and for how long."""

    port: int
    path: str
    bodies: Sequence[str]  # JSON documents, sent in turn by POST
    clients: int = 64  # connections, each waiting for its answer
    seconds: float = 10.0
    requests: int | None = None  # stop after so many, too


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
        self.errors: Counter[str] = Counter()
        self.sent = 0
        self.began = time.perf_counter()

    def next_request(self) -> bytes | None:
        """Give the next request, None when it is time to stop."""
        if time.perf_counter() - self.began >= self.load.seconds:
            return None
        if self.sent == self.load.requests:
            return None
        self.sent += 1
        return self.requests[self.sent % len(self.requests)]


class _Client(asyncio.Protocol):
    """One connection that sends a request, waits, and sends the next."""

    def __init__(self, work: _Work, done: "asyncio.Future[None]") -> None:
        self.work, self.done = work, done
        self.received = b""
        self.sent_at: float | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._send()

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
        assert self.sent_at is not None
        self.work.times.append(time.perf_counter() - self.sent_at)
        if b" 200 " not in head[:16]:
            self.work.errors[head[9:12].decode("latin-1")] += 1
        self.received, self.sent_at = b"", None
        self._send()

    def connection_lost(self, error: Exception | None) -> None:
        if self.sent_at is not None:
            self.work.errors["connection lost"] += 1
        if not self.done.done():
            self.done.set_result(None)

    def _send(self) -> None:
        request = self.work.next_request()
        if request is None:
            self.transport.close()
            return
        self.sent_at = time.perf_counter()
        self.transport.write(request)


async def drive(load: Load) -> dict[str, Any]:
    """Send with all clients at a time; give what was measured."""
    loop = asyncio.get_running_loop()
    work = _Work(load)
    waits = [loop.create_future() for _ in range(load.clients)]
    for done in waits:
        client = partial(_Client, work, done)
        await loop.create_connection(client, "127.0.0.1", load.port)
    await asyncio.gather(*waits)
    seconds = time.perf_counter() - work.began
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


if __name__ == "__main__":
    json.dump(asyncio.run(drive(Load(**json.load(sys.stdin)))), sys.stdout)
