"""Ranking: what is near some queries, in order, with probabilities."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes
from fdch.errors import SettingError
from fdch.evaluation.calibration import Calibration
from fdch.index.store import Answer, Choose, CodeStore, Facets, Vectors
from fdch.retrieval.ordering import Order
from fdch.retrieval.params import SearchParams
from fdch.retrieval.queries import Queries
from fdch.retrieval.results import Result, Results
from fdch.retrieval.sorting import Sorting

GROWTH = 4
MAX_CANDIDATES = 100_000


class Ranking:
    """Finds what is near some queries, orders it, and adds the probabilities."""

    def __init__(
        self,
        store: CodeStore,
        calibration: Calibration | None,
        queries: Queries,
        params: SearchParams,
        order: Order | None,
    ) -> None:
        self.store, self.calibration = store, calibration
        self.queries, self.params, self.order = queries, params, order
        # probabilities are known by codes, and by codes whose bits are weighted
        self.is_weighted = order is not None and not order.by_vectors
        if params.min_probability is not None:
            self._require_probabilities()
        self.sorting = None if params.sort is None else Sorting(store, params.sort)

    def results(self) -> list[Results]:
        """Find and rank what is near each query."""
        by_vectors = self.order is not None and not self.is_weighted
        params = self.params
        limit = params.vector_candidates if by_vectors else params.candidates
        if self.sorting is not None:
            limit = params.sorted_candidates
        if limit is not None and self.queries.without:
            limit += 1
        answers = self._find(range(len(self.queries.codes)), limit)
        notes = self.store.notes(params.conditions) if params.conditions else ()
        found = [self._rank(row, each, limit) for row, each in enumerate(answers)]
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

    def _find(self, rows: Sequence[int], limit: int | None) -> list[Answer]:
        """Find the nearest items of some queries, with what is known of them."""
        where, radius = self.params.conditions, self.params.radius
        codes = self.queries.codes[list(rows)]
        tied: dict[int, int] = {}
        choose = self._chooser(rows, limit, tied)
        if radius is None:
            assert limit is not None
            answers = self.store.nearest(codes, limit, where, choose)
        else:
            answers = self.store.within(codes, radius, where, limit, choose)
        for at, distance in tied.items():
            choose, code = self._chooser([rows[at]], None, {}), codes[[at]]
            [answers[at]] = self.store.within(
                code, distance, where, MAX_CANDIDATES, choose
            )
        if any(answer.items is None for answer in answers):
            ids = list(dict.fromkeys(name for each in answers for name in each.ids))
            items = dict(zip(ids, self.store.items(ids), strict=True))
            answers = [
                replace(each, items=tuple(items[name] for name in each.ids))
                for each in answers
            ]
        return answers

    def _chooser(
        self, rows: Sequence[int], limit: int | None, tied: dict[int, int]
    ) -> Choose | None:
        """Make what orders the candidates of some queries; see `_choose`."""
        if self.order is None:
            return None
        return partial(self._choose, self.order, rows, limit, tied)

    def _choose(
        self,
        order: Order,
        rows: Sequence[int],
        limit: int | None,
        tied: dict[int, int],
        query: int,
        distances: NDArray[np.uint16],
        codes: Codes,
        vectors: Vectors | None,
    ) -> NDArray[np.intp]:
        """Order the candidates of one query; keep what results can be made of.

        Where the last candidate is as near as the last result by codes, others as near
        may have been left out for being added later: the distance goes into `tied`.
        """
        wanted = self.params.k
        if wanted is not None and self.sorting is None:
            wanted += bool(self.queries.without)
            is_full = len(distances) == limit and not self.is_weighted
            if is_full and distances[-1] == distances[wanted - 1]:
                tied[query] = int(distances[-1])
        far = order.distances(rows[query], codes, vectors)
        places = np.argsort(far, kind="stable")
        keeps_all = self.sorting is not None or self.params.min_probability is not None
        return places if keeps_all else places[:wanted]

    def _rank(self, row: int, answer: Answer, limit: int | None) -> Results:
        k = self.params.k
        ranked = self._results(row, answer)
        # of results at one distance, those of one kind may be less probable than the
        # others: they are left out, and farther ones take their place
        while (
            limit is not None
            and len(ranked) < (k or 0)
            and limit <= len(answer.ids) < MAX_CANDIDATES
            and self._may_reach(row, answer)
        ):
            limit *= GROWTH
            [answer] = self._find([row], limit)
            ranked = self._results(row, answer)
        query = {**self.queries.descriptions[row], **self.params.to_json()}
        notes: tuple[str, ...] = ()
        if self.sorting is not None:
            is_cut = limit is not None and len(answer.ids) >= limit
            ranked, notes = self.sorting.sort(ranked, answer.scanned, is_cut)
        return Results(query, tuple(ranked[:k]), answer.scanned, 0.0, notes)

    def _results(self, row: int, answer: Answer) -> list[Result]:
        """Add probabilities to what was found for one query, and leave some out."""
        without = self.queries.without[row] if self.queries.without else None
        known = [
            (place, item)
            for place, item in enumerate(answer.items or ())
            if item is not None and item.id != without
        ]
        places, items = [place for place, _ in known], [item for _, item in known]
        bits, is_weighted = answer.distances[places], self.is_weighted
        distances: NDArray[Any] = bits
        if self.order is not None and is_weighted and places:
            distances = self.order.distances(row, answer.codes[places], None)
        probabilities: list[float | None] = [None] * len(items)
        if self.calibration is not None:
            kinds = [item.kind for item in items]
            probabilities = self.calibration.probabilities(
                self.queries.facts(row),
                kinds,
                distances,
                answer.scanned,
                "weighted" if is_weighted else "plain",
            )
        least = self.params.min_probability
        return [
            Result(item, int(bits[place]), probabilities[place])
            for place, item in enumerate(items)
            if least is None or (probabilities[place] or 0) >= least
        ]

    def _may_reach(self, row: int, answer: Answer) -> bool:
        """Tell whether items farther than those found may be probable enough."""
        least = self.params.min_probability
        if least is None or self.is_weighted or self.calibration is None:
            return False
        facts = self.queries.facts(row)
        return self.calibration.may_reach(
            facts, least, answer.distances, answer.scanned
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
                "how probable results are is known for texts, pictures and pairs; of "
                "this item only a code is known. Leave out min_probability."
            )
