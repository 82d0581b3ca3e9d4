"""Speed after compaction: groups beside FAISS's IVF, buckets beside its MultiHash."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from fdch.bench.clustered_codes import Source
from fdch.bench.search.scan import CHECKED, Sizes, is_same, load_faiss
from fdch.bench.timing import alternate, ratio, seconds, spread
from fdch.codes import Codes
from fdch.index.search.buckets import Buckets
from fdch.index.search.gallery import Found, Gallery, Part, row_words
from fdch.index.search.groups import Grouping
from fdch.index.search.lookup import nearest, warm, within
from fdch.progress import Progress, Update, silent

LISTS = 4096
TRAINED_ON = 64  # codes to a list that FAISS learns its lists from
MAX_PROBES = 256
BATCH = 1000
LOOKUPS = 300  # single queries of a radius
SCANNED_LOOKUPS = 100  # the same beside the scan
SMALL_RADII = (0, 1, 2)
LARGE_RADII = (4, 8, 12, 16, 24)
TABLES, TABLE_BITS = 3, 21


def compacted_benchmark(
    sizes: Sizes, given: Codes | None = None, progress: Progress = silent
) -> dict[str, Any]:
    """Time grouped and bucketed search on one thread, against FAISS and our scan."""
    faiss, cases = load_faiss(), []
    faiss.omp_set_num_threads(1)
    sources = sizes.sources(given)
    for size, source in sources:
        cases.append(_case(faiss, source, size, sizes))
        progress(Update("compacted benchmark", len(cases), len(sources), "gallery"))
    return {"faiss": faiss.__version__, "cases": cases}


def _case(faiss: Any, source: Source, size: int, sizes: Sizes) -> dict[str, Any]:
    """Compact one gallery and measure it."""
    codes, queries = source.draw(size, 1), source.draw(BATCH, 2)
    rows, bits = row_words(codes), source.bits
    warm(bits)
    built: dict[str, Any] = {}
    grouping_time = seconds(lambda: built.update(grouping=Grouping.build(rows, bits)))
    grouping: Grouping | None = built["grouping"]
    stored = rows if grouping is None else rows[grouping.order]
    bucket_time = seconds(lambda: built.update(buckets=Buckets.build(stored, bits)))
    buckets: Buckets | None = built["buckets"]
    kept = [part.arrays() for part in (grouping, buckets) if part is not None]
    more = sum(values.nbytes for arrays in kept for values in arrays.values())
    plain = Gallery(bits, (Part(rows, 0),))
    compacted = Gallery(bits, (Part(stored, 0, None, grouping, buckets),))
    galleries = _Galleries(faiss, codes, plain, compacted, queries)
    return {
        "kind": source.kind,
        "size": size,
        "bits": bits,
        "groups": 0 if grouping is None else len(grouping.reaches),
        "grouping_seconds": grouping_time,
        "bucket_seconds": bucket_time,
        "bytes_per_code": rows.nbytes / size + more / size,
        "nearest": galleries.measure_nearest(sizes.k, sizes.repeats),
        "within": galleries.measure_within(),
    }


@dataclass
class _Galleries:
    """The same codes, plain and compacted, with FAISS beside them."""

    faiss: Any
    codes: Codes
    plain: Gallery
    compacted: Gallery
    queries: Codes

    def measure_nearest(self, k: int, repeats: int) -> dict[str, Any]:
        """Time top-k in batches of 1,000, beside IVF and beside the plain scan."""
        queries, few = self.queries, self.queries[:100]
        truth = nearest(self.plain, queries, k, threads=1)
        found = nearest(self.compacted, queries, k, threads=1)
        ivf, probes = self._smallest_ivf(truth, k)
        sides = {
            "own": partial(nearest, self.compacted, queries, k, threads=1),
            "ivf": partial(ivf.search, queries.packed, k),
            "own_few": partial(nearest, self.compacted, few, k, threads=1),
            "scan_few": partial(nearest, self.plain, few, k, threads=1),
        }
        turns = alternate(sides, repeats)
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
        """Make FAISS's lists; find the fewest probes that give all right distances."""
        codes = self.codes
        lists = min(LISTS, max(1, len(codes) // TRAINED_ON))
        quantizer = self.faiss.IndexBinaryFlat(codes.bits)
        index = self.faiss.IndexBinaryIVF(quantizer, codes.bits, lists)
        step = max(1, len(codes) // (lists * TRAINED_ON))
        index.train(np.ascontiguousarray(codes.packed[::step]))
        index.add(codes.packed)
        right = np.stack([found.distances for found in truth])
        index.quantizer_of_ours = quantizer  # FAISS does not keep it alive itself
        probes = 1
        while probes <= min(lists, MAX_PROBES):
            index.nprobe = probes
            distances, _ = index.search(self.queries.packed, k)
            if np.array_equal(distances, right):
                return index, probes
            probes *= 2
        return index, None

    def measure_within(self) -> list[dict[str, Any]]:
        """Time single queries within a radius, one call each, in alternation."""
        cases, bits = [], self.codes.bits
        if bits >= TABLES * TABLE_BITS:
            peer = self.faiss.IndexBinaryMultiHash(bits, TABLES, TABLE_BITS)
            peer.add(self.codes.packed)
            peer.nflip = 0  # enough up to radius 2, by the same argument as ours
            cases += [self._small_radius(peer, radius) for radius in SMALL_RADII]
            del peer
        cases += [self._large_radius(radius) for radius in LARGE_RADII if radius < bits]
        return cases

    def _small_radius(self, peer: Any, radius: int) -> dict[str, Any]:
        """Alternate with FAISS's MultiHash."""

        def look_up(i: int) -> Any:
            return peer.range_search(self.queries[i].packed, radius + 1)

        case = self._lookups(radius, look_up, f"MultiHash {TABLES} x {TABLE_BITS}")
        for i in range(CHECKED * 10):
            [found] = within(self.compacted, self.queries[i], radius)
            distances = np.sort(look_up(i)[1])
            case["answers_agree"] &= np.array_equal(distances, found.distances)
        return case

    def _large_radius(self, radius: int) -> dict[str, Any]:
        """Alternate with our own scan."""

        def scan(i: int) -> object:
            return within(self.plain, self.queries[i], radius, threads=1)

        return self._lookups(radius, scan, "scan", SCANNED_LOOKUPS)

    def _lookups(
        self,
        radius: int,
        peer: Callable[[int], object],
        name: str,
        number: int = LOOKUPS,
    ) -> dict[str, Any]:
        """Time two sides query by query; each begins as often as the other."""

        def own(i: int) -> object:
            return within(self.compacted, self.queries[i], radius, threads=1)

        ours: list[float] = []
        theirs: list[float] = []
        for i in range(number):
            sides = [(own, ours), (peer, theirs)]
            for side, spent in sides if i % 2 == 0 else sides[::-1]:
                spent.append(seconds(partial(side, i)))
        few = self.queries[:CHECKED]
        found = within(self.compacted, few, radius)
        truth = within(self.plain, few, radius, engine="numpy")
        return {
            "radius": radius,
            "peer": name,
            "microseconds": _microseconds(ours),
            "peer_microseconds": _microseconds(theirs),
            "ratio": float(np.median(theirs) / np.median(ours)),
            "answers_agree": is_same(found, truth),
        }


def _microseconds(values: Sequence[float]) -> dict[str, float]:
    return {
        "median": float(np.median(values)) * 1e6,
        "p99": float(np.percentile(values, 99)) * 1e6,
    }
