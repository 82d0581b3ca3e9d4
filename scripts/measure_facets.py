"""Measure counts by value of items that fulfil filters.

python scripts/measure_facets.py --items 1000000

Items have a label, a shop, a price and a day (5, 70, 1,000 and 366 values). The first
count after opening reads the columns; later ones have them in memory. A fifth of the
texts has the word that is counted.
"""

import argparse
import json
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fdch.bench.clustered_codes import Source, filled_folder
from fdch.bench.index_folder import LABELS
from fdch.bench.timing import seconds, spread
from fdch.codes import Codes
from fdch.index.conditions import parse_condition
from fdch.index.search.lookup import warm
from fdch.index.storage.folder import CodeFolder
from fdch.index.store import Item, WordQuery

BITS = 64
FILTERS = (
    (),
    ("shop=7",),
    ("price<500",),
    ("label=dog", "price<500"),
    ("day>=2024-03", "shop!=7"),
)


def measure(items: int, repeats: int, seed: int = 0) -> dict[str, Any]:
    """Fill an index and count its items under each filter."""
    warm(BITS)
    source, rng = Source("clustered", BITS, seed), np.random.default_rng(seed)
    days = np.arange("2024-01-01", "2025-01-01", dtype="datetime64[D]").astype(str)

    def make_items(numbers: range) -> list[Item]:
        cells = rng.integers((70, 1000, len(days)), size=(len(numbers), 3)).tolist()
        return [
            Item(
                f"{number}",
                text=f"the {LABELS[number % len(LABELS)]} of this shop",
                labels=(LABELS[number % len(LABELS)],),
                columns={"shop": shop, "price": price, "day": str(days[day])},
            )
            for number, (shop, price, day) in zip(numbers, cells, strict=True)
        ]

    fill = partial(source.fill, make=make_items, total=items)
    with filled_folder(BITS, fill) as path:
        query = source.draw(1, 0)
        return {
            " and ".join(written) or "none": count(path, written, query, repeats)
            for written in FILTERS
        }


def count(
    path: Path, written: tuple[str, ...], query: Codes, repeats: int
) -> dict[str, Any]:
    """Time the first count after opening, later ones, by a radius and by a word."""
    where = [parse_condition(each) for each in written]
    with CodeFolder.open(path) as folder:
        folder.search(query, 1)  # which also checks the files
        every = partial(folder.facets, where)
        before = time.process_time()
        first = seconds(every)
        busy = time.process_time() - before
        near = partial(folder.facets, where, near=(query, BITS // 4))
        words = partial(folder.facets, where, words=WordQuery(LABELS[:1], 0.0))
        return {
            "counted": every().items,
            "first_seconds": first,
            "first_processor_seconds": busy,
            "again_seconds": spread([seconds(every) for _ in range(repeats)]),
            "radius_seconds": spread([seconds(near) for _ in range(repeats)]),
            "first_words_seconds": seconds(words),
            "words_seconds": spread([seconds(words) for _ in range(repeats)]),
        }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=10, help="turns of each count")
    found = measure(**vars(parser.parse_args()))
    sys.stdout.write(json.dumps(found, indent=1) + "\n")
