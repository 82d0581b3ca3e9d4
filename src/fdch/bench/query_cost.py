"""What one query over many items costs: by codes, by vectors, with its words.

Items and queries are drawn. All sides take turns, one query at a time.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fdch.bench.clustered_codes import Source, filled_folder
from fdch.bench.timing import ratio, seconds, spread
from fdch.evaluation.ordering import QueryOrder
from fdch.index.search.gallery import Gallery, Part, row_words
from fdch.index.search.lookup import nearest, warm
from fdch.index.storage.folder import CodeFolder
from fdch.index.store import Item
from fdch.retrieval.ordering import VECTOR_CANDIDATES, Order, plan_fusion
from fdch.retrieval.params import Match, SearchParams
from fdch.retrieval.queries import Queries
from fdch.retrieval.ranking import Ranking
from fdch.training.ordering import Numbers, Ordering

QUERIES = 20  # in a turn, each timed by itself
DRAWN_WORDS, WORDS_A_TEXT = 50_000, 9
Sides = dict[str, Callable[[int], None]]  # each takes the number of a query


class _DrawnVectors(Ordering):
    """Reads drawn vectors; queries are drawn as well, so nothing is encoded."""

    def __init__(self, vector_bytes: int) -> None:
        self.parts = (Numbers(8 * vector_bytes, 1),)

    def _unused(self, *inputs: Any, **named: Any) -> Any:
        raise NotImplementedError

    image_vectors = text_vectors = pair_vectors = _unused
    weigh_images = weigh_texts = weigh_items = _unused


def ordering_cost(
    items: int, bits: int, vector_bytes: int, k: int, repeats: int, seed: int = 0
) -> dict[str, Any]:
    """Time the bare scan in memory, a search by codes and one by vectors."""
    warm(bits)
    source, ordering = Source("clustered", bits, seed), _DrawnVectors(vector_bytes)
    rng = np.random.default_rng([seed, 3])
    number = QUERIES * (repeats + 1)
    codes, queries = source.draw(items, 1), source.draw(number, 2)
    gallery = Gallery(bits, (Part(row_words(codes), 0),))
    width = bits + ordering.width
    orders = QueryOrder(rng.standard_normal((number, width), dtype=np.float32))

    def fill(folder: CodeFolder) -> None:
        vectors = rng.integers(-127, 128, (items, vector_bytes), np.int8)
        folder.add_numbered(codes, vectors)

    def scan(row: int) -> None:
        nearest(gallery, queries[row : row + 1], k)

    def search(folder: CodeFolder, by_vectors: bool, row: int) -> None:
        one = slice(row, row + 1)
        order = Order(orders[one], ordering) if by_vectors else None
        query = Queries([{}], ["text"], queries[one], order=orders[one])
        params = SearchParams(k, rerank=by_vectors)
        Ranking(folder, None, query, params, order).results()

    with filled_folder(bits, fill, vector_bytes) as path, CodeFolder.open(path) as each:
        sides: Sides = {
            "scan": scan,
            "by_codes": partial(search, each, False),
            "by_vectors": partial(search, each, True),
        }
        times = _time_queries(sides, repeats)
    turns = {name: np.median(found, axis=1).tolist() for name, found in times.items()}
    return {
        "items": items,
        "bits": bits,
        "vector_bytes": vector_bytes,
        "k": k,
        "candidates": VECTOR_CANDIDATES,
        "seconds": {name: spread(medians) for name, medians in turns.items()},
        "by_vectors_over_by_codes": ratio(turns["by_vectors"], turns["by_codes"]),
        "by_vectors_over_scan": ratio(turns["by_vectors"], turns["scan"]),
    }


def word_cost(
    items: int, bits: int, k: int, repeats: int, seed: int = 0
) -> dict[str, Any]:
    """Time a search by codes alone, and by codes and words.

    The n-th word occurs with a frequency of 1 / n, as in language; a query has two.
    """
    warm(bits)
    source, random = Source("clustered", bits, seed), np.random.default_rng([seed, 4])
    frequency = 1 / np.arange(1, DRAWN_WORDS + 1)
    chance = frequency / frequency.sum()
    number = QUERIES * (repeats + 1)
    codes = source.draw(number, 2)

    def draw_texts(count: int, words: int) -> list[str]:
        drawn = random.choice(DRAWN_WORDS, (count, words), p=chance)
        return [" ".join(f"w{word}" for word in row) for row in drawn.tolist()]

    queries = draw_texts(number, 2)

    def make_items(numbers: range) -> list[Item]:
        texts = draw_texts(len(numbers), WORDS_A_TEXT)
        return [Item(str(n), text) for n, text in zip(numbers, texts, strict=True)]

    def search(folder: CodeFolder, match: Match, row: int) -> None:
        params = SearchParams(k, match=match)
        query = Queries([{}], ["text"], codes[row : row + 1])
        fusion = plan_fusion(folder, [queries[row]], params)
        Ranking(folder, None, query, params, None, fusion).results()

    fill = partial(source.fill, make=make_items, total=items)
    with filled_folder(bits, fill) as path, CodeFolder.open(path) as folder:
        ways: tuple[Match, ...] = ("codes", "both")
        sides: Sides = {way: partial(search, folder, way) for way in ways}
        times = _time_queries(sides, repeats)
    turns = {way: np.median(found, axis=1).tolist() for way, found in times.items()}
    return {
        "items": items,
        "bits": bits,
        "k": k,
        "seconds": {way: spread(medians) for way, medians in turns.items()},
        "slowest_in_20": {
            way: float(np.quantile(found, 0.95)) for way, found in times.items()
        },
        "both_over_codes": ratio(turns["both"], turns["codes"]),
    }


def _time_queries(sides: Sides, repeats: int) -> dict[str, NDArray[np.float64]]:
    """Time every side with each query number once; the first turn does not count.

    Returns:
        Seconds by side, (repeats, QUERIES).
    """
    times: dict[str, list[list[float]]] = {name: [] for name in sides}
    for turn in range(repeats + 1):
        timed: dict[str, list[float]] = {name: [] for name in sides}
        # back and forth: each side leaves codes in the processor's cache
        names = list(sides)[:: -1 if turn % 2 else 1]
        for row in range(turn * QUERIES, (turn + 1) * QUERIES):
            for name in names:
                timed[name].append(seconds(partial(sides[name], row)))
        for name in names if turn else ():
            times[name].append(timed[name])
    return {name: np.array(found) for name, found in times.items()}
