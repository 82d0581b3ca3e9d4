"""How long the service takes to refuse hostile requests, and that it goes on."""

import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fdch.bench.hostile.crowd import measure_crowd
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

MAX_SECONDS = 1.0
BODY_SECONDS = 0.5
PAIRS, BITS = 128, 16
_TEXT = search(text="beach", k=3)
_PICTURE = image(picture_bytes(), k=b"3")


def refusal_benchmark(
    repeats: int = 3, connections: int = 1200, progress: Progress = silent
) -> dict[str, Any]:
    """Send each hostile request to a server, and a right one after each.

    Then search while one address holds so many slow connections.
    """
    with tempfile.TemporaryDirectory(prefix="fdch-bench-") as place:
        # the server logs each request that is not even HTTP
        log = Path(place) / "log"
        with ServerProcess(_server(Path(place)), "/v1/search", log) as server:
            found = measure_refusals(server, HOSTILE, repeats, progress)
            beside = measure_crowd(server.port, connections, progress=progress)
            return {**found, "crowd": beside}


def _server(place: Path) -> list[str]:
    """Make a small index of pictures; give the command that serves it."""
    pairs = PairedSet.read(f"scenes:{PAIRS}")
    # words alone: with static embeddings there is no text of unknown words to refuse
    method = FDCH(
        bits=BITS, stage_one_epochs=1, stage_two_epochs=1, text_features="words"
    ).fit(pairs)
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
        "benchmark": "hostile",
        "repeats": repeats,
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
    """Give the ids that a text and a picture find; none where a reply is an error."""
    replies = [send(server.port, each) for each in (_TEXT, _PICTURE)]
    return [
        [found["id"] for found in json.loads(each.body)["results"]]
        if each.status == 200
        else []
        for each in replies
    ]
