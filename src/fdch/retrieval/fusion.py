"""Codes and words together: one order of what is near and what texts say.

An item is nearer by up to `MATCH_WEIGHT` of the bits, in proportion to how much of
the query its text matches: `distance - MATCH_WEIGHT * bits * share`. The share counts
each word by how rare it is (`data/word_weights.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fdch.data.word_weights import MATCH_WEIGHT, SURE_WEIGHT
from fdch.errors import SettingError
from fdch.index.storage.catalogue.word_table import split_words
from fdch.index.store import CodeStore, WordQuery
from fdch.retrieval.params import SearchParams

_ALONE = 2.0**20  # bits, beside which codes only part ties
Shares = NDArray[np.float64]


@dataclass(frozen=True)
class Fusion:
    """Orders the candidates of some queries by codes and words.

    Args:
        words: What the texts are matched with, one to each query.
        bits: Length of the codes.
        by_words: Only items that match words, in the order of these.
    """

    words: Sequence[WordQuery]
    bits: int
    by_words: bool

    def fuse(self, distances: NDArray[Any], shares: Shares) -> NDArray[np.float64]:
        """Give distances that words have shortened; some may be below 0."""
        weight = _ALONE if self.by_words else MATCH_WEIGHT * self.bits
        return np.asarray(distances - weight * shares)

    def fuse_order(
        self, distances: NDArray[Any], far: NDArray[Any], shares: Shares
    ) -> NDArray[np.float64]:
        """Give what orders candidates that are ordered by `far` without words.

        The first by it has the smallest distance, and so on; words shorten these.
        """
        ranked = np.empty(len(far))
        ranked[np.argsort(far, kind="stable")] = np.sort(distances)
        return self.fuse(ranked, shares)

    def scores(self, distances: NDArray[Any], shares: Shares) -> NDArray[np.float64]:
        """Give what the probability of results depends on; lower is better."""
        return np.asarray(distances - SURE_WEIGHT * self.bits * shares)


def plan_fusion(
    store: CodeStore, texts: Sequence[object], params: SearchParams
) -> Fusion | None:
    """Say how texts are matched; None where codes alone are compared.

    Words alone cannot be had of a store without them: that is an error.
    """
    if params.match == "codes":
        return None
    by_words = params.match == "words"
    if wrong := find_obstacle(store, texts):
        if not by_words:
            return None
        raise SettingError(
            f"words cannot be matched: {wrong}. Leave out match, or search with "
            "match='codes'."
        )
    weight = _ALONE if by_words else MATCH_WEIGHT * store.bits
    words = [WordQuery(split_words(str(t)), weight, params.radius) for t in texts]
    return Fusion(words, store.bits, by_words)


def find_obstacle(store: CodeStore, texts: Sequence[object]) -> str:
    """Say why words cannot be matched; nothing where they can."""
    if not all(isinstance(text, str) for text in texts):
        return "only texts have words, no vectors, pictures or ids"
    return store.words_obstacle()
