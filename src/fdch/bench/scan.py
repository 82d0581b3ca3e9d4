"""Speed of the full scan, beside FAISS and beside a loop that only counts."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fdch.bench.clustered_codes import KINDS, Kind, Source
from fdch.bench.timing import seconds, spread
from fdch.codes import Codes
from fdch.errors import MissingExtra, SettingError
from fdch.index.search.gallery import Found, Gallery, Part, row_words
from fdch.index.search.lookup import nearest, warm
from fdch.index.search.rows import flat, row_length
from fdch.index.search.threads import ranges, share
from fdch.machine import peak_memory
from fdch.progress import Progress, Update, silent

CHECKED = 3  # queries whose answers NumPy finds, too
MIN_SECONDS = 0.05  # a turn of short calls makes as many as fill this
MAX_CALLS = 50


@dataclass(frozen=True)
class Sizes:
    """What is measured: every combination of these.

    Args:
        sizes: Codes in the gallery.
        bits: Their lengths.
        batches: Queries of a call.
        threads: Threads that share a call.
        kinds: Of codes.
        k: Answers to a query.
        repeats: Turns of each side.
        peer_queries: FAISS and the counting loop are timed on so many queries of a
            batch at most, their time scaled up.
        seed: Of the codes.
    """

    sizes: Sequence[int] = (1_000_000,)
    bits: Sequence[int] = (64,)
    batches: Sequence[int] = (1, 100, 2000)
    threads: Sequence[int] = (1, 2)
    kinds: Sequence[Kind] = KINDS
    k: int = 100
    repeats: int = 3
    peer_queries: int = 200
    seed: int = 0

    def __post_init__(self) -> None:
        numbers = (*self.sizes, *self.bits, *self.batches, *self.threads)
        if min(*numbers, self.k, self.repeats, self.peer_queries) < 1:
            raise SettingError("sizes and repeats of a benchmark must be 1 or more.")
        if self.k > min(self.sizes):
            raise SettingError(f"k = {self.k} is more than {min(self.sizes)} codes.")


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

    Args:
        sizes: What is measured.
        given: Codes that the kind "given" repeats.
        progress: Told after each case.

    Returns:
        Every case, and the least and median ratios over all: plain numbers, lists
        and dictionaries.
    """
    faiss, cases = load_faiss(), []
    places = len(sizes.sizes) * len(sizes.bits) * len(sizes.kinds)
    total = places * len(sizes.batches) * len(sizes.threads)
    for size in sizes.sizes:
        for bits in sizes.bits:
            for kind in sizes.kinds:
                source = Source(kind, bits, sizes.seed, given)
                for case in _cases(faiss, source, size, sizes):
                    cases.append(case)
                    progress(_told(case, len(cases), total))
    ratios = [case["ratio"]["median"] for case in cases]
    bounds = [case["of_bound"]["median"] for case in cases]
    return {
        "faiss": faiss.__version__,
        "cases": cases,
        "ratio": spread(ratios),
        "of_bound": spread(bounds),
        "answers_agree": all(case["answers_agree"] for case in cases),
        "peak_memory_bytes": peak_memory(),
    }


def _told(case: dict[str, Any], done: int, total: int) -> Update:
    """Tell of a case as it is done, so that a run broken off is not all lost."""
    task = (
        f"{case['size']:,} {case['kind']} codes of {case['bits']} bits, "
        f"batches of {case['batch']:,}, threads {case['threads']}"
    )
    figures = {
        "queries/s": case["queries_per_second"],
        "x FAISS": case["ratio"]["median"],
        "of bound": case["of_bound"]["median"],
    }
    return Update(task, done, total, "case", figures)


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
    for batch in sizes.batches:
        for threads in sizes.threads:
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


