"""Measure an index on a Milvus server: python scripts/measure_milvus.py URL [CODES].

Makes the collection that URL names, which must not be there yet, fills it with
random codes of 64 bits, times inserting and searching, and deletes it. Writes one
JSON document to standard output.
"""

import json
import statistics
import sys
import time

import numpy as np

from fdch.codes import Codes, hamming_distances
from fdch.index.milvus import MilvusStore
from fdch.index.store import Condition, Item

BITS = 64
K = 100
BATCH = 20_000


def main(url: str, count: int = 100_000) -> None:
    """Measure, and check some answers on the way."""
    rng = np.random.default_rng(0)
    codes = Codes(rng.integers(0, 256, (count, BITS // 8), dtype=np.uint8), BITS)
    queries = Codes(rng.integers(0, 256, (200, BITS // 8), dtype=np.uint8), BITS)
    items = [Item(f"item {i}", columns={"year": i % 30}) for i in range(count)]
    with MilvusStore.create(url, BITS, "measurement") as store:
        try:
            figures = measure(store, items, codes, queries)
        finally:
            MilvusStore.drop(url)
    sys.stdout.write(json.dumps(figures, indent=1) + "\n")


def measure(
    store: MilvusStore, items: list[Item], codes: Codes, queries: Codes
) -> dict[str, object]:
    """Insert, search fresh rows, let the server seal and index them, search again."""
    start = time.perf_counter()
    for first in range(0, len(items), BATCH):
        store.add(items[first : first + BATCH], codes[first : first + BATCH])
    inserts = len(items) / (time.perf_counter() - start)
    fresh = searches(store, codes, queries)
    store._collection.call("flush")
    store._collection.call("release_collection")
    store._collection.call("load_collection")
    return {
        "codes": len(items),
        "bits": BITS,
        "k": K,
        "server": store.describe()["server"],
        "inserts_per_second": round(inserts),
        "fresh": fresh,
        "sealed": searches(store, codes, queries),
    }


def searches(store: MilvusStore, codes: Codes, queries: Codes) -> dict[str, float]:
    """Give median milliseconds of single queries, and queries a second in batches."""
    (answer,) = store.nearest(queries[:1], K)
    order = np.argsort(hamming_distances(queries[:1], codes)[0], kind="stable")[:K]
    if answer.ids != tuple(f"item {i}" for i in order):
        sys.exit("the server's answer is not exact")
    where = [Condition("year", "=", ("7",))]
    start = time.perf_counter()
    store.nearest(queries, K)
    batched = len(queries) / (time.perf_counter() - start)
    return {
        "nearest_ms": milliseconds(lambda q: store.nearest(q, K), queries),
        "nearest_filtered_ms": milliseconds(
            lambda q: store.nearest(q, K, where), queries
        ),
        "within_12_ms": milliseconds(lambda q: store.within(q, 12), queries),
        "queries_per_second_in_batch": round(batched, 1),
    }


def milliseconds(search, queries: Codes) -> float:  # type: ignore[no-untyped-def]
    """Give the median time of thirty single queries."""
    times = []
    for row in range(30):
        start = time.perf_counter()
        search(queries[row])
        times.append(1000 * (time.perf_counter() - start))
    return round(statistics.median(times), 2)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:3]))
