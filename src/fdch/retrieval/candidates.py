"""Candidates: what codes and words find for a query, in the order of its results."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes
from fdch.evaluation.calibration.model import FUSED, WEIGHTED
from fdch.evaluation.ordering import SEARCHED
from fdch.index.store import Answer, CodeStore, Vectors
from fdch.retrieval.ordering import Fusion, Order, Shares
from fdch.retrieval.params import SearchParams
from fdch.retrieval.queries import Queries

MAX_CANDIDATES = 100_000
Places = NDArray[np.intp]


@dataclass(frozen=True)
class Stages:
    """How many of the nearest candidates each result is chosen from.

    The first `results` are the best of the nearest `candidates`. Up to twice as many
    results come from twice as many candidates, and so on. So a result's place does not
    depend on how many results are requested.
    """

    results: int  # of the first stage
    candidates: int  # of the first stage
    extra: int = 0  # items that will be left out, which are added to both
    most: int = MAX_CANDIDATES  # of a stage that has fewer results
    # whether all candidates as near as the last of a stage belong to it, if the last
    # result is as near by codes
    joins_ties: bool = False

    def stage(self, number: int) -> tuple[int, int]:
        """Return how many results there are up to a stage, of how many candidates."""
        results = (self.results << number) + self.extra
        candidates = min((self.candidates << number) + self.extra, self.most)
        return results, max(results, candidates)

    def cover(self, wanted: int) -> tuple[int, int]:
        """Return the same for the first stage up to which there are enough results.

        >>> Stages(25, 500).cover(10), Stages(25, 500).cover(60)
        ((25, 500), (100, 2000))
        """
        number = 0
        while self.stage(number)[0] < wanted:
            number += 1
        return self.stage(number)

    def order(
        self, distances: NDArray[Any], rate: Callable[[int], NDArray[Any]]
    ) -> NDArray[np.intp]:
        """Return the places of candidates, the best first.

        Args:
            distances: Of the candidates, nearest first.
            rate: Returns what so many of the nearest are ordered by, smallest first.

        >>> distances, far = np.array([0, 1, 1, 2, 3]), np.array([3, 2, 4, 1, 0])
        >>> Stages(1, 2).order(distances, lambda count: far[:count]).tolist()
        [1, 3, 4, 0, 2]
        """
        count, found = len(distances), np.empty(0, np.intp)
        number = end = 0
        while end < count:
            results, end = self.stage(number)
            if end < count and self.is_tied(distances, results, end):
                end = int(np.searchsorted(distances, distances[end - 1], "right"))
            best = np.argsort(rate(min(end, count)), kind="stable")
            best = best[~np.isin(best, found)]
            more = best if end >= count else best[: results - len(found)]
            found, number = np.concatenate([found, more]), number + 1
        return found

    def is_tied(self, distances: NDArray[Any], results: int, candidates: int) -> bool:
        """Say whether others as near as the last candidate of a stage belong to it."""
        return self.joins_ties and bool(
            distances[candidates - 1] == distances[results - 1]
        )


BIT_STAGES = Stages(10, 100)  # ordered by weighted bits
VECTOR_STAGES = Stages(SEARCHED // 20, SEARCHED, joins_ties=True)


class Pool(NamedTuple):
    """What the first items of an order were chosen from."""

    final: int  # items found that come first whatever lies farther away
    is_all: bool  # whether nothing lies farther away
    nearest: float  # score of the nearest candidate, items to leave out aside
    farthest: float  # no candidate left out has a score below this
    # the distance at which candidates were left out only for being added later,
    # though their vectors might come first
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

    @cached_property
    def stages(self) -> Stages:
        """How many candidates results are chosen from, where these are ordered."""
        by_bits = self.order is not None and not self.order.by_vectors
        return BIT_STAGES if by_bits else VECTOR_STAGES

    def find(self, rows: Sequence[int], count: int | None) -> list[tuple[Answer, Pool]]:
        """Find so many first items of some queries, with what is known of them."""
        where, radius = self.params.conditions, self.params.radius
        codes = self.queries.codes[list(rows)]
        words = None if self.fusion is None else [self.fusion.words[r] for r in rows]
        pools: dict[int, Pool] = {}

        def choose(
            rows: Sequence[int], is_cut: bool, query: int, *candidates: Any
        ) -> Places:
            row = rows[query]
            places, pools[row] = self._choose(row, count, is_cut, *candidates)
            return places

        is_chosen = self.order is not None or self.fusion is not None
        first = partial(choose, rows, True) if is_chosen else None
        limits = [0 if count is None else self._cover(row, count)[1] for row in rows]
        if radius is None:
            answers = self.store.nearest(codes, max(limits), where, first, words)
        else:
            limit = None if count is None else max(limits)
            answers = self.store.within(codes, radius, where, limit, first, words)
        for at, row in enumerate(rows):
            tied = pools[row].tied if row in pools else None
            if tied is not None:
                again = partial(choose, [row], False)
                own = None if words is None else [words[at]]
                [answers[at]] = self.store.within(
                    codes[[at]], tied, where, MAX_CANDIDATES, again, own
                )
                pools[row] = pools[row]._replace(is_all=False)
        if any(answer.items is None for answer in answers):
            answers = self._read_items(answers)
        for row, answer, limit in zip(rows, answers, limits, strict=True):
            if row not in pools:  # nothing was chosen: the order is that of codes
                found = len(answer.ids)
                ends = answer.distances[[0, -1]].tolist() if found else (0, 0)
                pools[row] = Pool(found, count is None or found < limit, *ends)
        return [(each, pools[row]) for row, each in zip(rows, answers, strict=True)]

    def _read_items(self, answers: Sequence[Answer]) -> list[Answer]:
        """Add what is known of the items, where the store has not done so."""
        ids = list(dict.fromkeys(name for each in answers for name in each.ids))
        items = dict(zip(ids, self.store.items(ids), strict=True))
        return [
            replace(each, items=tuple(items[name] for name in each.ids))
            for each in answers
        ]

    def _cover(self, row: int, count: int) -> tuple[int, int]:
        """Return how many first items are final, and of how many candidates."""
        extra = len(self.without[row])
        if self.order is None:
            return count + extra, count + extra
        return replace(self.stages, extra=extra).cover(count + extra)

    def _choose(
        self,
        row: int,
        count: int | None,
        is_cut: bool,
        distances: NDArray[np.uint16],
        codes: Codes,
        vectors: Vectors | None,
        shares: Shares | None,
    ) -> tuple[Places, Pool]:
        """Order the candidates of one query: the places of those to keep, best first.

        `is_cut`: there may be more candidates than this query needs, since another
        query of the batch has more to leave out.
        """
        extra, order, fusion = len(self.without[row]), self.order, self.fusion
        nearest, fused = np.arange(len(distances)), distances.astype(np.float64)
        if fusion is not None and shares is not None:
            fused = fusion.fuse(distances, shares)
            nearest = np.argsort(fused, kind="stable")
            if fusion.by_words:
                nearest = nearest[shares[nearest] > 0]
        if not len(nearest):
            return nearest, Pool(0, True, 0, 0)
        final, limit, tied = len(nearest), len(nearest) + 1, None
        if count is not None:
            final, limit = self._cover(row, count)
        if is_cut and len(nearest) >= limit:
            nearest = nearest[:limit]
            last = nearest[-1]
            if order is not None and fused[last] == distances[last]:
                is_tied = self.stages.is_tied(fused[nearest], final, limit)
                tied = int(distances[last]) if is_tied else None
        places, score = nearest, self.scores[row]
        is_self = extra and len(nearest) > 1 and distances[0] == 0
        near = float(distances[1 if is_self else 0])
        if order is not None:
            some = None if vectors is None else vectors[nearest]
            far = order.distances(row, codes[nearest], some)
            near = float(far.min()) if score == WEIGHTED else near

            def rate(first: int) -> NDArray[Any]:
                if fusion is None or shares is None:
                    return far[:first]
                own = nearest[:first]
                return fusion.fuse_order(distances[own], far[:first], shares[own])

            stages = replace(self.stages, extra=extra)
            places = nearest[stages.order(fused[nearest], rate)]
        if fusion is not None and shares is not None and score == FUSED:
            near = float(fusion.scores(distances, shares).min())
        if count is not None and self.params.min_probability is None:
            places = places[: count + extra]
        found, farthest = len(nearest), max(near, float(fused[nearest].max()))
        is_all = len(places) == found < limit
        return places, Pool(min(final, found), is_all, near, farthest, tied)
