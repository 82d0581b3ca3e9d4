"""What an index folder costs, in time and bytes, and counts by value in one."""

import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fdch.bench.clustered_codes import ITEMS_AT_A_TIME, Source, filled_folder
from fdch.bench.timing import ratio, seconds, spread
from fdch.index.conditions import parse_condition
from fdch.index.search.lookup import warm
from fdch.index.storage.folder import CodeFolder
from fdch.index.store import Item, WordQuery
from fdch.machine import forget_peak_memory, peak_memory
from fdch.progress import Progress, Update, silent

CODES_AT_A_TIME = 10_000_000
MODEL = "benchmark"
LABELS = ("dog", "cat", "bird", "fish", "horse")
CONDITIONS = ("shop=7", "label=dog", "price<50", "price>=500", "shop!=7")
FACET_BITS = 64
FILTERS = (
    (),
    ("shop=7",),
    ("price<500",),
    ("label=dog", "price<500"),
    ("day>=2024-03", "shop!=7"),
)


@dataclass(frozen=True)
class FolderSizes:
    """Sizes to measure, and how often searches, openings and filters are timed."""

    codes: int
    items: int
    bits: int
    k: int
    repeats: int
    seed: int
    vector_bytes: int  # of the index of items that has vectors


def folder_benchmark(
    sizes: FolderSizes, place: Path | None = None, progress: Progress = silent
) -> dict[str, Any]:
    """Make indexes in a folder, by default the temporary one."""
    warm(sizes.bits)
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(dir=place) as folder:
        found["codes"] = _bare_codes(Path(folder) / "codes", sizes, progress)
    with tempfile.TemporaryDirectory(dir=place) as folder:
        found |= _whole_items(Path(folder), sizes, progress)
    return found


