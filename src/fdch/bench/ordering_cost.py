"""What ordering candidates by their vectors costs: one query over many items."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fdch.bench.clustered_codes import Source
from fdch.bench.timing import alternate, ratio, repeat, spread
from fdch.codes import Codes
from fdch.index.search.gallery import Gallery, Part, row_words
from fdch.index.search.lookup import nearest, warm
from fdch.index.storage.folder import CodeFolder
from fdch.index.store import Vectors
from fdch.retrieval.ordering import Order, Real
from fdch.retrieval.params import SearchParams
from fdch.retrieval.queries import Queries
from fdch.retrieval.ranking import Ranking

QUERIES = 20  # of which one after the other makes up a turn
CODES_AT_A_TIME = 1_000_000


@dataclass(frozen=True)
class DrawnVectors:
    """Stands for a model: vectors are kept as they are, a byte to each number."""

    vector_bytes: int

    def image_vectors(self, images: NDArray[Any]) -> Real:
        """Give ready vectors."""
        return images

    def text_vectors(self, texts: csr_array) -> Real:
        """Give ready vectors."""
        return np.asarray(texts.toarray(), np.float32)

    def pair_vectors(self, images: NDArray[Any], texts: csr_array) -> Real:
        """Give the vectors of the pictures."""
        return images

    def pack_vectors(self, vectors: Real) -> Vectors:
        """Round to a byte."""
        return np.rint(127 * np.clip(vectors, -1, 1)).astype(np.int8)

    def unpack_vectors(self, codes: Codes, packed: Vectors) -> Real:
        """Scale to [-1, 1]."""
        return packed.astype(np.float32) / np.float32(127)


def ordering_cost(
    items: int, bits: int, vector_bytes: int, k: int, repeats: int, seed: int = 0
) -> dict[str, Any]:
    """Time one query over an index folder of drawn codes and vectors, in turns.

    Returns:
        Seconds a query of the bare scan in memory, of a search in the order of codes,
        and of one in the order of vectors; and the ratios of the last to the others.
    """
    warm(bits)
    source, model = Source("clustered", bits, seed), DrawnVectors(vector_bytes)
    rng = np.random.default_rng([seed, 3])
    codes, queries = source.draw(items, 1), source.draw(QUERIES, 2)
    gallery = Gallery(bits, (Part(row_words(codes), 0),))
    query_vectors = rng.standard_normal((QUERIES, vector_bytes), dtype=np.float32)
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
                order = Order(query_vectors[one], model) if by_vectors else None
                query = Queries(
                    [{}], ["text"], queries[one], vectors=query_vectors[one]
                )
                params = SearchParams(k, rerank=by_vectors)
                Ranking(folder, None, query, params, order).results()

            sides = {
                "scan": repeat(scan, QUERIES),
                "by_codes": repeat(lambda row: search(row, False), QUERIES),
                "by_vectors": repeat(lambda row: search(row, True), QUERIES),
            }
            alternate(sides, 1)  # untimed: files are checked, memory is mapped
            turns = alternate(sides, repeats)
    return {
        "items": items,
        "bits": bits,
        "vector_bytes": vector_bytes,
        "k": k,
        "candidates": SearchParams(k).vector_candidates,
        "seconds": {
            name: spread([each / QUERIES for each in times])
            for name, times in turns.items()
        },
        "by_vectors_over_by_codes": ratio(turns["by_vectors"], turns["by_codes"]),
        "by_vectors_over_scan": ratio(turns["by_vectors"], turns["scan"]),
    }
