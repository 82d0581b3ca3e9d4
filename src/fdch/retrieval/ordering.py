"""How candidates that were found by their codes are put in order.

The nearest candidates are ordered by vectors, where the model gives some and the index
keeps them; else, where that is requested, by how sure the query is of each bit. All
others follow in the order of codes. Words that a text matches bring its item nearer by
up to `MATCH_WEIGHT` of the bits: the fused distance is
`distance - MATCH_WEIGHT * bits * share`, and the share counts each word by how rare it
is (`data/word_weights.py`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes, weighted_distances
from fdch.data.word_weights import MATCH_WEIGHT, SURE_WEIGHT
from fdch.data.words import drop_function_words
from fdch.errors import SettingError
from fdch.evaluation.ordering import SEARCHED, QueryOrder
from fdch.index.storage.catalogue.word_table import split_words
from fdch.index.store import CodeStore, Vectors, WordQuery
from fdch.retrieval.params import SearchParams
from fdch.training.ordering import Ordering

BIT_CANDIDATES = 100  # that weighted bits order
VECTOR_CANDIDATES = SEARCHED  # that vectors order
TIED_PLACE = VECTOR_CANDIDATES // 20
MAX_CANDIDATES = 100_000  # that vectors order where all are equally near
ALONE = 2.0**40  # bits, beside which codes only part ties, also of small shares
Real = NDArray[np.float32]
Shares = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Order:
    """Orders the candidates of some queries, by vectors or by weighted bits."""

    queries: QueryOrder | Real  # how each orders vectors, or its real outputs

    def distances(self, query: int, codes: Codes, vectors: Vectors | None) -> Real:
        """Return how far candidates are from a query; the smallest comes first."""
        if not isinstance(self.queries, QueryOrder):
            return weighted_distances(self.queries[query : query + 1], codes)[0]
        return -self.queries[query : query + 1].score(codes, vectors)[0]

    def least_beyond(self, query: int, bits: int) -> float:
        """Return a distance that no code falls below which differs in so many bits."""
        assert not isinstance(self.queries, QueryOrder)
        sizes = np.sort(np.abs(self.queries[query]))
        mean = sizes.mean() or 1.0
        return float(sizes[: max(bits, 0)].sum() / mean)

    @property
    def by_vectors(self) -> bool:
        """Whether vectors order, not bits."""
        return isinstance(self.queries, QueryOrder)

    @property
    def candidates(self) -> int:
        """How many of the nearest candidates are ordered."""
        return VECTOR_CANDIDATES if self.by_vectors else BIT_CANDIDATES


def count_ordered(distances: NDArray[Any], by_vectors: bool, left_out: int = 0) -> int:
    """Count the candidates that are put in order: so many of the nearest.

    Vectors also order all that are as near as the last of these, if nearly all are.
    So equal codes do not come in the order of insertion, however many there are.

    Args:
        distances: Of the candidates, nearest first.
        by_vectors: Whether vectors order.
        left_out: How many items will be left out of the results, at most.

    >>> far, same = np.arange(1000), np.zeros(1000)
    >>> count_ordered(far, True), count_ordered(same, True), count_ordered(same, False)
    (500, 1000, 100)
    """
    wanted = VECTOR_CANDIDATES if by_vectors else BIT_CANDIDATES
    count = min(wanted + left_out, len(distances))
    first = min(TIED_PLACE + left_out, len(distances)) - 1
    if by_vectors and count and distances[first] == distances[count - 1]:
        ties = np.searchsorted(distances, distances[count - 1], "right")
        return min(int(ties), MAX_CANDIDATES)
    return count


def find_ordering(encoder: object) -> Ordering | None:
    """Return what orders by vectors; None where an encoder gives none."""
    found: Ordering | None = getattr(encoder, "ordering", None)
    return found


def vector_bytes(encoder: object) -> int:
    """Count the bytes that an index of a model keeps of each item's vector."""
    ordering = find_ordering(encoder)
    return 0 if ordering is None else ordering.bytes


@dataclass(frozen=True)
class Fusion:
    """Orders the candidates of some queries by codes and words."""

    words: Sequence[WordQuery]  # what the texts are matched with, one to each query
    bits: int  # of the codes
    weight: float  # bits by which an item is nearer whose text matches all words

    @property
    def by_words(self) -> bool:
        """Whether only items that match words are found, in the order of these."""
        return self.weight == ALONE

    def fuse(self, distances: NDArray[Any], shares: Shares) -> NDArray[np.float64]:
        """Return distances that words have shortened; some may be below 0."""
        return np.asarray(distances - self.weight * shares)

    def arrange(
        self, distances: NDArray[Any], far: NDArray[Any], shares: Shares
    ) -> NDArray[np.intp]:
        """Order candidates that are ordered by `far` without words: their places.

        The first by `far` has the smallest distance, and so on; words shorten these.
        Candidates that are then equally near stay in the order of `far`.
        """
        first = np.argsort(far, kind="stable")
        fused = self.fuse(np.sort(distances), shares[first])
        return np.asarray(first[np.argsort(fused, kind="stable")])

    def scores(self, distances: NDArray[Any], shares: Shares) -> NDArray[np.float64]:
        """Return what the probability of results depends on; lower is better."""
        return np.asarray(distances - SURE_WEIGHT * self.bits * shares)


def plan_fusion(
    store: CodeStore,
    texts: Sequence[object],
    params: SearchParams,
    read_as: Sequence[Mapping[str, str]] | None = None,
) -> Fusion | None:
    """Say how texts are matched; None where codes alone are compared.

    `read_as` has, for each text, known words for unknown ones: these match, too.

    Matching words alone in a store without words is an error.
    """
    if params.match == "codes":
        return None
    if wrong := find_obstacle(store, texts):
        if params.match != "words":
            return None
        raise SettingError(
            f"words cannot be matched: {wrong}. Leave out match, or search with "
            "match='codes'."
        )
    weight = ALONE if params.match == "words" else MATCH_WEIGHT * store.bits
    words = [
        WordQuery(
            drop_function_words(split_words(str(text))),
            weight,
            params.radius,
            _fold_words(read),
        )
        for text, read in zip(texts, read_as or [{}] * len(texts), strict=True)
    ]
    return Fusion(words, store.bits, weight)


def _fold_words(read_as: Mapping[str, str]) -> dict[str, str]:
    """Return words as texts are split, each with the one that it is read as."""
    pairs = ((split_words(word), split_words(known)) for word, known in read_as.items())
    return {word[0]: known[0] for word, known in pairs if len(word) == len(known) == 1}


def find_obstacle(store: CodeStore, texts: Sequence[object]) -> str:
    """Say why words cannot be matched; nothing where they can."""
    if not all(isinstance(text, str) for text in texts):
        return "only texts have words, no vectors, pictures or ids"
    return store.words_obstacle()
