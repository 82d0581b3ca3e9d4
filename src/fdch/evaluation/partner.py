"""Partner recall: how often an item's own other half is found among all others.

Labels play no part: image i is compared with the texts of all query pairs, and its
partner is text i. Tied items count by the mean over their orders: a partner with a
nearer items and n - 1 others at its own distance takes each rank from a + 1 to
a + n alike.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes
from fdch.errors import DataError, SettingError
from fdch.evaluation.documents import Ends, Positive, Share
from fdch.evaluation.histograms import histogram_blocks
from fdch.evaluation.ordering import QUERIES_PER_BLOCK, Coded, place_items

RECALL_AT = (1, 10, 50)
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class PartnerScores:
    """How well queries of one modality find their own other halves."""

    recall_at: Mapping[int, Share]  # share of partners among the first k, by k
    median_rank: float  # median over queries of the partner's expected rank
    queries: Positive  # pairs with both sides, each searched for among all of them

    intervals: Mapping[str, Ends] = field(default_factory=dict)

    def means(self) -> dict[str, float]:
        """Return every mean over queries, by the name of its measure."""
        return {f"recall_at_{k}": share for k, share in self.recall_at.items()}


@dataclass(frozen=True, eq=False)
class PartnerPlaces:
    """The place of each query's partner among all compared items."""

    nearer: Floats  # items nearer to the query than its partner
    tied: Floats  # items at the partner's distance, itself included

    def ranks(self) -> Floats:
        """Return the partner's expected rank, from 1."""
        return self.nearer + (self.tied + 1) / 2

    def found_by(self, k: int) -> Floats:
        """Return the probability that the partner is among the first k.

        >>> PartnerPlaces(np.array([0.0, 8.0]), np.array([1.0, 4.0])).found_by(10)
        array([1. , 0.5])
        """
        if k < 1:
            raise SettingError(f"recall is taken at a rank of 1 or more; got {k}.")
        return np.clip(k - self.nearer, 0, self.tied) / self.tied

    def recalls(self) -> dict[str, Floats]:
        """Return every query's own recall, by measure."""
        return {f"recall_at_{k}": self.found_by(k) for k in RECALL_AT}

    def scores(self, intervals: Mapping[str, Ends] | None = None) -> PartnerScores:
        """Return recall and the median rank over all queries."""
        return PartnerScores(
            {k: float(self.found_by(k).mean()) for k in RECALL_AT},
            float(np.median(self.ranks())),
            len(self.nearer),
            intervals or {},
        )


def partner_places(query_codes: Codes, partner_codes: Codes) -> PartnerPlaces:
    """Place each query's partner, the same row of the others, among all of them.

    >>> from fdch.codes import binarize
    >>> images, texts = binarize([[1, 1], [-1, -1]]), binarize([[1, 1], [1, -1]])
    >>> partner_places(images, texts).ranks().tolist()
    [1.0, 1.0]
    """
    if len(query_codes) != len(partner_codes):
        raise DataError(
            f"{len(query_codes)} queries came with {len(partner_codes)} partners; give "
            "one partner to each query."
        )
    differing = query_codes.packed ^ partner_codes.packed
    own = np.bitwise_count(differing).sum(axis=1, dtype=np.intp)
    nearer, tied = np.zeros((2, len(own)))
    alike = np.ones((len(own), 1), dtype=np.uint8)  # every item is counted
    start = 0
    for block in histogram_blocks(query_codes, partner_codes, alike, alike):
        rows = np.arange(len(block))
        stop, distance = start + len(block), own[start : start + len(block)]
        tied[start:stop] = block.items[rows, distance]
        up_to = np.cumsum(block.items, axis=1)[rows, distance]
        nearer[start:stop] = up_to - tied[start:stop]
        start = stop
    return PartnerPlaces(nearer, tied)


def place_partners(queries: Coded, partners: Coded, candidates: int) -> PartnerPlaces:
    """Place each query's partner by distance, or in order where the method orders."""
    if queries.order is None:
        return partner_places(queries.codes, partners.codes)
    nearer = np.zeros(len(queries.codes))
    for start in range(0, len(nearer), QUERIES_PER_BLOCK):
        rows = np.arange(start, min(start + QUERIES_PER_BLOCK, len(nearer)))
        places = place_items(queries.take(rows), partners, candidates)
        nearer[rows] = places[np.arange(len(rows)), rows]
    return PartnerPlaces(nearer, np.ones(len(nearer)))
