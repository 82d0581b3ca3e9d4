"""Slow connections of one address, while a client at another address searches."""

import asyncio
import contextlib
import itertools
import threading
import time
from collections.abc import Iterator
from typing import Any

from fdch.bench.serving.raw_requests import Received, search, send
from fdch.progress import Progress, Update, silent
from fdch.service.serving import limit_connections

CROWD_ADDRESS = "127.0.0.2"  # of this machine, yet another one than the client's
MIN_SHARE = 0.99
_DRIP_SECONDS = 1.0
_SETTLE_SECONDS = 2.0
_HEAD = b"POST /v1/search HTTP/1.1\r\nX-Slow: "
_SEARCH = search(text="beach", k=3)


async def _drip(port: int) -> None:
    """Send a head byte by byte, without end; connect again when disconnected."""
    while True:
        with contextlib.suppress(OSError):
            local = (CROWD_ADDRESS, 0)
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", port, local_addr=local
            )
            try:
                for byte in itertools.chain(_HEAD, itertools.repeat(ord("x"))):
                    if reader.at_eof() or writer.is_closing():
                        break
                    writer.write(bytes([byte]))
                    await asyncio.sleep(_DRIP_SECONDS)
            finally:
                writer.close()
        await asyncio.sleep(_DRIP_SECONDS)


@contextlib.contextmanager
def crowd(port: int, connections: int) -> Iterator[None]:
    """Keep up so many slow connections, from a thread of their own."""
    limit_connections(2 * connections)  # raises how many files may be open
    loop = asyncio.new_event_loop()

    async def drip_all() -> None:
        await asyncio.gather(*(_drip(port) for _ in range(connections)))

    def run() -> None:
        with contextlib.suppress(asyncio.CancelledError):
            loop.run_until_complete(task)
        loop.close()

    task = loop.create_task(drip_all())
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join()


def measure_crowd(
    port: int, connections: int, seconds: float = 10.0, progress: Progress = silent
) -> dict[str, Any]:
    """Search again and again beside a crowd; give the share that was answered."""
    replies: list[Received] = []
    with crowd(port, connections):
        time.sleep(_SETTLE_SECONDS)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            replies.append(send(port, _SEARCH))
            spent = seconds - (end - time.monotonic())
            progress(Update("searching in a crowd", int(spent), int(seconds), "second"))
    answered = sum(each.status == 200 for each in replies)
    times = sorted(1000 * each.seconds for each in replies)
    return {
        "connections": connections,
        "seconds": seconds,
        "sent": len(replies),
        "answered": answered,
        "share": answered / len(replies),
        "is_enough": answered >= MIN_SHARE * len(replies),
        "milliseconds": {
            f"p{share}": times[len(times) * share // 100] for share in (50, 99)
        },
    }
