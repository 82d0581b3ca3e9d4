"""Throughput and latency of the service beside FAISS behind FastAPI."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fdch.bench.clustered_codes import ITEMS_AT_A_TIME, Kind, Source
from fdch.bench.search import load_faiss
from fdch.bench.serving.faiss_server import WAYS
from fdch.bench.serving.load import PERCENTILES, Load
from fdch.bench.serving.server_process import ServerProcess
from fdch.bench.timing import ratio, spread, take_turns
from fdch.bench.words import WORDS_A_TEXT, draw_texts
from fdch.codes import Codes
from fdch.data.pairs import PairedSet
from fdch.data.pictures.images import ImageFeatures
from fdch.data.texts import Sentences
from fdch.index.store import CodeStore, Item
from fdch.methods.fdch import FDCH
from fdch.methods.fdch_plus import FDCHPlus
from fdch.progress import Progress, silent
from fdch.retrieval.index import Index

WARMING_SECONDS = 1.0
CHECKED = 3
OURS, BY_VECTORS = "fdch", "fdch_plus"  # the second also orders candidates
BY_WORDS = "fdch_plus_words"  # and its queries match the words of texts
PAIRS, WIDTH, QUERIES = 512, 64, 256
EPOCH_SCALE = 0.01  # codes need not be good


@dataclass(frozen=True)
class LoadSizes:
    """The load to measure with, for every number of codes in the index."""

    sizes: Sequence[int]
    kind: Kind
    clients: int
    seconds: float  # of each turn of each side
    repeats: int
    k: int
    bits: int
    seed: int
    encoder: str  # of the service: "torch" or "onnx"

    @property
    def methods(self) -> dict[str, type[FDCH]]:
        """The methods to serve, by name; exported models do not order by vectors."""
        if self.encoder == "onnx":
            return {OURS: FDCH}
        return {OURS: FDCH, BY_VECTORS: FDCHPlus}


def serve_benchmark(sizes: LoadSizes, progress: Progress = silent) -> dict[str, Any]:
    """Measure both services in alternation, driven by a process of their own."""
    faiss = load_faiss()
    methods = {
        name: kind(sizes.bits, sizes.seed) for name, kind in sizes.methods.items()
    }
    for method in methods.values():
        texts = fit_small(method)
    bodies = _write_queries(texts, sizes)
    cases = []
    for size in sizes.sizes:
        with tempfile.TemporaryDirectory(prefix="fdch-bench-") as place:
            codes = Source(sizes.kind, sizes.bits, sizes.seed).draw(size, 1)
            np.save(Path(place) / "codes.npy", codes.packed)
            with Index.create(Path(place) / OURS, methods[OURS]) as index:
                index.add_numbered(codes, model=index.fingerprint)
            if plus := methods.get(BY_VECTORS):
                with Index.create(Path(place) / BY_VECTORS, plus) as index:
                    _add_texts(index.store, codes, sizes.seed)
            found = _Case(Path(place), sizes, bodies, progress).measure()
        cases.append({"size": size, **found})
    return {"faiss": faiss.__version__, "cases": cases}


def _write_queries(texts: Sequence[str], sizes: LoadSizes) -> dict[str, list[str]]:
    """Write the queries of each side: a caption, and for words two that texts have."""
    words = draw_texts(np.random.default_rng([sizes.seed, 5]), len(texts), 2)
    plain = [{"text": text, "k": sizes.k} for text in texts]
    queries = {name: plain for name in (OURS, *WAYS)}
    queries[BY_VECTORS] = [{**query, "match": "codes"} for query in plain]
    queries[BY_WORDS] = [
        {**query, "text": f"{text} {two}"}
        for query, text, two in zip(plain, texts, words, strict=True)
    ]
    return {name: [*map(json.dumps, some)] for name, some in queries.items()}


def _add_texts(store: CodeStore, codes: Codes, seed: int) -> None:
    """Add items with vectors and short texts."""
    rng = np.random.default_rng([seed, 3])
    for start in range(0, len(codes), ITEMS_AT_A_TIME):
        some = codes[start : start + ITEMS_AT_A_TIME]
        texts = enumerate(draw_texts(rng, len(some), WORDS_A_TEXT), start)
        vectors = rng.integers(-128, 128, (len(some), store.vector_bytes), np.int8)
        store.add([Item(str(n), text, kind="pair") for n, text in texts], some, vectors)


def fit_small(method: FDCH) -> list[str]:
    """Train a method with the usual text network, in seconds; return captions."""
    scenes = PairedSet.read(f"scenes:{PAIRS}")
    rng = np.random.default_rng(method.seed)
    features = scenes.labels @ rng.standard_normal((scenes.labels.shape[1], WIDTH))
    pairs = replace(scenes, images=ImageFeatures(features.astype(np.float32)))
    method.epoch_scale = EPOCH_SCALE
    method.fit(pairs)
    assert isinstance(scenes.texts, Sentences)
    return [str(text) for text in scenes.texts.values[:QUERIES]]


@dataclass
class _Case:
    """The servers of one index, which take turns."""

    folder: Path
    sizes: LoadSizes
    bodies: Mapping[str, list[str]]  # by side
    progress: Progress

    def measure(self) -> dict[str, Any]:
        """Start the servers, alternate between them, stop them."""
        with ExitStack() as stack:
            servers = {
                name: stack.enter_context(server)
                for name, server in self._servers().items()
            }
            if BY_VECTORS in servers:
                servers[BY_WORDS] = servers[BY_VECTORS]
            agree = all(
                len({tuple(servers[name].distances(body)) for name in (OURS, *WAYS)})
                == 1
                for body in self.bodies[OURS][:CHECKED]
            )
            for name, server in servers.items():
                self._drive(server, name, WARMING_SECONDS)
            sides = {
                name: partial(self._turn, server, name)
                for name, server in servers.items()
            }
            turns = take_turns(sides, self.sizes.repeats, self.progress, "queries")
        found = {name: _summary(turns[name]) for name in turns}
        rates = {name: side["per_second"]["all"] for name, side in found.items()}
        ratios = {
            "ratio": ratio(rates[OURS], [*map(max, *(rates[way] for way in WAYS))])
        }
        if BY_VECTORS in rates:
            ratios["ratio_by_vectors"] = ratio(rates[BY_VECTORS], rates[OURS])
            ratios["ratio_by_words"] = ratio(rates[BY_WORDS], rates[BY_VECTORS])
        return {
            "answers_agree": agree,
            "sides": found,
            **ratios,
            "errors": sum(side["errors"] for side in found.values()),
        }

    def _servers(self) -> dict[str, ServerProcess]:
        python = [sys.executable, "-m"]
        options = ["--port", "0", "--quiet", "--encoder", self.sizes.encoder]
        options += ["--max-connections", str(max(128, self.sizes.clients))]
        ours = {
            name: ServerProcess(
                [*python, "fdch", "serve", str(self.folder / name), *options],
                "/v1/search",
            )
            for name in self.sizes.methods
        }
        stored = [str(self.folder / name) for name in (OURS, "codes.npy")]
        peer = [*python, "fdch.bench.serving.faiss_server", *stored]
        peers = {way: ServerProcess([*peer, way], "/search") for way in WAYS}
        return {**ours, **peers}

    def _turn(self, server: ServerProcess, name: str, turn: int) -> dict[str, Any]:
        spent = server.processor_seconds()
        found = self._drive(server, name, self.sizes.seconds)
        found["processor_seconds"] = server.processor_seconds() - spent
        return {**found, "memory_bytes": server.memory()}

    def _drive(
        self, server: ServerProcess, name: str, seconds: float
    ) -> dict[str, Any]:
        """Send the queries of a side from a second process."""
        bodies, clients = self.bodies[name], self.sizes.clients
        load = Load(server.port, server.path, bodies, clients, seconds)
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
