"""Time the refusal of hostile requests, and check that the service still answers."""

import asyncio
import contextlib
import itertools
import json
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fdch.bench.hostile.requests import HOSTILE, Hostile
from fdch.bench.serving.raw_requests import (
    READ,
    WRITE,
    Received,
    image,
    picture_bytes,
    search,
    send,
)
from fdch.bench.serving.server_process import ServerProcess
from fdch.data.pairs import PairedSet
from fdch.methods.fdch import FDCH
from fdch.progress import Progress, Update, silent
from fdch.retrieval.index import Index
from fdch.service.serving import limit_connections

MAX_SECONDS = 1.0
BODY_SECONDS = 0.5
PAIRS, BITS = 128, 16
_TEXT = search(text="beach", k=3)
_PICTURE = image(picture_bytes(), k=b"3")
CROWD_ADDRESS = "127.0.0.2"  # also this machine, but not the client's address
MIN_SHARE = 0.99
_DRIP_SECONDS = 1.0
_SETTLE_SECONDS = 2.0
_HEAD = b"POST /v1/search HTTP/1.1\r\nX-Slow: "


def refusal_benchmark(
    repeats: int, connections: int, progress: Progress = silent
) -> dict[str, Any]:
    """Send each hostile request to a server, and a right one after each.

    Then search while one address holds many slow connections.
    """
    with tempfile.TemporaryDirectory(prefix="fdch-bench-") as place:
        # the server logs each request that is not even HTTP
        log = Path(place) / "log"
        with ServerProcess(_server(Path(place)), "/v1/search", log) as server:
            found = measure_refusals(server, HOSTILE, repeats, progress)
            found["requests"].sort(key=lambda each: -each["milliseconds"])
            beside = measure_crowd(server.port, connections, progress=progress)
            return {**found, "crowd": beside}


def fit_small_method() -> tuple[FDCH, PairedSet]:
    """Train on a few pictures, for a service whose answers need not be good."""
    pairs = PairedSet.read(f"scenes:{PAIRS}")
    # words alone: with static embeddings there is no text of unknown words to refuse
    method = FDCH(
        bits=BITS, stage_one_epochs=1, stage_two_epochs=1, text_features="words"
    )
    return method.fit(pairs), pairs


def _server(place: Path) -> list[str]:
    """Make a small index of pictures; return the command that serves it."""
    method, pairs = fit_small_method()
    with Index.create(place / "index", method) as index:
        index.add(pairs)
    tokens = place / "tokens"
    tokens.write_text(f"read {READ}\nwrite {WRITE}\n")
    tokens.chmod(0o600)
    words = [sys.executable, "-m", "fdch", "serve", str(place / "index")]
    words += ["--port", "0", "--quiet", "--token-file", str(tokens)]
    return [*words, "--body-seconds", str(BODY_SECONDS)]


def measure_refusals(
    server: ServerProcess,
    hostile: Mapping[str, Hostile],
    repeats: int,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Query one server for what it must refuse and for what it must answer.

    Times are the longest of all turns.
    """
    expected, held = _answers(server), server.memory()
    refused: dict[str, list[Received]] = {name: [] for name in hostile}
    right, total = [], repeats * len(hostile)
    for _ in range(repeats):
        for name, (content, _) in hostile.items():
            refused[name].append(send(server.port, content))
            right.append(send(server.port, _TEXT))
            progress(Update("refusing", len(right), total, "request"))
    is_serving = all(expected) and _answers(server) == expected
    requests: list[dict[str, Any]] = [
        {
            "name": name,
            "expected": hostile[name].status,
            "statuses": sorted({each.status for each in turns}),
            "milliseconds": _longest(turns),
        }
        for name, turns in refused.items()
    ]
    failed = sum(each.status != 200 for each in right)
    return {
        "body_seconds": BODY_SECONDS,
        "requests": requests,
        "wrong": [
            one["name"] for one in requests if one["statuses"] != [one["expected"]]
        ],
        "slow": [
            one["name"] for one in requests if one["milliseconds"] > 1000 * MAX_SECONDS
        ],
        "right_requests": {
            "sent": len(right),
            "failed": failed,
            "milliseconds": _longest(right),
        },
        "memory_bytes": [held, server.memory()],
        "goes_on": is_serving and not failed,
    }


def _longest(replies: list[Received]) -> float:
    return 1000 * max(each.seconds for each in replies)


def _answers(server: ServerProcess) -> list[list[str]]:
    """Return the ids that a text and a picture find; none where a reply is an error."""
    replies = [send(server.port, each) for each in (_TEXT, _PICTURE)]
    return [
        [found["id"] for found in json.loads(each.body)["results"]]
        if each.status == 200
        else []
        for each in replies
    ]


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
    """Keep many slow connections open from another thread."""
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
    """Search repeatedly beside a crowd; return the share that was answered."""
    replies: list[Received] = []
    with crowd(port, connections):
        time.sleep(_SETTLE_SECONDS)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            replies.append(send(port, _TEXT))
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
