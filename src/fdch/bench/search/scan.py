"""Speed of the full scan, beside FAISS and beside a loop that only counts."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from fdch.bench.clustered_codes import KINDS, Kind, Source
from fdch.bench.timing import alternate, ratio, repeat, seconds, spread
from fdch.codes import Codes
from fdch.errors import MissingExtra, SettingError
from fdch.index.search.gallery import Found, Gallery, Part, row_words
from fdch.index.search.lookup import nearest, warm
from fdch.index.search.rows import flat, row_shape
from fdch.index.search.threads import ranges, share
from fdch.machine import peak_memory
from fdch.progress import Progress, Update, silent

CHECKED = 3  # queries whose answers NumPy finds, too
MIN_SECONDS = 0.05  # a turn of short calls makes as many as fill this
MAX_CALLS = 50


@dataclass(frozen=True)
class Sizes:
    """What is measured: every combination of these."""

    sizes: Sequence[int] = (1_000_000,)
    bits: Sequence[int] = (64,)
    batches: Sequence[int] = (1, 100, 2000)
    threads: Sequence[int] = (1, 2)
    kinds: Sequence[Kind] = KINDS
    k: int = 100
    repeats: int = 3
    peer_queries: int = 200  # of a batch, for the peers; their time is scaled up
    seed: int = 0

    def __post_init__(self) -> None:
        if self.k > min(self.sizes):
            raise SettingError(f"k = {self.k} is more than {min(self.sizes)} codes.")

    def sources(self, given: Codes | None) -> list[tuple[int, Source]]:
        """List the galleries: their sizes, and where their codes come from."""
        return [
            (size, Source(kind, bits, self.seed, given))
            for size, bits, kind in product(self.sizes, self.bits, self.kinds)
        ]


def load_faiss() -> Any:
    """Import FAISS, its idle threads asleep."""
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        import faiss
    except ImportError as error:
        raise MissingExtra("comparing with FAISS", "bench") from error
    return faiss


def scan_benchmark(
    sizes: Sizes, given: Codes | None = None, progress: Progress = silent
) -> dict[str, Any]:
    """Time exact top-k search, all sides taking turns in one process.

    `given` are codes that the kind "given" repeats. Every case is reported as it is
    done, so that a run broken off is not all lost.
    """
    faiss, cases = load_faiss(), []
    sources = sizes.sources(given)
    total = len(sources) * len(sizes.batches) * len(sizes.threads)
    for size, source in sources:
        for case in _cases(faiss, source, size, sizes):
            cases.append(case)
            task = (
                f"{size:,} {source.kind} codes of {source.bits} bits, "
                f"batches of {case['batch']:,}, threads {case['threads']}"
            )
            figures = {
                "queries/s": case["queries_per_second"],
                "x FAISS": case["ratio"]["median"],
                "of bound": case["of_bound"]["median"],
            }
            progress(Update(task, len(cases), total, "case", figures))
    return {
        "faiss": faiss.__version__,
        "cases": cases,
        "ratio": spread([case["ratio"]["median"] for case in cases]),
        "of_bound": spread([case["of_bound"]["median"] for case in cases]),
        "answers_agree": all(case["answers_agree"] for case in cases),
        "peak_memory_bytes": peak_memory(),
    }


def _cases(
    faiss: Any, source: Source, size: int, sizes: Sizes
) -> Iterator[dict[str, Any]]:
    """Measure all batches and threads on one gallery."""
    codes = source.draw(size, 1)
    queries = source.draw(max(*sizes.batches, MAX_CALLS), 2)
    gallery = Gallery(source.bits, (Part(row_words(codes), 0),))
    peer = faiss.IndexBinaryFlat(source.bits)
    peer.add(codes.packed)
    warm(source.bits)
    truth = nearest(gallery, queries[:CHECKED], sizes.k, engine="numpy")
    for batch, threads in product(sizes.batches, sizes.threads):
        faiss.omp_set_num_threads(threads)
        sides = _Sides(gallery, peer, queries, batch, threads, sizes)
        yield {
            "kind": source.kind,
            "size": size,
            "bits": source.bits,
            "batch": batch,
            "threads": threads,
            "k": sizes.k,
            **sides.measure(),
            "answers_agree": sides.agrees(truth),
        }


@dataclass
class _Sides:
    """Our scan, FAISS in both settings, and the loop that only counts."""

    gallery: Gallery
    peer: Any
    queries: Codes
    batch: int
    threads: int
    sizes: Sizes

    def __post_init__(self) -> None:
        self.some = min(self.batch, self.sizes.peer_queries)
        found = nearest(self.gallery, self.queries, 1, threads=self.threads)
        # As in a scan: a threshold that few codes are below.
        limits = [int(one.distances[0]) for one in found]
        self.limits = np.array(limits, dtype=np.int64)
        self.rows = flat(self.gallery.parts[0].rows)
        self.query_words = flat(row_words(self.queries))

    def ours(self, call: int) -> list[Found]:
        """Search for a whole batch."""
        first = self._first(call, self.batch)
        queries = self.queries[first : first + self.batch]
        return nearest(self.gallery, queries, self.sizes.k, threads=self.threads)

    def faiss(self, call: int, use_heap: bool) -> None:
        """Let FAISS search for as much of the batch as it is timed on."""
        self.peer.use_heap = use_heap
        first = self._first(call, self.some)
        self.peer.search(self.queries[first : first + self.some].packed, self.sizes.k)

    def count(self, call: int) -> None:
        """Only count codes under a threshold."""
        from fdch.bench.search.counting_loop import count_below

        words = row_shape(self.gallery.bits)
        first = self._first(call, self.some)
        stop = first + self.some
        queries = self.query_words[first * len(words) : stop * len(words)]
        tasks = [
            partial(
                count_below, self.rows, words, *rows, queries, self.limits[first:stop]
            )
            for rows in ranges(0, len(self.gallery), self.threads)
        ]
        share(tasks, self.threads)

    def measure(self) -> dict[str, Any]:
        """Time all sides in alternation, after one untimed call of each."""
        sides: dict[str, Callable[[int], object]] = {
            "ours": self.ours,
            "faiss_heap": partial(self.faiss, use_heap=True),
            "faiss_counter": partial(self.faiss, use_heap=False),
            "bound": self.count,
        }
        for side in sides.values():
            side(0)
        once = seconds(lambda: self.ours(1))
        calls = max(1, min(MAX_CALLS, int(MIN_SECONDS / max(once, 1e-6))))
        works = {name: repeat(side, calls) for name, side in sides.items()}
        turns = {}
        for name, times in alternate(works, self.sizes.repeats).items():
            scale = 1.0 if name == "ours" else self.batch / self.some
            turns[name] = [time / calls * scale for time in times]
        own = turns["ours"]
        peers = [*map(min, turns["faiss_heap"], turns["faiss_counter"])]
        return {
            "seconds": {name: spread(values) for name, values in turns.items()},
            "queries_per_second": self.batch / spread(own)["median"],
            "peer_queries": self.some,
            "ratio": ratio(peers, own),
            "of_bound": ratio(turns["bound"], own),
        }

    def agrees(self, truth: Sequence[Found]) -> bool:
        """Return whether answers are NumPy's, and distances FAISS's."""
        queries = self.queries[: max(self.batch, CHECKED)]
        found = nearest(self.gallery, queries, self.sizes.k, threads=self.threads)
        distances, _ = self.peer.search(queries[:CHECKED].packed, self.sizes.k)
        return is_same(found[:CHECKED], truth) and all(
            np.array_equal(ours.distances, far)
            for ours, far in zip(found, distances, strict=False)
        )

    def _first(self, call: int, number: int) -> int:
        """Return the first query of a call: small batches differ from call to call."""
        return call % (len(self.queries) - number + 1)


def is_same(found: Sequence[Found], truth: Sequence[Found]) -> bool:
    """Compare rows and distances."""
    return all(
        np.array_equal(ours.numbers, right.numbers)
        and np.array_equal(ours.distances, right.distances)
        for ours, right in zip(found, truth, strict=True)
    )
