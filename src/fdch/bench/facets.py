"""How long counts by value take, under filters and within a radius."""

import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fdch.bench.clustered_codes import Source
from fdch.bench.timing import seconds, spread
from fdch.index.conditions import parse_condition
from fdch.index.search.lookup import warm
from fdch.index.storage.folder import CodeFolder
from fdch.index.store import Item
from fdch.progress import Progress, Update, silent

BITS = 64
LABELS = ("dog", "cat", "bird", "fish", "horse")
FILTERS = (
    (),
    ("shop=7",),
    ("price<500",),
    ("label=dog", "price<500"),
    ("day>=2024-03", "shop!=7"),
)
_AT_A_TIME = 50_000


def facet_benchmark(
    items: int, repeats: int, seed: int = 0, progress: Progress = silent
) -> dict[str, Any]:
    """Count items with a label, a shop (70), a price (1,000) and a day (366)."""
    warm(BITS)
    source, rng = Source("clustered", BITS, seed), np.random.default_rng(seed)
    days = np.arange("2024-01-01", "2025-01-01", dtype="datetime64[D]").astype(str)
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "index"
        with CodeFolder.create(path, BITS, "benchmark") as folder:
            for start in range(0, items, _AT_A_TIME):
                count = min(_AT_A_TIME, items - start)
                cells = rng.integers((70, 1000, len(days)), size=(count, 3)).tolist()
                some = [
                    Item(
                        f"{start + row}",
                        labels=(LABELS[row % len(LABELS)],),
                        columns={"shop": shop, "price": price, "day": str(days[day])},
                    )
                    for row, (shop, price, day) in enumerate(cells)
                ]
                folder.add(some, source.draw(count, start + 1))
                progress(Update("items", start + count, items, "item"))
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
