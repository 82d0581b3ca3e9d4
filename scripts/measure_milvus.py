"""Measure an index on a Milvus server: python scripts/measure_milvus.py URL [CODES].

Makes the collection that URL names, which must not be there yet, fills it with
random codes of 64 bits, times inserting and searching, and deletes it. Writes one
JSON document to standard output.
"""

import json
import statistics
import sys
from functools import partial

import numpy as np

from fdch.bench.clustered_codes import Source
from fdch.bench.timing import seconds, time_turns
from fdch.codes import Codes, hamming_distances
from fdch.index.milvus import MilvusStore
from fdch.index.store import Condition, Item

BITS, K, BATCH = 64, 100, 20_000
SEVENTH = [Condition("year", "=", ("7",))]


def main(url: str, count: int = 100_000) -> None:
    """Measure, and check some answers on the way."""
    source = Source("random", BITS)
    codes, queries = source.draw(count, 1), source.draw(200, 2)
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
    taken = sum(
        seconds(partial(store.add, items[i : i + BATCH], codes[i : i + BATCH]))
        for i in range(0, len(items), BATCH)
    )
    fresh = search(store, codes, queries)
    for step in ("flush", "release_collection", "load_collection"):
        store._collection.call(step)
    return {
        "codes": len(items),
        "bits": BITS,
        "k": K,
        "server": store.describe()["server"],
        "inserts_per_second": round(len(items) / taken),
        "fresh": fresh,
        "sealed": search(store, codes, queries),
    }


def search(store: MilvusStore, codes: Codes, queries: Codes) -> dict[str, float]:
    """Return median milliseconds of single queries, and queries a second in batches."""
    (answer,) = store.search(queries[:1], K)
    order = np.argsort(hamming_distances(queries[:1], codes)[0], kind="stable")[:K]
    if answer.ids != tuple(f"item {i}" for i in order):
        sys.exit("the server's answer is not exact")
    batched = seconds(lambda: store.search(queries, K))
    turns = time_turns(
        {
            "nearest_ms": lambda row: store.search(queries[row], K),
            "nearest_filtered_ms": lambda row: store.search(
                queries[row], K, where=SEVENTH
            ),
            "within_12_ms": lambda row: store.search(queries[row], radius=12),
        },
        30,
    )
    found = {
        name: round(1000 * statistics.median(each), 2) for name, each in turns.items()
    }
    return found | {"queries_per_second_in_batch": round(len(queries) / batched, 1)}


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:3]))
