"""How long the service takes to refuse hostile requests, and that it goes on."""

import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fdch.bench.hostile_requests import HOSTILE, Hostile
from fdch.bench.raw_requests import (
    READ,
    WRITE,
    Received,
    image,
    picture_bytes,
    search,
    send,
)
from fdch.bench.server_process import ServerProcess
from fdch.data.pairs import PairedSet
from fdch.errors import SettingError
from fdch.methods.fdch import FDCH
from fdch.progress import Progress, Update, silent
from fdch.retrieval.index import Index

MAX_SECONDS = 1.0
BODY_SECONDS = 0.5
PAIRS, BITS = 128, 16
_TEXT = search(text="beach", k=3)
_PICTURE = image(picture_bytes(), k=b"3")


def refusal_benchmark(
    repeats: int = 3,
    progress: Progress = silent,
    hostile: Mapping[str, Hostile] = HOSTILE,
) -> dict[str, Any]:
    """Send each hostile request to a server, and a right one after each.

    Returns:
        Plain numbers, lists and dictionaries; times are the longest of all turns.
    """
    if repeats < 1:
        raise SettingError("repeats of a benchmark must be 1 or more.")
    with tempfile.TemporaryDirectory(prefix="fdch-bench-") as place:
        # the server logs each request that is not even HTTP
        log = Path(place) / "log"
        with ServerProcess(_server(Path(place)), "/v1/search", log) as server:
            return _Turns(server, hostile).measure(repeats, progress)


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


class _Turns:
    """One server, asked for what it must refuse and for what it must answer."""

    def __init__(self, server: ServerProcess, hostile: Mapping[str, Hostile]) -> None:
        self.server, self.hostile = server, hostile
        self.refused: dict[str, list[Received]] = {name: [] for name in hostile}
        self.right: list[Received] = []

    def measure(self, repeats: int, progress: Progress) -> dict[str, Any]:
        """Take turns; give what was found."""
        expected = [_found(send(self.server.port, each)) for each in (_TEXT, _PICTURE)]
        self.held = self.server.memory()
        done, total = 0, repeats * len(self.hostile)
        for _ in range(repeats):
            for name, (content, _) in self.hostile.items():
                self.refused[name].append(send(self.server.port, content))
                self.right.append(send(self.server.port, _TEXT))
                done += 1
                progress(Update("refusing", done, total, "request"))
        after = [_found(send(self.server.port, each)) for each in (_TEXT, _PICTURE)]
        return self._document(repeats, bool(all(expected)) and after == expected)

    def _document(self, repeats: int, is_serving: bool) -> dict[str, Any]:
        requests: list[dict[str, Any]] = [
            {
                "name": name,
                "expected": self.hostile[name].status,
                "statuses": sorted({each.status for each in turns}),
                "milliseconds": 1000 * max(each.seconds for each in turns),
            }
            for name, turns in self.refused.items()
        ]
        wrong = [
            each["name"] for each in requests if each["statuses"] != [each["expected"]]
        ]
        slow = [
            each["name"]
            for each in requests
            if each["milliseconds"] > 1000 * MAX_SECONDS
        ]
        failed = sum(each.status != 200 for each in self.right)
        return {
            "benchmark": "hostile",
            "repeats": repeats,
            "body_seconds": BODY_SECONDS,
            "requests": requests,
            "wrong": wrong,
            "slow": slow,
            "right_requests": {
                "sent": len(self.right),
                "failed": failed,
                "milliseconds": 1000 * max(each.seconds for each in self.right),
            },
            "memory_bytes": [self.held, self.server.memory()],
            "goes_on": is_serving and not failed,
        }


def _found(received: Received) -> list[str]:
    """Give the ids of a reply; none where it is an error."""
    if received.status != 200:
        return []
    return [each["id"] for each in json.loads(received.body)["results"]]
