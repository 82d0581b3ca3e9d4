"""Ranking: what is near some queries, in order, with probabilities."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes
from fdch.errors import SettingError
from fdch.evaluation.calibration import FUSED, WEIGHTED, Calibration
from fdch.index.store import Answer, Choose, CodeStore, Facets, Vectors
from fdch.retrieval.arranging import LOOKAHEAD, Sorting, group_results
from fdch.retrieval.composed import contains_phrase
from fdch.retrieval.fusion import Fusion, Shares
from fdch.retrieval.ordering import Order
from fdch.retrieval.paging import Stages
from fdch.retrieval.params import SearchParams
from fdch.retrieval.queries import Queries
from fdch.retrieval.results import Result, Results, mark_words

GROWTH = 4
MAX_CANDIDATES = 100_000
MAX_READ = 20_000  # items whose texts are looked at


class Pool(NamedTuple):
    """What the first items of an order were chosen from.

    Args:
        final: How many of the items found come first whatever lies farther away.
        is_all: Whether nothing lies farther away.
        nearest: What the probability of the nearest candidate depends on, items to
            leave out aside.
        farthest: Distance of the farthest candidate.
    """

    final: int
    is_all: bool
    nearest: float
    farthest: int


class Ranking:
    """Finds what is near some queries, orders it, and adds the probabilities.

    The order of all items of an index is the same for every page of results; what
    comes first of it is found, and more where too much of that is left out.
    """

    def __init__(
        self,
        store: CodeStore,
        calibration: Calibration | None,
        queries: Queries,
        params: SearchParams,
        order: Order | None,
        fusion: Fusion | None = None,
    ) -> None:
        self.store, self.calibration = store, calibration
        self.sorting = None if params.sort is None else Sorting(store, params.sort)
        order = None if self.sorting else order  # a column's values order
        self.queries, self.params, self.order = queries, params, order
        self.fusion = fusion
        # probabilities are known by codes, and by codes whose bits are weighted
        self.is_weighted = order is not None and not order.by_vectors
        if params.min_probability is not None:
            self._require_probabilities()

    def results(self) -> list[Results]:
        """Find and rank what is near each query."""
        count, params = self.params.last, self.params
        if count is not None and params.group is not None:
            count += LOOKAHEAD
        if count is not None and self._ends_by_stage:
            count = params.bit_stages.results
        if self.sorting is not None:
            count = params.sorted_candidates
        answers = self._find(range(len(self.queries.codes)), count)
        notes = self.store.notes(params.conditions) if params.conditions else ()
        found = [self._rank(row, *each, count) for row, each in enumerate(answers)]
        return [
            replace(each, notes=(*notes, *each.notes), facets=self._count(row))
            for row, each in enumerate(found)
        ]

    def _count(self, row: int) -> Facets | None:
        """Count the values of what a query may find."""
        params = self.params
        if not params.facets:
            return None
        radius = params.radius
        near = None if radius is None else (self.queries.codes[[row]], radius)
        return self.store.facets(params.conditions, near=near)

    @property
    def _ends_by_stage(self) -> bool:
        """Whether each stage says if there is another, so that none is passed over.

        By weighted bits, items that lie farther away may be more probable.
        """
        return self.is_weighted and self.params.min_probability is not None

    def _find(
        self, rows: Sequence[int], count: int | None
    ) -> list[tuple[Answer, Pool]]:
        """Find so many first items of some queries, with what is known of them."""
        where, radius = self.params.conditions, self.params.radius
        codes = self.queries.codes[list(rows)]
        pools: dict[int, Pool] = {}
        tied: dict[int, int] = {}
        choose = self._chooser(rows, count, pools, tied)
        limits = [self._limit(row, count) for row in rows]
        words = None if self.fusion is None else [self.fusion.words[r] for r in rows]
        if radius is None:
            answers = self.store.nearest(codes, max(limits), where, choose, words)
        else:
            limit = None if count is None else max(limits)
            answers = self.store.within(codes, radius, where, limit, choose, words)
        for at, distance in tied.items():
            again: dict[int, Pool] = {}
            choose, code = self._chooser([rows[at]], count, again, None), codes[[at]]
            own = None if words is None else [words[at]]
            [answers[at]] = self.store.within(
                code, distance, where, MAX_CANDIDATES, choose, own
            )
            pools[at] = again[0]._replace(is_all=False)
        if any(answer.items is None for answer in answers):
            ids = list(dict.fromkeys(name for each in answers for name in each.ids))
            items = dict(zip(ids, self.store.items(ids), strict=True))
            answers = [
                replace(each, items=tuple(items[name] for name in each.ids))
                for each in answers
            ]
        return [
            (answer, pools.get(at) or self._pool_of_codes(answer, limits[at], count))
            for at, answer in enumerate(answers)
        ]

    def _pool_of_codes(self, answer: Answer, limit: int, count: int | None) -> Pool:
        """Describe what was found in the order of codes."""
        found, ends = (
            len(answer.ids),
            answer.distances[[0, -1]] if answer.ids else (0, 0),
        )
        is_all = count is None or found < limit
        return Pool(found, is_all, int(ends[0]), int(ends[1]))

    def _limit(self, row: int, count: int | None) -> int:
        """Count the candidates that so many first items are chosen from."""
        if self.order is None or count is None:
            return (count or 0) + self._extra(row)
        return self._stages(row).cover(count + self._extra(row))[1]

    def _extra(self, row: int) -> int:
        return len(self.queries.without[row]) if self.queries.without else 0

    def _stages(self, row: int) -> Stages:
        params = self.params
        stages = params.bit_stages if self.is_weighted else params.vector_stages
        return replace(stages, extra=self._extra(row), most=MAX_CANDIDATES)

    def _chooser(
        self,
        rows: Sequence[int],
        count: int | None,
        pools: dict[int, Pool],
        tied: dict[int, int] | None,
    ) -> Choose | None:
        """Make what orders the candidates of some queries; see `_choose`."""
        if self.order is None and self.fusion is None:
            return None
        return partial(self._choose, rows, count, pools, tied)

    def _choose(
        self,
        rows: Sequence[int],
        count: int | None,
        pools: dict[int, Pool],
        tied: dict[int, int] | None,
        query: int,
        distances: NDArray[np.uint16],
        codes: Codes,
        vectors: Vectors | None,
        shares: Shares | None,
    ) -> NDArray[np.intp]:
        """Order the candidates of one query; keep what results can be made of.

        Where the last candidate is as near as the last result by codes, others as near
        may have been left out for being added later: the distance goes into `tied`.
        """
        row = rows[query]
        stages, extra = self._stages(row), self._extra(row)
        nearest, fused = np.arange(len(distances)), distances.astype(np.float64)
        if self.fusion is not None and shares is not None:
            fused = self.fusion.fuse(distances, shares)
            nearest = np.argsort(fused, kind="stable")
            if self.fusion.by_words:
                nearest = nearest[shares[nearest] > 0]
        found = len(nearest)
        final, limit = found, found + 1
        if count is not None:
            final = limit = count + extra
            if self.order is not None:
                final, limit = stages.cover(count + extra)
            if tied is not None and found >= limit:
                nearest = nearest[:limit]  # another query of the batch may have more
                last = nearest[-1]
                is_tied = stages.is_tied(fused[nearest], final, limit)
                if (
                    self.order is not None
                    and is_tied
                    and fused[last] == distances[last]
                ):
                    tied[query] = int(distances[last])
        found, places = len(nearest), nearest
        if self.order is not None and found:
            some = None if vectors is None else vectors[nearest]
            far = self.order.distances(row, codes[nearest], some)

            def rate(first: int) -> NDArray[Any]:
                if self.fusion is None or shares is None:
                    return far[:first]
                own = nearest[:first]
                return self.fusion.fuse_order(distances[own], far[:first], shares[own])

            places = nearest[stages.order(fused[nearest], rate)]
        if count is not None and self.params.min_probability is None:
            places = places[: count + extra]
        if found:
            first = 1 if extra and found > 1 and distances[0] == 0 else 0
            near, score = float(distances[first]), self._score(row)
            if self.fusion is not None and shares is not None and score == FUSED:
                near = float(self.fusion.scores(distances, shares).min())
            elif score == WEIGHTED:
                near = float(far.min())
            is_all = len(places) == found < limit
            farthest = int(distances[nearest].max())
            pools[query] = Pool(min(final, found), is_all, near, farthest)
        return places

    def _rank(self, row: int, answer: Answer, pool: Pool, count: int | None) -> Results:
        params = self.params
        is_read = bool(self._avoided(row)) or params.group is not None
        most = max(MAX_READ if is_read else MAX_CANDIDATES, count or 0)
        growth = 2 if self._ends_by_stage else GROWTH
        while True:
            kept = self._results(row, answer, pool)
            # of results at one distance, those of one kind may be less probable than
            # the others: they are left out, and farther ones take their place
            is_end = pool.is_all or not self._may_continue(row, answer, pool, kept)
            is_end = is_end or count is None or count >= most
            if not is_end:
                kept = {place: one for place, one in kept.items() if place < pool.final}
            ranked = list(kept.values())
            if params.group is not None:
                codes = answer.codes[list(kept)]
                ranked = group_results(ranked, codes, params.group, is_end)
            if is_end or count is None or len(ranked) >= (params.last or 0):
                break
            count = min(count * growth, most)
            [(answer, pool)] = self._find([row], count)
        query = {**self.queries.descriptions[row], **params.to_json()}
        notes: tuple[str, ...] = ()
        if self.sorting is not None:
            is_cut = not pool.is_all
            ranked, notes = self.sorting.sort(ranked, answer.scanned, is_cut)
        page = ranked[params.offset : params.last]
        shown = tuple(
            replace(each, matched=mark_words(each.text, answer.words)) for each in page
        )
        return Results(query, shown, answer.scanned, 0.0, notes)

    def _score(self, row: int) -> str:
        """Say which distances the probabilities of a query's results depend on."""
        kind, calibration = self.queries.kinds[row], self.calibration
        if self.fusion and calibration and calibration.knows(kind, FUSED):
            return FUSED
        return WEIGHTED if self.is_weighted else "plain"

    def _avoided(self, row: int) -> Sequence[str]:
        return self.queries.avoided[row] if self.queries.avoided else ()

    def _results(self, row: int, answer: Answer, pool: Pool) -> dict[int, Result]:
        """Add probabilities to what was found for one query, and leave some out.

        Returns:
            Results by their places in the answer.
        """
        without = self.queries.without[row] if self.queries.without else ()
        known = [
            (place, item)
            for place, item in enumerate(answer.items or ())
            if item is not None and item.id not in without
        ]
        places, items = [place for place, _ in known], [item for _, item in known]
        bits, score = answer.distances[places], self._score(row)
        distances: NDArray[Any] = bits
        if score == FUSED and self.fusion is not None and answer.shares is not None:
            distances = self.fusion.scores(bits, answer.shares[places])
        elif self.order is not None and score == WEIGHTED and places:
            distances = self.order.distances(row, answer.codes[places], None)
        probabilities: list[float | None] = [None] * len(items)
        if self.calibration is not None and items:
            by_codes = self.fusion is None and (self.order is None or self.is_weighted)
            probabilities = self.calibration.probabilities(
                self.queries.facts(row),
                [item.kind for item in items],
                distances,
                answer.scanned,
                score,
                float(distances[0]) if by_codes else pool.nearest,
            )
        least, avoided = self.params.min_probability, self._avoided(row)
        return {
            place: Result(item, int(bits[at]), probabilities[at])
            for at, (place, item) in enumerate(known)
            if (least is None or (probabilities[at] or 0) >= least)
            and not (avoided and contains_phrase(item.text, avoided))
        }

    def _may_continue(
        self, row: int, answer: Answer, pool: Pool, kept: dict[int, Result]
    ) -> bool:
        """Say whether items farther than those found may be probable enough."""
        least = self.params.min_probability
        if least is None or self.calibration is None:
            return True
        if self._ends_by_stage:
            return any(place >= pool.final for place in kept)
        if self.fusion is not None and self.fusion.by_words:
            return False
        ends, score = (pool.nearest, pool.farthest), self._score(row)
        return self.calibration.may_reach(
            self.queries.facts(row), least, ends, answer.scanned, score
        )

    def _require_probabilities(self) -> None:
        """Refuse queries whose results have no probability."""
        if self.calibration is None:
            raise SettingError(
                "the model of this index does not know how probable its results are: "
                "it was trained by an earlier version, or with too few validation "
                "pairs. Train it again, or leave out min_probability."
            )
        if not set(self.queries.kinds) <= set(self.calibration.models):
            raise SettingError(
                "how probable results are is known for a text, a picture or a pair; "
                "not for an item of which only a code is known, nor for several of "
                "them together. Leave out min_probability."
            )
