"""How long counts by value take, under filters and within a radius."""

import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fdch.bench.clustered_codes import Source, filled_folder
from fdch.bench.timing import seconds, spread
from fdch.index.conditions import parse_condition
from fdch.index.search.lookup import warm
from fdch.index.storage.folder import CodeFolder
from fdch.index.store import Item
from fdch.progress import Progress, silent

BITS = 64
LABELS = ("dog", "cat", "bird", "fish", "horse")
FILTERS = (
    (),
    ("shop=7",),
    ("price<500",),
    ("label=dog", "price<500"),
    ("day>=2024-03", "shop!=7"),
)


def facet_benchmark(
    items: int, repeats: int, seed: int = 0, progress: Progress = silent
) -> dict[str, Any]:
    """Count items with a label, a shop (70), a price (1,000) and a day (366)."""
    warm(BITS)
    source, rng = Source("clustered", BITS, seed), np.random.default_rng(seed)
    days = np.arange("2024-01-01", "2025-01-01", dtype="datetime64[D]").astype(str)

    def make_items(numbers: range) -> list[Item]:
        cells = rng.integers((70, 1000, len(days)), size=(len(numbers), 3)).tolist()
        return [
            Item(
                f"{number}",
                labels=(LABELS[number % len(LABELS)],),
                columns={"shop": shop, "price": price, "day": str(days[day])},
            )
            for number, (shop, price, day) in zip(numbers, cells, strict=True)
        ]

    fill = partial(source.fill, make=make_items, total=items, progress=progress)
    with filled_folder(BITS, fill) as path:
        query = source.draw(1, 0)
        return {
            "items": items,
            "bits": BITS,
            "filters": {
                " and ".join(written) or "none": _measure(path, written, query, repeats)
                for written in FILTERS
            },
        }


def _measure(
    path: Path, written: tuple[str, ...], query: Any, repeats: int
) -> dict[str, Any]:
    """Time the first count after opening, later ones, and one within a radius."""
    where = [parse_condition(each) for each in written]
    with CodeFolder.open(path) as folder:
        folder.nearest(query, 1)  # and with it the check of files
        count = partial(folder.facets, where)
        before = time.process_time()
        first = seconds(count)
        busy = time.process_time() - before
        near = partial(folder.facets, where, near=(query, BITS // 4))
        return {
            "counted": count().items,
            "first_seconds": first,
            "first_processor_seconds": busy,
            "again_seconds": spread([seconds(count) for _ in range(repeats)]),
            "radius_seconds": spread([seconds(near) for _ in range(repeats)]),
        }
