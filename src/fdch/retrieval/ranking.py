"""The items near some queries: found, ordered, each with its probability."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes, weighted_distances
from fdch.errors import SettingError
from fdch.evaluation.calibration import Calibration
from fdch.index.store import Answer, CodeStore
from fdch.retrieval.params import SearchParams
from fdch.retrieval.queries import Queries
from fdch.retrieval.results import Result, Results

GROWTH = 4
MAX_CANDIDATES = 100_000


class Ranking:
    """Finds and orders what is near queries of one kind.

    Args:
        store: Where the items are.
        calibration: How probable a result at a distance is, where that is known.
        queries: Of one kind.
        params: How to search.
    """

    def __init__(
        self,
        store: CodeStore,
        calibration: Calibration | None,
        queries: Queries,
        params: SearchParams,
    ) -> None:
        self.store, self.calibration = store, calibration
        self.queries, self.params = queries, params
        self.radius = params.radius
        if params.min_probability is not None:
            self.radius = self._probable_radius(params.min_probability)

    def results(self) -> list[Results]:
        """Give the results of each query."""
        limit = self.params.candidates
        if limit is not None and self.queries.without:
            limit += 1
        answers = self._find(self.queries.codes, limit)
        return [self._rank(row, each, limit) for row, each in enumerate(answers)]

    def _rank(self, row: int, answer: Answer, limit: int | None) -> Results:
        k, is_cut = self.params.k, self.params.min_probability is not None
        ranked = self._order(row, answer)
        # of results at one distance, those of one kind may be less probable than the
        # others: they are left out, and farther ones take their place
        while (
            limit is not None
            and is_cut
            and not self.params.rerank
            and len(ranked) < (k or 0)
            and limit <= len(answer.ids) < MAX_CANDIDATES
        ):
            limit *= GROWTH
            [answer] = self._find(self.queries.codes[[row]], limit)
            ranked = self._order(row, answer)
        query = {**self.queries.descriptions[row], **self.params.to_json()}
        return Results(query, tuple(ranked[:k]), answer.scanned, 0.0)

    def _find(self, codes: Codes, limit: int | None) -> list[Answer]:
        """Find the nearest items, with what is known of them."""
        where = self.params.conditions
        if self.radius is None:
            assert limit is not None
            answers = self.store.nearest(codes, limit, where)
        elif self.radius < 0:  # nothing is probable enough
            self.store.nearest(codes[:0], 1, where)  # refuses unknown columns
            nothing = Answer((), np.zeros(0, np.uint16), codes[:0], 0, ())
            answers = [nothing] * len(codes)
        else:
            answers = self.store.within(codes, self.radius, where, limit)
        if any(answer.items is None for answer in answers):
            ids = list(dict.fromkeys(name for each in answers for name in each.ids))
            items = dict(zip(ids, self.store.items(ids), strict=True))
            answers = [
                replace(each, items=tuple(items[name] for name in each.ids))
                for each in answers
            ]
        return answers

    def _order(self, row: int, answer: Answer) -> list[Result]:
        """Order what was found for one query; leave out what is too improbable."""
        without = self.queries.without[row] if self.queries.without else None
        known = [
            (place, item)
            for place, item in enumerate(answer.items or ())
            if item is not None and item.id != without
        ]
        places, items = [place for place, _ in known], [item for _, item in known]
        bits, rerank = answer.distances[places], self.params.rerank
        distances: NDArray[Any] = bits
        if rerank and places:
            assert self.queries.outputs is not None
            outputs = self.queries.outputs[[row]]
            distances = weighted_distances(outputs, answer.codes[places])[0]
        probabilities: list[float | None] = [None] * len(items)
        if self.calibration is not None:
            kinds = [item.kind for item in items]
            probabilities = self.calibration.probabilities(
                self.queries.kind, kinds, distances, rerank
            )
        least = self.params.min_probability
        return [
            Result(items[place], int(bits[place]), probabilities[place])
            for place in np.argsort(distances, kind="stable")
            if least is None or (probabilities[place] or 0) >= least
        ]

    def _probable_radius(self, least: float) -> int | None:
        """Give the largest distance at which a result may be probable enough."""
        if self.calibration is None:
            raise SettingError(
                "the model of this index does not know how probable its results are: "
                "it was trained by an earlier version, or with too few validation "
                "pairs. Train it again, or leave out min_probability."
            )
        if self.queries.kind not in self.calibration.curves:
            raise SettingError(
                "how probable results are is known for texts, pictures and pairs; of "
                "this item only a code is known. Leave out min_probability."
            )
        radius = self.params.radius
        if self.params.rerank:
            return radius
        farthest = self.calibration.farthest(self.queries.kind, least)
        return farthest if radius is None else min(radius, farthest)