def _bare_codes(path: Path, sizes: FolderSizes, progress: Progress) -> dict[str, Any]:
    """Measure codes whose ids are running numbers."""
    source = Source("random", sizes.bits, sizes.seed)
    taken = 0.0
    with CodeFolder.create(path, sizes.bits, MODEL) as folder:
        for start in range(0, sizes.codes, CODES_AT_A_TIME):
            stop = min(start + CODES_AT_A_TIME, sizes.codes)
            codes = source.draw(stop - start, start + 1)
            taken += seconds(partial(folder.add_numbered, codes))
            progress(Update("codes", stop, sizes.codes, "code"))
        taken += seconds(folder.close)
    del codes
    queries = source.draw(max(100, sizes.repeats), 0)
    turns = range(sizes.repeats)
    opening = [seconds(lambda: CodeFolder.open(path).close()) for _ in turns]
    forget_peak_memory()
    with CodeFolder.open(path) as folder:
        first = seconds(partial(folder.search, queries[:1], sizes.k))
        single = [
            seconds(partial(folder.search, queries[row : row + 1], sizes.k))
            for row in turns
        ]
        batch = seconds(partial(folder.search, queries[:100], sizes.k))
    held = peak_memory()
    return {
        "number": sizes.codes,
        "create_seconds": taken,
        "open_seconds": spread(opening),
        "first_search_seconds": first,
        "search_seconds": spread(single),
        "search_100_seconds": batch,
        "disk_bytes_a_code": _bytes(path) / sizes.codes,
        "peak_memory_bytes": held,
        "memory_over_codes": held / (sizes.codes * sizes.bits // 8) if held else None,
    }


def _whole_items(path: Path, sizes: FolderSizes, progress: Progress) -> dict[str, Any]:
    """Add the same items to an index without vectors and to one with, in turns."""
    source = Source("clustered", sizes.bits, sizes.seed)
    rng = np.random.default_rng(sizes.seed)
    widths = (0, sizes.vector_bytes)
    taken: dict[int, list[float]] = {width: [] for width in widths}
    with ExitStack() as stack:
        folders = {
            width: stack.enter_context(
                CodeFolder.create(
                    path / str(width), sizes.bits, MODEL, vector_bytes=width
                )
            )
            for width in widths
        }
        for start in range(0, sizes.items, ITEMS_AT_A_TIME):
            numbers = range(start, min(start + ITEMS_AT_A_TIME, sizes.items))
            items, count = _make_items(rng, numbers), len(numbers)
            codes = source.draw(count, start + 1)
            for width, folder in folders.items():
                vectors = rng.integers(-127, 128, (count, width), np.int8)
                given = vectors if width else None
                taken[width].append(seconds(partial(folder.add, items, codes, given)))
            progress(Update("items", numbers.stop, sizes.items, "item"))
    without, having = taken.values()
    bytes_without, bytes_having = (
        _bytes(path / str(width)) / sizes.items for width in widths
    )
    return {
        "items": {
            "number": sizes.items,
            "added_a_second": sizes.items / sum(without),
            "disk_bytes_an_item": bytes_without,
            **_time_filters(path / "0", source, sizes),
        },
        "vectors": {
            "vector_bytes": sizes.vector_bytes,
            "added_a_second": sizes.items / sum(having),
            "time_over_without": ratio(having, without),
            "disk_bytes_an_item": bytes_having,
        },
    }


def _time_filters(path: Path, source: Source, sizes: FolderSizes) -> dict[str, Any]:
    """Time searches with a condition: the first one, and the same again."""
    queries = source.draw(sizes.repeats, 0)
    first, again = {}, {}
    for written in CONDITIONS:
        where = [parse_condition(written)]
        times: list[tuple[float, float]] = []
        for row in range(sizes.repeats):
            # opened again: a filter's answer is kept
            with CodeFolder.open(path) as folder:
                search = partial(
                    folder.search, queries[row : row + 1], sizes.k, where=where
                )
                times.append((seconds(search), seconds(search)))
        first[written], again[written] = map(spread, zip(*times, strict=True))
    return {"filtered_search_seconds": first, "filtered_again_seconds": again}


def _make_items(rng: np.random.Generator, numbers: range) -> list[Item]:
    return [
        Item(
            f"item {number}",
            text=f"number {number} of many, with some words about it",
            image=f"pictures/{number}.jpg",
            labels=(LABELS[number % len(LABELS)],),
            columns={"shop": int(rng.integers(70)), "price": float(rng.integers(1000))},
            kind="pair",
        )
        for number in numbers
    ]


def _bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def facet_benchmark(
    items: int, repeats: int, seed: int = 0, progress: Progress = silent
) -> dict[str, Any]:
    """Count items with a label, a shop (70), a price (1,000) and a day (366)."""
    warm(FACET_BITS)
    source, rng = Source("clustered", FACET_BITS, seed), np.random.default_rng(seed)
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

    fill = partial(source.fill, make=make_items, total=items, progress=progress)
    with filled_folder(FACET_BITS, fill) as path:
        query = source.draw(1, 0)
        return {
            "items": items,
            "bits": FACET_BITS,
            "filters": {
                " and ".join(written) or "none": _measure_counts(
                    path, written, query, repeats
                )
                for written in FILTERS
            },
        }


def _measure_counts(
    path: Path, written: tuple[str, ...], query: Any, repeats: int
) -> dict[str, Any]:
    """Time the first count after opening, later ones, by a radius and by a word."""
    where = [parse_condition(each) for each in written]
    with CodeFolder.open(path) as folder:
        folder.search(query, 1)  # and with it the check of files
        count = partial(folder.facets, where)
        before = time.process_time()
        first = seconds(count)
        busy = time.process_time() - before
        near = partial(folder.facets, where, near=(query, FACET_BITS // 4))
        words = partial(folder.facets, where, words=WordQuery(LABELS[:1], 0.0))
        return {
            "counted": count().items,
            "first_seconds": first,
            "first_processor_seconds": busy,
            "again_seconds": spread([seconds(count) for _ in range(repeats)]),
            "radius_seconds": spread([seconds(near) for _ in range(repeats)]),
            "first_words_seconds": seconds(words),
            "words_seconds": spread([seconds(words) for _ in range(repeats)]),
        }
