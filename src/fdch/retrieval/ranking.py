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
from fdch.index.store import Answer, CodeStore, Vectors
from fdch.retrieval.arranging import LOOKAHEAD, Sorting, group_results
from fdch.retrieval.composed import contains_phrase
from fdch.retrieval.ordering import BIT_STAGES, VECTOR_STAGES, Fusion, Order, Shares
from fdch.retrieval.params import SearchParams
from fdch.retrieval.queries import Queries
from fdch.retrieval.results import Result, Results, mark_words

GROWTH = 4
MAX_CANDIDATES = 100_000
MAX_READ = 20_000  # items whose texts are looked at
Places = NDArray[np.intp]


class Pool(NamedTuple):
    """What the first items of an order were chosen from.

    Args:
        final: How many of the items found come first whatever lies farther away.
        is_all: Whether nothing lies farther away.
        nearest: What the probability of the nearest candidate depends on, items to
            leave out aside.
        farthest: Distance of the farthest candidate.
        tied: The distance at which candidates were left out only for being added
            later, though their vectors might come first; None where there are none.
    """

    final: int
    is_all: bool
    nearest: float
    farthest: int
    tied: int | None = None


class Ranking:
    """Finds what is near some queries, orders it, and adds the probabilities.

    The order of all items of an index is the same for every page of results. Its
    beginning is found first, and more of it where too many items are left out.
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
        self.queries, self.params, self.fusion = queries, params, fusion
        self.without = queries.without or [()] * len(queries.kinds)
        self.avoided = queries.avoided or [()] * len(queries.kinds)
        self.sorting = None if params.sort is None else Sorting(store, params.sort)
        self.order = None if self.sorting else order  # a column's values order
        # probabilities are known by codes, and by codes whose bits are weighted
        self.is_weighted = self.order is not None and not self.order.by_vectors
        self.stages = BIT_STAGES if self.is_weighted else VECTOR_STAGES
        # by weighted bits, items that lie farther away may be more probable: each
        # stage says if there is another, so that none is passed over
        self.ends_by_stage = self.is_weighted and params.min_probability is not None
        if params.min_probability is not None:
            self._require_probabilities()

    def results(self) -> list[Results]:
        """Find and rank what is near each query."""
        params, count = self.params, self.params.last
        if self.sorting is not None:
            count = params.sorted_candidates
        elif count is not None and self.ends_by_stage:
            count = self.stages.results
        elif count is not None and params.group is not None:
            count += LOOKAHEAD
        answers = self._find(range(len(self.queries.codes)), count)
        notes = self.store.notes(params.conditions) if params.conditions else ()
        found: list[Results] = []
        for row, (answer, pool) in enumerate(answers):
            ranked = self._rank(row, answer, pool, count)
            facets = None
            if params.facets:
                code, radius = self.queries.codes[[row]], params.radius
                near = None if radius is None else (code, radius)
                facets = self.store.facets(params.conditions, near=near)
            noted = (*notes, *ranked.notes)
            found.append(replace(ranked, notes=noted, facets=facets))
        return found

    def _find(
        self, rows: Sequence[int], count: int | None
    ) -> list[tuple[Answer, Pool]]:
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
            ids = list(dict.fromkeys(name for each in answers for name in each.ids))
            items = dict(zip(ids, self.store.items(ids), strict=True))
            answers = [
                replace(each, items=tuple(items[name] for name in each.ids))
                for each in answers
            ]
        for row, answer, limit in zip(rows, answers, limits, strict=True):
            if row not in pools:  # nothing was chosen: the order is that of codes
                found = len(answer.ids)
                ends = answer.distances[[0, -1]].tolist() if found else (0, 0)
                pools[row] = Pool(found, count is None or found < limit, *ends)
        return [(each, pools[row]) for row, each in zip(rows, answers, strict=True)]

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
        places, score = nearest, self._score(row)
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
        found, farthest = len(nearest), int(distances[nearest].max())
        is_all = len(places) == found < limit
        return places, Pool(min(final, found), is_all, near, farthest, tied)

    def _rank(self, row: int, answer: Answer, pool: Pool, count: int | None) -> Results:
        """Make results of what was found; find more where too much is left out."""
        params = self.params
        is_read = bool(self.avoided[row]) or params.group is not None
        most = max(MAX_READ if is_read else MAX_CANDIDATES, count or 0)
        growth = 2 if self.ends_by_stage else GROWTH
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
        notes: tuple[str, ...] = ()
        if self.sorting is not None:
            is_cut = not pool.is_all
            ranked, notes = self.sorting.sort(ranked, answer.scanned, is_cut)
        shown = tuple(
            replace(each, matched=mark_words(each.item.text, answer.words))
            for each in ranked[params.offset : params.last]
        )
        query = {**self.queries.descriptions[row], **params.to_json()}
        return Results(query, shown, answer.scanned, 0.0, notes)

    def _score(self, row: int) -> str:
        """Say which distances the probabilities of a query's results depend on."""
        kind, calibration = self.queries.kinds[row], self.calibration
        if self.fusion and calibration and calibration.knows(kind, FUSED):
            return FUSED
        return WEIGHTED if self.is_weighted else "plain"

    def _results(self, row: int, answer: Answer, pool: Pool) -> dict[int, Result]:
        """Add probabilities to what was found for one query, and leave some out.

        Returns:
            Results by their places in the answer.
        """
        known = [
            (place, item)
            for place, item in enumerate(answer.items or ())
            if item is not None and item.id not in self.without[row]
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
        least, avoided = self.params.min_probability, self.avoided[row]
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
        if self.ends_by_stage:
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