class _Sides:
    """Our scan, FAISS in both settings, and the loop that only counts."""

    def __init__(
        self,
        gallery: Gallery,
        peer: Any,
        queries: Codes,
        batch: int,
        threads: int,
        sizes: Sizes,
    ) -> None:
        self.gallery, self.peer, self.sizes = gallery, peer, sizes
        self.queries, self.batch, self.threads = queries, batch, threads
        self.some = min(batch, sizes.peer_queries)
        found = nearest(gallery, queries, 1, threads=threads)
        # What a scan meets: a threshold that hardly any code is below.
        limits = [int(one.distances[0]) for one in found]
        self.limits = np.array(limits, dtype=np.int64)
        self.rows, self.asked = flat(gallery.parts[0].rows), flat(row_words(queries))

    def ours(self, call: int) -> list[Found]:
        """Search for a whole batch."""
        queries = self._queries(call, self.batch)
        return nearest(self.gallery, queries, self.sizes.k, threads=self.threads)

    def faiss(self, call: int, use_heap: bool) -> tuple[NDArray[Any], NDArray[Any]]:
        """Let FAISS search for as much of the batch as it is timed on."""
        self.peer.use_heap = use_heap
        packed = self._queries(call, self.some).packed
        distances, numbers = self.peer.search(packed, self.sizes.k)
        return distances, numbers

    def count(self, call: int) -> None:
        """Only count codes under a threshold."""
        from fdch.bench.counting_loop import count_below

        bits, size = self.gallery.bits, len(self.gallery)
        words = row_length(bits)
        by_rows = 1 if self.some >= 8 * self.threads else self.threads
        by_queries = 1 if by_rows > 1 else self.threads
        first = self._first(call, self.some)

        def work(rows: tuple[int, int], start: int, stop: int) -> None:
            asked = self.asked[start * words : stop * words]
            count_below(self.rows, words, *rows, asked, self.limits[start:stop])

        tasks = [
            lambda rows=rows, piece=piece: work(rows, *piece)
            for rows in ranges(0, size, by_rows)
            for piece in ranges(first, first + self.some, by_queries)
        ]
        share(tasks, self.threads)

    def measure(self) -> dict[str, Any]:
        """Time all sides in alternation, after one untimed call of each."""
        sides: dict[str, Callable[[int], object]] = {
            "ours": self.ours,
            "faiss_heap": lambda call: self.faiss(call, True),
            "faiss_counter": lambda call: self.faiss(call, False),
            "bound": self.count,
        }
        scale = self.batch / self.some
        for side in sides.values():
            side(0)
        once = seconds(lambda: self.ours(1))
        calls = max(1, min(MAX_CALLS, int(MIN_SECONDS / max(once, 1e-6))))
        turns: dict[str, list[float]] = {name: [] for name in sides}
        for _ in range(self.sizes.repeats):
            for name, side in sides.items():
                spent = seconds(partial(_repeat, side, calls))
                factor = 1.0 if name == "ours" else scale
                turns[name].append(spent / calls * factor)
        own = turns["ours"]
        peers = list(zip(turns["faiss_heap"], turns["faiss_counter"], strict=True))
        return {
            "seconds": {name: spread(values) for name, values in turns.items()},
            "queries_per_second": self.batch / spread(own)["median"],
            "peer_queries": self.some,
            "ratio": spread([min(p) / o for p, o in zip(peers, own, strict=True)]),
            "of_bound": spread(
                [b / o for b, o in zip(turns["bound"], own, strict=True)]
            ),
        }

    def agrees(self, truth: Sequence[Found]) -> bool:
        """Tell whether answers are NumPy's, and distances FAISS's."""
        queries = self.queries[: max(self.batch, CHECKED)]
        found = nearest(self.gallery, queries, self.sizes.k, threads=self.threads)
        distances, _ = self.peer.search(queries[:CHECKED].packed, self.sizes.k)
        return all(
            np.array_equal(ours.numbers, right.numbers)
            and np.array_equal(ours.distances, right.distances)
            and np.array_equal(ours.distances, far)
            for ours, right, far in zip(found, truth, distances, strict=False)
        )

    def _first(self, call: int, number: int) -> int:
        """Give the first query of a call: small batches differ from call to call."""
        return call % (len(self.queries) - number + 1)

    def _queries(self, call: int, number: int) -> Codes:
        first = self._first(call, number)
        return self.queries[first : first + number]


def _repeat(side: Callable[[int], object], calls: int) -> None:
    for call in range(calls):
        side(call)
