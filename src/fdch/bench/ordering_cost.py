"""What ordering candidates by their vectors costs: one query over many items."""

import tempfile
from collections.abc import Callable
from functools import partial
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fdch.bench.clustered_codes import Source
from fdch.bench.timing import alternate, ratio, spread
from fdch.codes import Codes
from fdch.evaluation.ordering import QueryOrder
from fdch.index.search.gallery import Gallery, Part, row_words
from fdch.index.search.lookup import nearest, warm
from fdch.index.storage.folder import CodeFolder
from fdch.retrieval.candidates import VECTOR_STAGES
from fdch.retrieval.ordering import Order
from fdch.retrieval.params import SearchParams
from fdch.retrieval.queries import Queries
from fdch.retrieval.ranking import Ranking
from fdch.training.ordering import Numbers, Ordering, Vectors, to_numbers

QUERIES = 20  # that each repeat times, one by one on all sides
CODES_AT_A_TIME = 1_000_000


class DrawnVectors(Ordering):
    """Stands for what a model gives: as many bits as an index keeps of an item."""

    def __init__(self, vector_bytes: int) -> None:
        self.parts = (Numbers(8 * vector_bytes, 1),)

    def image_vectors(self, images: NDArray[Any]) -> Vectors:
        """Give signs."""
        return to_numbers(images, 1.0, 1)

    def text_vectors(self, texts: csr_array) -> Vectors:
        """Give signs."""
        return self.image_vectors(texts.toarray())

    def pair_vectors(self, images: NDArray[Any], texts: csr_array) -> Vectors:
        """Give the signs of the pictures."""
        return self.image_vectors(images)

    def weigh_images(self, images: NDArray[Any]) -> QueryOrder:
        """Take ready weights of bits and numbers."""
        return QueryOrder(images)

    def weigh_texts(self, texts: csr_array) -> QueryOrder:
        """Take ready weights of bits and numbers."""
        return QueryOrder(np.asarray(texts.toarray(), np.float32))

    def weigh_items(self, codes: Codes, vectors: Vectors) -> QueryOrder:
        """Weigh what items hold by itself."""
        return QueryOrder(np.hstack([codes.signs(), vectors]).astype(np.float32))


def ordering_cost(
    items: int, bits: int, vector_bytes: int, k: int, repeats: int, seed: int = 0
) -> dict[str, Any]:
    """Time one query over an index folder of drawn codes and vectors, in turns.

    Returns:
        Seconds a query, the median of each turn, of the bare scan in memory, of a
        search in the order of codes, and of one in the order of vectors; and the
        ratios of the last to the others, turn by turn.
    """
    warm(bits)
    source, ordering = Source("clustered", bits, seed), DrawnVectors(vector_bytes)
    rng = np.random.default_rng([seed, 3])
    codes, queries = source.draw(items, 1), source.draw(QUERIES, 2)
    gallery = Gallery(bits, (Part(row_words(codes), 0),))
    width = bits + ordering.width
    orders = QueryOrder(rng.standard_normal((QUERIES, width), dtype=np.float32))
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "index"
        with CodeFolder.create(path, bits, "drawn", None, vector_bytes) as folder:
            for start in range(0, items, CODES_AT_A_TIME):
                some = codes[start : start + CODES_AT_A_TIME]
                shape = len(some), vector_bytes
                folder.add_numbered(some, rng.integers(-127, 128, shape, np.int8))
        with CodeFolder.open(path) as folder:

            def scan(row: int) -> None:
                nearest(gallery, queries[row : row + 1], k)

            def search(row: int, by_vectors: bool) -> None:
                one = slice(row, row + 1)
                order = Order(orders[one], ordering) if by_vectors else None
                query = Queries([{}], ["text"], queries[one], order=orders[one])
                params = SearchParams(k, rerank=by_vectors)
                Ranking(folder, None, query, params, order).results()

            sides = {
                "scan": _next_row(scan),
                "by_codes": _next_row(partial(search, by_vectors=False)),
                "by_vectors": _next_row(partial(search, by_vectors=True)),
            }
            alternate(sides, QUERIES)  # untimed: files are checked, memory is mapped
            turns: dict[str, list[float]] = {name: [] for name in sides}
            for number in range(repeats):  # forth and back: each leaves codes in cache
                order = list(sides)[:: -1 if number % 2 else 1]
                timed = alternate({name: sides[name] for name in order}, QUERIES)
                for name, times in timed.items():
                    turns[name].append(median(times))
    return {
        "items": items,
        "bits": bits,
        "vector_bytes": vector_bytes,
        "k": k,
        "candidates": VECTOR_STAGES.cover(k)[1],
        "seconds": {name: spread(times) for name, times in turns.items()},
        "by_vectors_over_by_codes": ratio(turns["by_vectors"], turns["by_codes"]),
        "by_vectors_over_scan": ratio(turns["by_vectors"], turns["scan"]),
    }


def _next_row(call: Callable[[int], None]) -> Callable[[], None]:
    """Make one piece of work of the next query, over and over."""
    rows = cycle(range(QUERIES))
    return lambda: call(next(rows))
