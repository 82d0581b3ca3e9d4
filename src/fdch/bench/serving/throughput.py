"""Throughput and latency of the service beside FAISS behind FastAPI."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fdch.bench.clustered_codes import Kind, Source
from fdch.bench.search import load_faiss
from fdch.bench.serving.faiss_server import WAYS
from fdch.bench.serving.load import PERCENTILES, Load
from fdch.bench.serving.server_process import ServerProcess
from fdch.bench.timing import ratio, spread, take_turns
from fdch.data.pairs import PairedSet
from fdch.data.pictures.images import ImageFeatures
from fdch.data.texts import Sentences
from fdch.methods._base import HashMethod
from fdch.methods.fdch import FDCH
from fdch.progress import Progress, silent
from fdch.retrieval.index import Index

WARMING_SECONDS = 1.0
CHECKED = 3
OURS = "fdch"
PAIRS, WIDTH, QUERIES = 512, 64, 256


@dataclass(frozen=True)
class LoadSizes:
    """What is measured, for every number of codes in the index."""

    sizes: Sequence[int]
    kind: Kind
    clients: int
    seconds: float  # of each turn of each side
    repeats: int
    k: int
    bits: int
    seed: int
    encoder: str  # of the service: "torch" or "onnx"


def serve_benchmark(sizes: LoadSizes, progress: Progress = silent) -> dict[str, Any]:
    """Measure both services in alternation, driven by a process of their own."""
    faiss = load_faiss()
    method, texts = small_model(sizes.bits, sizes.seed)
    bodies = [json.dumps({"text": text, "k": sizes.k}) for text in texts]
    cases = []
    for size in sizes.sizes:
        with tempfile.TemporaryDirectory(prefix="fdch-bench-") as place:
            codes = Source(sizes.kind, sizes.bits, sizes.seed).draw(size, 1)
            np.save(Path(place) / "codes.npy", codes.packed)
            with Index.create(Path(place) / "index", method) as index:
                index.add_numbered(codes, model=index.fingerprint)
            found = _Case(Path(place), sizes, bodies, progress).measure()
        cases.append({"size": size, **found})
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


def small_model(bits: int, seed: int = 0) -> tuple[HashMethod, list[str]]:
    """Train FDCH with the usual text network, in a second; return captions too."""
    scenes = PairedSet.read(f"scenes:{PAIRS}")
    rng = np.random.default_rng(seed)
    features = scenes.labels @ rng.standard_normal((scenes.labels.shape[1], WIDTH))
    pairs = replace(scenes, images=ImageFeatures(features.astype(np.float32)))
    method = FDCH(bits=bits, seed=seed, stage_one_epochs=2, stage_two_epochs=2)
    assert isinstance(scenes.texts, Sentences)
    return method.fit(pairs), [str(text) for text in scenes.texts.values[:QUERIES]]


@dataclass
class _Case:
    """The servers of one index, which take turns."""

    folder: Path
    sizes: LoadSizes
    bodies: list[str]
    progress: Progress

    def measure(self) -> dict[str, Any]:
        """Start the servers, alternate between them, stop them."""
        with ExitStack() as stack:
            servers = {
                name: stack.enter_context(server)
                for name, server in self._servers().items()
            }
            agree = all(
                len({tuple(one.distances(body)) for one in servers.values()}) == 1
                for body in self.bodies[:CHECKED]
            )
            for server in servers.values():
                self._drive(server, WARMING_SECONDS)
            sides = {
                name: partial(self._turn, server) for name, server in servers.items()
            }
            turns = take_turns(sides, self.sizes.repeats, self.progress, "queries")
        found = {name: _summary(turns[name]) for name in turns}
        rates = {name: side["per_second"]["all"] for name, side in found.items()}
        return {
            "kind": self.sizes.kind,
            "answers_agree": agree,
            "sides": found,
            "ratio": ratio(rates[OURS], [*map(max, *(rates[way] for way in WAYS))]),
            "errors": sum(side["errors"] for side in found.values()),
        }

    def _servers(self) -> dict[str, ServerProcess]:
        index, codes = str(self.folder / "index"), str(self.folder / "codes.npy")
        python = [sys.executable, "-m"]
        words = [*python, "fdch", "serve", index, "--port", "0", "--quiet"]
        words += ["--encoder", self.sizes.encoder]
        words += ["--most-connections", str(max(128, self.sizes.clients))]
        peer = [*python, "fdch.bench.serving.faiss_server", index, codes]
        peers = {way: ServerProcess([*peer, way], "/search") for way in WAYS}
        return {OURS: ServerProcess(words, "/v1/search"), **peers}

    def _turn(self, server: ServerProcess, turn: int) -> dict[str, Any]:
        spent = server.processor_seconds()
        found = self._drive(server, self.sizes.seconds)
        found["processor_seconds"] = server.processor_seconds() - spent
        return {**found, "memory_bytes": server.memory()}

    def _drive(self, server: ServerProcess, seconds: float) -> dict[str, Any]:
        """Let a second process send queries."""
        load = Load(server.port, server.path, self.bodies, self.sizes.clients, seconds)
        done = subprocess.run(
            [sys.executable, "-m", "fdch.bench.serving.load"],
            input=json.dumps(asdict(load)),
            capture_output=True,
            text=True,
            check=True,
        )
        found: dict[str, Any] = json.loads(done.stdout)
        return found


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
        # per request; other load on the machine hardly changes it
        "processor_milliseconds": spread(
            [1000 * turn["processor_seconds"] / turn["requests"] for turn in turns]
        ),
        "memory_bytes": [turn["memory_bytes"] for turn in turns],
        "load_share": sum(turn["load_seconds"] for turn in turns)
        / sum(turn["seconds"] for turn in turns),
    }
