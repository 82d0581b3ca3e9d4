"""Speed after compaction: groups beside FAISS's IVF, buckets beside its MultiHash."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from fdch.bench.clustered_codes import Source
from fdch.bench.scan import CHECKED, Sizes, load_faiss
from fdch.bench.timing import seconds, spread
from fdch.codes import Codes
from fdch.index.search.bucketed import Buckets
from fdch.index.search.gallery import Found, Gallery, Part, row_words
from fdch.index.search.lookup import nearest, warm, within
from fdch.index.search.partitioned import Grouping
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
    """Time grouped and bucketed search on one thread, against FAISS and our scan.

    Args:
        sizes: Its sizes, bits and kinds, k, repeats and seed.
        given: Codes that the kind "given" repeats.
        progress: Told after each gallery.
    """
    faiss, cases = load_faiss(), []
    faiss.omp_set_num_threads(1)
    sources = [Source(kind, bits, sizes.seed, given) for bits in sizes.bits
               for kind in sizes.kinds]  # fmt: skip
    total = len(sources) * len(sizes.sizes)
    for size in sizes.sizes:
        for source in sources:
            cases.append(_case(faiss, source, size, sizes))
            progress(Update("compacted benchmark", len(cases), total, "gallery"))
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
    return {
        "kind": source.kind,
        "size": size,
        "bits": bits,
        "groups": 0 if grouping is None else len(grouping.reaches),
        "grouping_seconds": grouping_time,
        "bucket_seconds": bucket_time,
        "bytes_per_code": rows.nbytes / size + more / size,
        "nearest": _nearest(faiss, codes, plain, compacted, queries, sizes),
        "within": _within(faiss, codes, plain, compacted, queries, sizes),
    }


def _nearest(
    faiss: Any,
    codes: Codes,
    plain: Gallery,
    compacted: Gallery,
    queries: Codes,
    sizes: Sizes,
) -> dict[str, Any]:
    """Time top-k in batches of 1,000, beside IVF and beside the plain scan."""
    truth = nearest(plain, queries, sizes.k, threads=1)
    found = nearest(compacted, queries, sizes.k, threads=1)
    ivf, probes = _smallest_ivf(faiss, codes, queries, truth, sizes.k)
    few = queries[:100]
    turns = []
    for _ in range(sizes.repeats):
        own = seconds(partial(nearest, compacted, queries, sizes.k, threads=1))
        peer = seconds(partial(ivf.search, queries.packed, sizes.k))
        own_few = seconds(partial(nearest, compacted, few, sizes.k, threads=1))
        scan = seconds(partial(nearest, plain, few, sizes.k, threads=1))
        turns.append((own, peer, own_few, scan))
    return {
        "batch": len(queries),
        "queries_per_second": spread([len(queries) / turn[0] for turn in turns]),
        "ivf_lists": ivf.nlist,
        "ivf_probes": probes,
        "ivf_is_exact": probes is not None,
        "ivf_queries_per_second": spread([len(queries) / turn[1] for turn in turns]),
        "ratio": spread([turn[1] / turn[0] for turn in turns]),
        "scan_ratio": spread([turn[3] / turn[2] for turn in turns]),
        "answers_agree": _same(found, truth),
    }


def _smallest_ivf(
    faiss: Any, codes: Codes, queries: Codes, truth: Sequence[Found], k: int
) -> tuple[Any, int | None]:
    """Make FAISS's lists; find the fewest probes that give all right distances."""
    lists = min(LISTS, max(1, len(codes) // TRAINED_ON))
    quantizer = faiss.IndexBinaryFlat(codes.bits)
    index = faiss.IndexBinaryIVF(quantizer, codes.bits, lists)
    step = max(1, len(codes) // (lists * TRAINED_ON))
    index.train(np.ascontiguousarray(codes.packed[::step]))
    index.add(codes.packed)
    right = np.stack([found.distances for found in truth])
    index.quantizer_of_ours = quantizer  # FAISS does not keep it alive itself
    probes = 1
    while probes <= min(lists, MAX_PROBES):
        index.nprobe = probes
        distances, _ = index.search(queries.packed, k)
        if np.array_equal(distances, right):
            return index, probes
        probes *= 2
    return index, None


def _within(
    faiss: Any,
    codes: Codes,
    plain: Gallery,
    compacted: Gallery,
    queries: Codes,
    sizes: Sizes,
) -> list[dict[str, Any]]:
    """Time single queries within a radius, one call each, in alternation."""
    cases = []
    if codes.bits >= TABLES * TABLE_BITS:
        peer = faiss.IndexBinaryMultiHash(codes.bits, TABLES, TABLE_BITS)
        peer.add(codes.packed)
        peer.nflip = 0  # enough up to radius 2, by the same argument as ours
        for radius in SMALL_RADII:
            cases.append(_small_radius(peer, plain, compacted, queries, radius))
        del peer
    for radius in LARGE_RADII:
        if radius < codes.bits:
            cases.append(_large_radius(plain, compacted, queries, radius))
    return cases


def _small_radius(
    peer: Any, plain: Gallery, compacted: Gallery, queries: Codes, radius: int
) -> dict[str, Any]:
    """Alternate with FAISS's MultiHash, query by query."""
    agrees = True

    def lookup(i: int) -> object:
        return within(compacted, queries[i], radius, threads=1)

    def hashed(i: int) -> object:
        return peer.range_search(queries[i].packed, radius + 1)

    ours, theirs = _in_turns(lookup, hashed, LOOKUPS)
    for i in range(CHECKED * 10):
        [found] = within(compacted, queries[i], radius)
        _, distances, _ = peer.range_search(queries[i].packed, radius + 1)
        agrees &= np.array_equal(np.sort(distances), found.distances)
    few = queries[:CHECKED]
    truth = within(plain, few, radius, engine="numpy")
    return {
        "radius": radius,
        "peer": f"MultiHash {TABLES} x {TABLE_BITS}",
        "microseconds": _microseconds(ours),
        "peer_microseconds": _microseconds(theirs),
        "ratio": float(np.median(theirs) / np.median(ours)),
        "answers_agree": bool(agrees) and _same(within(compacted, few, radius), truth),
    }


def _large_radius(
    plain: Gallery, compacted: Gallery, queries: Codes, radius: int
) -> dict[str, Any]:
    """Alternate with our own scan, query by query."""

    def lookup(i: int) -> object:
        return within(compacted, queries[i], radius, threads=1)

    def scan(i: int) -> object:
        return within(plain, queries[i], radius, threads=1)

    ours, scans = _in_turns(lookup, scan, SCANNED_LOOKUPS)
    few = queries[:CHECKED]
    agrees = _same(within(compacted, few, radius), within(plain, few, radius))
    return {
        "radius": radius,
        "peer": "scan",
        "microseconds": _microseconds(ours),
        "peer_microseconds": _microseconds(scans),
        "ratio": float(np.median(scans) / np.median(ours)),
        "answers_agree": agrees,
    }


def _in_turns(
    first: Callable[[int], object], second: Callable[[int], object], number: int
) -> tuple[list[float], list[float]]:
    """Time two sides query by query; each begins as often as the other."""
    times: tuple[list[float], list[float]] = [], []
    for i in range(number):
        sides = [(first, times[0]), (second, times[1])]
        for side, spent in sides if i % 2 == 0 else sides[::-1]:
            spent.append(seconds(partial(side, i)))
    return times


def _microseconds(values: Sequence[float]) -> dict[str, float]:
    return {
        "median": float(np.median(values)) * 1e6,
        "p99": float(np.percentile(values, 99)) * 1e6,
    }


def _same(found: Sequence[Found], truth: Sequence[Found]) -> bool:
    return all(
        np.array_equal(ours.numbers, right.numbers)
        and np.array_equal(ours.distances, right.distances)
        for ours, right in zip(found, truth, strict=True)
    )
