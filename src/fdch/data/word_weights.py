"""Weights of matching query words, in search and in calibration."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

MATCH_WEIGHT = 0.25  # of the bits, that a text with all words of a query is nearer
# the same for how probable a result is: a word that matches says more about the text
# than about the labels
SURE_WEIGHT = MATCH_WEIGHT / 2
FREQUENT = 3  # a word in more than every third item says little


def weigh_words(holding: ArrayLike, items: int) -> NDArray[np.float64]:
    """Return the share of a query that each of its words is, by how many items hold it.

    A word counts by how rare it is, as in BM25. One that occurs nearly everywhere
    counts only where the query has no other. Where some occur in no item, the others
    say less about what is searched for: they count less, by their share.

    >>> weigh_words([5, 5], 100).tolist(), weigh_words([5, 90], 100).tolist()
    ([0.5, 0.5], [1.0, 0.0])
    >>> weigh_words([5, 0], 100).round(2).tolist()
    [0.13, 0.23]
    """
    counts = np.asarray(holding, np.float64)
    without = np.maximum(items - counts, 0)
    weights = np.log1p((without + 0.5) / (counts + 0.5))
    is_rare = counts * FREQUENT <= items
    if is_rare.any():
        weights *= is_rare
    shares = weights / max(weights.sum(), np.finfo(np.float64).tiny)
    return np.asarray(shares * shares[counts > 0].sum())
