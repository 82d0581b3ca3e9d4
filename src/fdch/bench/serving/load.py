"""A load of many clients from one process, light enough not to be the bottleneck.

Run as `python -m fdch.bench.serving.load`: what to do as JSON on standard input,
what was measured as JSON on standard output.
"""

import asyncio
import itertools
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
    """Requests for a server on this machine, and for how long to send them."""

    port: int
    path: str
    bodies: Sequence[str]  # JSON documents, sent in turn by POST
    clients: int  # connections, each waiting for its answer
    seconds: float


async def drive(load: Load) -> dict[str, Any]:
    """Send with all clients at once; return rates, times and errors."""
    head = (
        f"POST {load.path} HTTP/1.1\r\nHost: 127.0.0.1:{load.port}\r\n"
        "Content-Type: application/json\r\nContent-Length: "
    )
    contents = [
        f"{head}{len(body.encode())}\r\n\r\n{body}".encode() for body in load.bodies
    ]
    requests = itertools.cycle(contents)
    times: list[float] = []
    errors: Counter[str] = Counter()
    began = time.perf_counter()

    async def run_client() -> None:
        """Send requests on one connection, each after the reply to the last."""
        reader, writer = await asyncio.open_connection("127.0.0.1", load.port)
        try:
            while (sent_at := time.perf_counter()) - began < load.seconds:
                writer.write(next(requests))
                reply = (await reader.readuntil(_HEAD_END)).lower()
                length = reply.partition(_LENGTH)[2].partition(b"\r\n")[0]
                await reader.readexactly(int(length))
                times.append(time.perf_counter() - sent_at)
                if b" 200 " not in reply[:16]:
                    errors[reply[9:12].decode("latin-1")] += 1
        except (OSError, EOFError):
            errors["connection lost"] += 1
        finally:
            writer.close()

    await asyncio.gather(*(run_client() for _ in range(load.clients)))
    seconds = time.perf_counter() - began
    times.sort()
    return {
        "requests": len(times),
        "seconds": seconds,
        "per_second": len(times) / seconds,
        "errors": errors,
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
