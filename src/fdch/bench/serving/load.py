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
        """Return the next request, None when it is time to stop."""
        if time.perf_counter() - self.began >= self.load.seconds:
            return None
        if self.sent == self.load.requests:
            return None
        self.sent += 1
        return self.requests[self.sent % len(self.requests)]

    async def run_client(self) -> None:
        """Send requests on one connection, each after the reply to the last."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.load.port)
        try:
            while (request := self.next_request()) is not None:
                sent_at = time.perf_counter()
                writer.write(request)
                head = (await reader.readuntil(_HEAD_END)).lower()
                length = head.partition(_LENGTH)[2].partition(b"\r\n")[0]
                await reader.readexactly(int(length))
                self.times.append(time.perf_counter() - sent_at)
                if b" 200 " not in head[:16]:
                    self.errors[head[9:12].decode("latin-1")] += 1
        except (OSError, EOFError):
            self.errors["connection lost"] += 1
        finally:
            writer.close()


async def drive(load: Load) -> dict[str, Any]:
    """Send with all clients at a time; return what was measured."""
    work = _Work(load)
    await asyncio.gather(*(work.run_client() for _ in range(load.clients)))
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
