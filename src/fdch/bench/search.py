"""Exact search beside FAISS: the scan, and what compaction adds."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from time import perf_counter
from typing import Any

import numpy as np

from fdch.bench.clustered_codes import Kind, Source
from fdch.bench.timing import ratio, seconds, spread, time_turns
from fdch.codes import Codes
from fdch.errors import MissingExtra, SettingError
from fdch.index.search.buckets import Buckets
from fdch.index.search.gallery import Found, Gallery, Part
from fdch.index.search.groups import Grouping
from fdch.index.search.lookup import nearest, warm, within
from fdch.index.search.rows import row_words
from fdch.machine import peak_memory
from fdch.progress import Progress, Update, silent

CHECKED = 3  # queries whose answers NumPy finds, too
MIN_SECONDS = 0.05  # a turn of short calls makes as many as fill this
MAX_CALLS = 50
# of IndexBinaryIVF
LISTS = 4096
TRAINED_ON = 64  # codes to a list
MAX_PROBES = 256
# of IndexBinaryMultiHash
TABLES, TABLE_BITS = 3, 21
BATCH = 1000
FEW = 100
SMALL_RADII, LOOKUPS = (0, 1, 2), 300  # single queries, beside MultiHash
LARGE_RADII, SCANNED_LOOKUPS = (4, 8, 12, 16, 24), 100  # beside our scan


@dataclass(frozen=True)
class SearchSizes:
    """Cases to measure: all combinations of sizes, bits, kinds, batches and threads.

    FAISS is timed on at most `peer_queries` of a batch, and its time is scaled up.
    """

    sizes: Sequence[int]
    bits: Sequence[int]
    batches: Sequence[int]
    threads: Sequence[int]
    kinds: Sequence[Kind]
    k: int
    repeats: int
    peer_queries: int
    seed: int = 0
    given: Codes | None = None  # what the kind "given" repeats

    def __post_init__(self) -> None:
        if self.k > min(self.sizes):
            raise SettingError(f"k = {self.k} is more than {min(self.sizes)} codes.")

    def sources(self) -> list[tuple[int, Source]]:
        """List the galleries: their sizes, and where their codes come from."""
        return [
            (size, Source(kind, bits, self.seed, self.given))
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


def search_benchmark(
    sizes: SearchSizes, parts: Sequence[str], progress: Progress = silent
) -> dict[str, Any]:
    """Measure the scan, what compaction adds, or both."""
    measures = {"scan": scan_benchmark, "compacted": compacted_benchmark}
    return {
        name: measure(sizes, progress)
        for name, measure in measures.items()
        if name in parts
    }


def scan_benchmark(sizes: SearchSizes, progress: Progress = silent) -> dict[str, Any]:
    """Time exact top-k search beside IndexBinaryFlat, all sides taking turns."""
    faiss, cases = load_faiss(), list[dict[str, Any]]()
    total = len(sizes.sources()) * len(sizes.batches) * len(sizes.threads)
    for size, source in sizes.sources():
        codes = source.draw(size, 1)
        queries = source.draw(max(*sizes.batches, MAX_CALLS), 2)
        gallery = Gallery(source.bits, (Part(row_words(codes), 0),))
        peer = faiss.IndexBinaryFlat(source.bits)
        peer.add(codes.packed)
        warm(source.bits)
        truth = nearest(gallery, queries[:CHECKED], sizes.k, engine="numpy")
        for batch, threads in product(sizes.batches, sizes.threads):
            faiss.omp_set_num_threads(threads)
            search = partial(nearest, gallery, k=sizes.k, threads=threads)
            about = {"kind": source.kind, "size": size, "bits": source.bits}
            about |= {"batch": batch, "threads": threads, "k": sizes.k}
            found = search(queries[: max(batch, CHECKED)])[:CHECKED]
            distances, _ = peer.search(queries[:CHECKED].packed, sizes.k)
            agrees = is_same(found, truth) and all(
                np.array_equal(one.distances, far)
                for one, far in zip(found, distances, strict=True)
            )
            measured = _time_scan(search, peer, queries, batch, sizes)
            cases.append({**about, **measured, "answers_agree": agrees})
            progress(Update("scan", len(cases), total, "case"))
    return {
        "faiss": faiss.__version__,
        "cases": cases,
        "ratio": spread([case["ratio"]["median"] for case in cases]),
        "answers_agree": all(case["answers_agree"] for case in cases),
        "peak_memory_bytes": peak_memory(),
    }


def _time_scan(
    search: Callable[[Codes], object],
    peer: Any,
    queries: Codes,
    batch: int,
    sizes: SearchSizes,
) -> dict[str, Any]:
    """Time our scan and FAISS in both settings, of which the faster one counts."""
    some = min(batch, sizes.peer_queries)

    def pick(call: int, number: int) -> Codes:
        first = call % (len(queries) - number + 1)  # other queries in each call
        return queries[first : first + number]

    def ask_faiss(use_heap: bool, call: int) -> None:
        peer.use_heap = use_heap
        peer.search(pick(call, some).packed, sizes.k)

    sides: dict[str, Callable[[int], object]] = {
        "ours": lambda call: search(pick(call, batch)),
        "faiss_heap": partial(ask_faiss, True),
        "faiss_counter": partial(ask_faiss, False),
    }
    for side in sides.values():
        side(0)
    once = seconds(lambda: sides["ours"](1))
    calls = max(1, min(MAX_CALLS, int(MIN_SECONDS / max(once, 1e-6))))

    def several(side: Callable[[int], object]) -> Callable[[int], object]:
        return lambda turn: [side(call) for call in range(calls)]

    works = {name: several(side) for name, side in sides.items()}
    turns = {}
    for name, times in time_turns(works, sizes.repeats).items():
        scale = 1.0 if name == "ours" else batch / some
        turns[name] = [time / calls * scale for time in times]
    peers = [*map(min, turns["faiss_heap"], turns["faiss_counter"])]
    return {
        "seconds": {name: spread(values) for name, values in turns.items()},
        "queries_per_second": batch / spread(turns["ours"])["median"],
        "peer_queries": some,
        "ratio": ratio(peers, turns["ours"]),
    }


def compacted_benchmark(
    sizes: SearchSizes, progress: Progress = silent
) -> dict[str, Any]:
    """Time grouped and bucketed search on one thread, against FAISS and our scan."""
    faiss, cases = load_faiss(), list[dict[str, Any]]()
    faiss.omp_set_num_threads(1)
    for size, source in sizes.sources():
        codes, bits = source.draw(size, 1), source.bits
        rows = row_words(codes)
        warm(bits)
        began = perf_counter()
        groups = Grouping.build(rows, bits)
        grouped = perf_counter()
        stored = rows if groups is None else groups.rows
        sorted_at = perf_counter()
        buckets = Buckets.build(stored, bits)
        done = perf_counter()
        kept = [part.arrays() for part in (groups, buckets) if part is not None]
        more = sum(values.nbytes for arrays in kept for values in arrays.values())
        sides = _Compacted(
            faiss,
            codes,
            source.draw(BATCH, 2),
            plain=Gallery(bits, (Part(rows, 0),)),
            compacted=Gallery(bits, (Part(rows, 0, None, groups, buckets),)),
        )
        cases.append(
            {
                "kind": source.kind,
                "size": size,
                "bits": bits,
                "groups": 0 if groups is None else len(groups.reaches),
                "grouping_seconds": grouped - began,
                "bucket_seconds": done - sorted_at,
                "bytes_per_code": (rows.nbytes + more) / size,
                "nearest": sides.measure_nearest(sizes.k, sizes.repeats),
                "within": sides.measure_within(),
            }
        )
        progress(Update("compacted", len(cases), len(sizes.sources()), "gallery"))
    return {"faiss": faiss.__version__, "cases": cases}


@dataclass
class _Compacted:
    """The same codes, plain and compacted, with FAISS beside them."""

    faiss: Any
    codes: Codes
    queries: Codes
    plain: Gallery
    compacted: Gallery

    def measure_nearest(self, k: int, repeats: int) -> dict[str, Any]:
        """Time top-k in batches of 1,000, beside IVF and beside the plain scan."""
        queries, few = self.queries, self.queries[:FEW]
        truth = nearest(self.plain, queries, k, threads=1)
        found = nearest(self.compacted, queries, k, threads=1)
        ivf, probes = self._smallest_ivf(truth, k)
        works: dict[str, Callable[[int], object]] = {
            "own": lambda _: nearest(self.compacted, queries, k, threads=1),
            "ivf": lambda _: ivf.search(queries.packed, k),
            "own_few": lambda _: nearest(self.compacted, few, k, threads=1),
            "scan_few": lambda _: nearest(self.plain, few, k, threads=1),
        }
        turns = time_turns(works, repeats)
        return {
            "batch": len(queries),
            "queries_per_second": spread([len(queries) / t for t in turns["own"]]),
            "ivf_lists": ivf.nlist,
            "ivf_probes": probes,
            "ivf_is_exact": probes is not None,
            "ivf_queries_per_second": spread([len(queries) / t for t in turns["ivf"]]),
            "ratio": ratio(turns["ivf"], turns["own"]),
            "scan_ratio": ratio(turns["scan_few"], turns["own_few"]),
            "answers_agree": is_same(found, truth),
        }

    def _smallest_ivf(self, truth: Sequence[Found], k: int) -> tuple[Any, int | None]:
        """Build FAISS's lists; find the fewest probes with all distances right."""
        codes = self.codes
        lists = min(LISTS, max(1, len(codes) // TRAINED_ON))
        quantizer = self.faiss.IndexBinaryFlat(codes.bits)
        index = self.faiss.IndexBinaryIVF(quantizer, codes.bits, lists)
        index.quantizer_of_ours = quantizer  # FAISS does not keep it alive itself
        step = max(1, len(codes) // (lists * TRAINED_ON))
        index.train(np.ascontiguousarray(codes.packed[::step]))
        index.add(codes.packed)
        right = np.stack([found.distances for found in truth])
        probes = 1
        while probes <= min(lists, MAX_PROBES):
            index.nprobe = probes
            distances, _ = index.search(self.queries.packed, k)
            if np.array_equal(distances, right):
                return index, probes
            probes *= 2
        return index, None

    def measure_within(self) -> list[dict[str, Any]]:
        """Time single queries of a radius, beside MultiHash and beside the scan."""
        cases, bits = [], self.codes.bits
        if bits >= TABLES * TABLE_BITS:
            peer = self.faiss.IndexBinaryMultiHash(bits, TABLES, TABLE_BITS)
            peer.add(self.codes.packed)
            peer.nflip = 0  # enough up to radius 2, by the same argument as ours
            cases += [self._small_radius(peer, radius) for radius in SMALL_RADII]
        cases += [self._large_radius(radius) for radius in LARGE_RADII if radius < bits]
        return cases

    def _small_radius(self, peer: Any, radius: int) -> dict[str, Any]:
        def look_up(row: int) -> Any:
            return peer.range_search(self.queries[row].packed, radius + 1)

        name = f"MultiHash {TABLES} x {TABLE_BITS}"
        case = self._time_lookups(radius, look_up, name, LOOKUPS)
        for row in range(CHECKED * 10):
            [found] = within(self.compacted, self.queries[row], radius)
            distances = np.sort(look_up(row)[1])
            case["answers_agree"] &= np.array_equal(distances, found.distances)
        return case

    def _large_radius(self, radius: int) -> dict[str, Any]:
        def scan(row: int) -> object:
            return within(self.plain, self.queries[row], radius, threads=1)

        return self._time_lookups(radius, scan, "scan", SCANNED_LOOKUPS)

    def _time_lookups(
        self, radius: int, peer: Callable[[int], object], name: str, number: int
    ) -> dict[str, Any]:
        """Time two sides query by query, a turn for each."""

        def own(row: int) -> object:
            return within(self.compacted, self.queries[row], radius, threads=1)

        turns = time_turns({"own": own, "peer": peer}, number)
        few = self.queries[:CHECKED]
        truth = within(self.plain, few, radius, engine="numpy")
        return {
            "radius": radius,
            "peer": name,
            "microseconds": _microseconds(turns["own"]),
            "peer_microseconds": _microseconds(turns["peer"]),
            "ratio": float(np.median(turns["peer"]) / np.median(turns["own"])),
            "answers_agree": is_same(within(self.compacted, few, radius), truth),
        }


def _microseconds(values: Sequence[float]) -> dict[str, float]:
    return {
        "median": float(np.median(values)) * 1e6,
        "p99": float(np.percentile(values, 99)) * 1e6,
    }


def is_same(found: Sequence[Found], truth: Sequence[Found]) -> bool:
    """Compare rows and distances."""
    return all(
        np.array_equal(ours.numbers, right.numbers)
        and np.array_equal(ours.distances, right.distances)
        for ours, right in zip(found, truth, strict=True)
    )
