"""Candidates: what codes and words find for a query, in the order of its results.

For each query, all items of an index have one order, whatever part of it is requested:

1. By the distance of codes, less what matching words are worth; ties by insertion.
2. The first `count_ordered` of these by vectors or by weighted bits, if these order.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes
from fdch.evaluation.calibration.model import FUSED, WEIGHTED
from fdch.index.store import Answer, CodeStore, Vectors
from fdch.retrieval.ordering import (
    MAX_CANDIDATES,
    Fusion,
    Order,
    Shares,
    count_ordered,
)
from fdch.retrieval.params import SearchParams
from fdch.retrieval.queries import Queries

Places = NDArray[np.intp]


class Pool(NamedTuple):
    """What the first items of an order were chosen from."""

    is_all: bool  # whether the answer has all items that fulfil the conditions
    nearest: float = 0.0  # the smallest score, items to leave out aside
    farthest: float = 0.0  # no item outside has a smaller score
    # the distance of the last candidates, where others as near must be ordered too
    tied: int | None = None


@dataclass(frozen=True, eq=False)
class Candidates:
    """Finds the first items of some queries, in an order that no page changes."""

    store: CodeStore
    queries: Queries
    params: SearchParams
    order: Order | None  # None for the order of distances
    fusion: Fusion | None  # how words bring items nearer; None where they do not
    scores: Sequence[str]  # what the probabilities of each query's results depend on

    @cached_property
    def without(self) -> Sequence[Sequence[str]]:
        """The ids to leave out of each query's results."""
        return self.queries.without or [()] * len(self.queries.kinds)

    def find(self, rows: Sequence[int], count: int | None) -> list[tuple[Answer, Pool]]:
        """Find so many first items of some queries, with their records."""
        limit = count
        if limit is not None:
            if self.order is not None:
                # one more shows whether others are as near as the last that is ordered
                limit = max(limit, self.order.candidates) + 1
            limit += max(len(self.without[row]) for row in rows)
        found = self._search(rows, count, self.params.radius, limit)
        for at, (_, pool) in enumerate(found):
            if pool.tied is not None:
                [found[at]] = self._search([rows[at]], count, pool.tied, MAX_CANDIDATES)
        return self._read_items(found)

    def score(
        self,
        row: int,
        distances: NDArray[np.uint16],
        codes: Codes,
        shares: Shares | None,
    ) -> NDArray[Any]:
        """Return what the probabilities of some items depend on; lower is better."""
        if self.scores[row] == FUSED and self.fusion is not None and shares is not None:
            return self.fusion.scores(distances, shares)
        if self.scores[row] == WEIGHTED and self.order is not None:
            return self.order.distances(row, codes, None)
        return distances

    def _search(
        self,
        rows: Sequence[int],
        count: int | None,
        radius: int | None,
        limit: int | None,
    ) -> list[tuple[Answer, Pool]]:
        """Find the first of so many candidates, no farther than the radius."""
        codes, where = self.queries.codes[list(rows)], self.params.conditions
        words = None if self.fusion is None else [self.fusion.words[r] for r in rows]
        pools: dict[int, Pool] = {}

        def choose(query: int, *candidates: Any) -> Places:
            row = rows[query]
            places, pool = self._choose(row, radius, limit, *candidates)
            kept = places
            # all may be needed where some are not probable enough
            if count is not None and self.params.min_probability is None:
                kept = places[: count + len(self.without[row])]
            is_all = pool.is_all and len(kept) == len(places)
            pools[row] = pool._replace(is_all=is_all)
            return kept

        chooser = None if self.order is None and self.fusion is None else choose
        answers = self.store.search(codes, limit, radius, where, chooser, words)
        for at, each in enumerate(answers if chooser is None else ()):
            choose(at, each.distances, each.codes, None, None)
        return [(each, pools[row]) for row, each in zip(rows, answers, strict=True)]

    def _choose(
        self,
        row: int,
        radius: int | None,
        limit: int | None,
        distances: NDArray[np.uint16],
        codes: Codes,
        vectors: Vectors | None,
        shares: Shares | None,
    ) -> tuple[Places, Pool]:
        """Order the candidates of one query: their places, the best first."""
        left_out, order, fusion = len(self.without[row]), self.order, self.fusion
        nearest, fused = np.arange(len(distances)), distances.astype(np.float64)
        if fusion is not None and shares is not None:
            fused = fusion.fuse(distances, shares)
            nearest = np.argsort(fused, kind="stable")
            if fusion.by_words:
                nearest = nearest[shares[nearest] > 0]
        if radius is not None:
            nearest = nearest[fused[nearest] <= radius]
        nearest = nearest[:limit]
        if not len(nearest):
            return nearest, Pool(is_all=True)
        is_all = limit is None or len(nearest) < limit
        is_all = is_all and radius == self.params.radius
        last, tied = nearest[-1], None
        if order is not None:
            end = count_ordered(fused[nearest], order.by_vectors, left_out)
            if end == len(nearest) and not is_all and fused[last] == distances[last]:
                tied = int(distances[last])
            first = nearest[:end]
            some = None if vectors is None else vectors.take(first, axis=0)
            far: NDArray[Any] = order.distances(row, codes.take(first), some)
            places = np.argsort(far, kind="stable")
            if fusion is not None and shares is not None:
                places = fusion.arrange(distances[first], far, shares[first])
            nearest[:end] = first[places]
        is_self = left_out > 0 and len(distances) > 1 and distances[0] == 0
        near = float(self.score(row, distances, codes, shares)[int(is_self) :].min())
        farthest = float(fused[last])
        if order is not None and self.scores[row] == WEIGHTED:
            farthest = order.least_beyond(row, ceil(farthest))
        return nearest, Pool(is_all, near, max(near, farthest), tied)

    def _read_items(
        self, found: Sequence[tuple[Answer, Pool]]
    ) -> list[tuple[Answer, Pool]]:
        """Add item records, where the store has not done so."""
        unread = [each.ids for each, _ in found if each.items is None]
        ids = list(dict.fromkeys(name for names in unread for name in names))
        items = dict(zip(ids, self.store.items(ids), strict=True)) if ids else {}
        return [
            (replace(each, items=tuple(items[name] for name in each.ids)), pool)
            if each.items is None
            else (each, pool)
            for each, pool in found
        ]
