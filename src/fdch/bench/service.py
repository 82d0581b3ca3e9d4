"""Throughput and latency of the service beside FAISS behind FastAPI."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fdch.bench.clustered_codes import KINDS, Source
from fdch.bench.clustered_codes import Kind as CodeKind
from fdch.bench.faiss_server import WAYS
from fdch.bench.load import PERCENTILES, Load
from fdch.bench.scan import load_faiss
from fdch.bench.served_model import small_model
from fdch.bench.server_process import ServerProcess
from fdch.bench.timing import spread
from fdch.codes import Codes
from fdch.errors import SettingError
from fdch.progress import Progress, Update, silent
from fdch.retrieval.index import Index

WARMING_SECONDS = 1.0
CHECKED = 3
OURS = "fdch"


@dataclass(frozen=True)
class Sizes:
    """What is measured.

    Args:
        sizes: Codes in the index.
        kind: Of codes: "random" or "clustered".
        clients: That ask at a time.
        seconds: Of each turn of each side.
        repeats: Turns of each side.
        requests: Of a last, longer turn of ours, in which memory is watched; 0 for
            none.
        k: Results to a query.
        bits: Length of the codes.
        seed: Of model and codes.
        encoder: Of the service: "torch" or "onnx".
    """

    sizes: Sequence[int] = (1_000_000,)
    kind: CodeKind = "random"
    clients: int = 64
    seconds: float = 10.0
    repeats: int = 3
    requests: int = 0
    k: int = 20
    bits: int = 64
    seed: int = 0
    encoder: str = "torch"

    def __post_init__(self) -> None:
        numbers = (*self.sizes, self.clients, self.repeats, self.k)
        if min(numbers) < 1 or self.seconds <= 0 or self.requests < 0:
            raise SettingError("sizes and repeats of a benchmark must be 1 or more.")
        if self.kind not in KINDS:
            raise SettingError(f"codes are {' or '.join(KINDS)}; got '{self.kind}'.")


def serve_benchmark(sizes: Sizes, progress: Progress = silent) -> dict[str, Any]:
    """Measure both services in alternation, driven by a process of their own.

    Returns:
        Every case: plain numbers, lists and dictionaries.
    """
    faiss = load_faiss()
    method, texts = small_model(sizes.bits, sizes.seed)
    bodies = [json.dumps({"text": text, "k": sizes.k}) for text in texts]
    cases = []
    with tempfile.TemporaryDirectory(prefix="fdch-bench-") as place:
        for size in sizes.sizes:
            folder = Path(place) / str(size)
            folder.mkdir()
            codes = Source(sizes.kind, sizes.bits, sizes.seed).draw(size, 1)
            _build(folder, method, codes)
            cases.append(_Case(folder, sizes, bodies, progress).measure(size))
    return {
        "benchmark": "serve",
        "faiss": faiss.__version__,
        "clients": sizes.clients,
        "seconds": sizes.seconds,
        "k": sizes.k,
        "bits": sizes.bits,
        "encoder": sizes.encoder,
        "cases": cases,
    }


def _build(folder: Path, method: Any, codes: Codes) -> None:
    """Write the codes for both sides; their ids are running numbers."""
    np.save(folder / "codes.npy", codes.packed)
    with Index.create(folder / "index", method) as index:
        index.add_numbered(codes, model=index.fingerprint)


class _Case:
    """The servers of one index, asked in turns."""

    def __init__(
        self, folder: Path, sizes: Sizes, bodies: list[str], progress: Progress
    ) -> None:
        self.folder, self.sizes, self.bodies = folder, sizes, bodies
        self.progress = progress
        self.servers: dict[str, ServerProcess] = {}

    def measure(self, size: int) -> dict[str, Any]:
        """Start the servers, alternate between them, stop them."""
        with ExitStack() as stack:
            for name, words, path in self._commands():
                server = ServerProcess(words, path)
                self.servers[name] = stack.enter_context(server)
            agree = self._answers_agree()
            for server in self.servers.values():
                self._drive(server, WARMING_SECONDS)
            turns = self._turns()
            watched = self._watch() if self.sizes.requests else None
        found = {name: _summary(turns[name]) for name in turns}
        peers = [
            max(turns[way][turn]["per_second"] for way in WAYS)
            for turn in range(self.sizes.repeats)
        ]
        own = [turn["per_second"] for turn in turns[OURS]]
        return {
            "size": size,
            "kind": self.sizes.kind,
            "answers_agree": agree,
            "sides": found,
            "ratio": spread([o / p for o, p in zip(own, peers, strict=True)]),
            "errors": sum(side["errors"] for side in found.values()),
            "watched": watched,
        }

    def _commands(self) -> list[tuple[str, list[str], str]]:
        index, codes = self.folder / "index", self.folder / "codes.npy"
        python = [sys.executable, "-m"]
        words = [*python, "fdch", "serve", str(index), "--port", "0", "--quiet"]
        words += ["--encoder", self.sizes.encoder]
        peer = [*python, "fdch.bench.faiss_server", str(index), str(codes)]
        return [
            (OURS, words, "/v1/search"),
            *((way, [*peer, way], "/search") for way in WAYS),
        ]

    def _answers_agree(self) -> bool:
        """Tell whether all give results at the same distances."""
        return all(
            len({tuple(s.distances(body)) for s in self.servers.values()}) == 1
            for body in self.bodies[:CHECKED]
        )

    def _turns(self) -> dict[str, list[dict[str, Any]]]:
        turns: dict[str, list[dict[str, Any]]] = {name: [] for name in self.servers}
        done, total = 0, self.sizes.repeats * len(self.servers)
        for _ in range(self.sizes.repeats):
            for name, server in self.servers.items():
                spent = server.processor_seconds()
                turn = self._drive(server, self.sizes.seconds)
                turn["processor_seconds"] = server.processor_seconds() - spent
                turns[name].append({**turn, "memory_bytes": server.memory()})
                done += 1
                self.progress(Update("asking", done, total, "turn"))
        return turns

    def _drive(
        self, server: ServerProcess, seconds: float, requests: int | None = None
    ) -> dict[str, Any]:
        """Let a second process ask."""
        load = Load(
            server.port,
            server.path,
            self.bodies,
            self.sizes.clients,
            seconds,
            requests,
        )
        done = subprocess.run(
            [sys.executable, "-m", "fdch.bench.load"],
            input=json.dumps(load.to_json()),
            capture_output=True,
            text=True,
            check=True,
        )
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def _watch(self) -> dict[str, Any]:
        """Send many requests in ten parts; give the memory held after each."""
        server, held, errors, sent = self.servers[OURS], [], 0, 0
        for part in range(10):
            turn = self._drive(server, 3600, self.sizes.requests // 10)
            held.append(server.memory())
            errors += sum(turn["errors"].values())
            sent += turn["requests"]
            self.progress(Update("watching memory", part + 1, 10, "part"))
        return {
            "requests": sent,
            "errors": errors,
            "memory_bytes": held,
            "growth_bytes": held[-1] - held[0],
        }


def _summary(turns: list[dict[str, Any]]) -> dict[str, Any]:
    """Put the turns of one side together."""
    return {
        "per_second": spread([turn["per_second"] for turn in turns]),
        "milliseconds": {
            f"p{share}": spread([turn["milliseconds"][f"p{share}"] for turn in turns])
            for share in PERCENTILES
        },
        "requests": sum(turn["requests"] for turn in turns),
        "errors": sum(sum(turn["errors"].values()) for turn in turns),
        # of a request; hardly moved by what else runs on the machine
        "processor_milliseconds": spread(
            [1000 * turn["processor_seconds"] / turn["requests"] for turn in turns]
        ),
        "memory_bytes": [turn["memory_bytes"] for turn in turns],
        "load_share": sum(turn["load_seconds"] for turn in turns)
        / sum(turn["seconds"] for turn in turns),
    }
