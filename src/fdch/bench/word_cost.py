"""What matching words costs: one query over many items with drawn texts."""

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fdch.bench.clustered_codes import Source
from fdch.bench.timing import alternate, ratio, spread
from fdch.index.search.lookup import warm
from fdch.index.storage.folder import CodeFolder
from fdch.index.store import Item
from fdch.retrieval.ordering import plan_fusion
from fdch.retrieval.params import Match, SearchParams
from fdch.retrieval.queries import Queries
from fdch.retrieval.ranking import Ranking

QUERIES = 20  # that each turn times, one by one on both sides
ITEMS_AT_A_TIME = 10_000
DRAWN_WORDS, WORDS_A_TEXT = 50_000, 9


def word_cost(
    items: int, bits: int, k: int, repeats: int, seed: int = 0
) -> dict[str, Any]:
    """Time one query over an index folder of drawn codes and texts, in turns.

    Words are drawn as they stand in language, the n-th with a frequency of 1 / n; a
    query has two of them, and no query comes twice.
    """
    warm(bits)
    source, random = Source("clustered", bits, seed), np.random.default_rng([seed, 4])
    frequency = 1 / np.arange(1, DRAWN_WORDS + 1)
    chance = frequency / frequency.sum()

    def draw(*shape: int) -> NDArray[np.int64]:
        return np.asarray(random.choice(DRAWN_WORDS, shape, p=chance))

    number = QUERIES * (repeats + 1)
    codes, asked = source.draw(number, 2), draw(number, 2)
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "index"
        with CodeFolder.create(path, bits, "drawn") as folder:
            for start in range(0, items, ITEMS_AT_A_TIME):
                count = min(ITEMS_AT_A_TIME, items - start)
                texts = draw(count, WORDS_A_TEXT).tolist()
                some = [
                    Item(str(start + at), text=" ".join(f"w{word}" for word in words))
                    for at, words in enumerate(texts)
                ]
                folder.add(some, source.draw(count, start + 3))
        with CodeFolder.open(path) as folder:

            def search(match: Match, rows: list[int]) -> None:
                row = rows.pop()
                params = SearchParams(k, match=match)
                text = " ".join(f"w{word}" for word in asked[row])
                query = Queries([{}], ["text"], codes[row : row + 1])
                fusion = plan_fusion(folder, [text], params)
                Ranking(folder, None, query, params, None, fusion).results()

            ways: tuple[Match, ...] = ("codes", "both")
            sides: dict[str, Callable[[], None]] = {
                way: partial(search, way, [*range(number)]) for way in ways
            }
            turns: dict[str, list[float]] = {way: [] for way in ways}
            every: dict[str, list[float]] = {way: [] for way in ways}
            for turn in range(repeats + 1):
                timed = alternate(sides, QUERIES)
                for way, times in timed.items() if turn else ():  # the first is untimed
                    turns[way].append(median(times))
                    every[way] += times
    return {
        "items": items,
        "bits": bits,
        "k": k,
        "seconds": {way: spread(times) for way, times in turns.items()},
        "slowest_in_20": {
            way: float(np.quantile(times, 0.95)) for way, times in every.items()
        },
        "both_over_codes": ratio(turns["both"], turns["codes"]),
    }
