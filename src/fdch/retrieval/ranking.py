"""Ranking: what is near some queries, in order, with probabilities."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes
from fdch.errors import SettingError
from fdch.evaluation.calibration import FUSED, WEIGHTED, Calibration
from fdch.index.store import Answer, Choose, CodeStore, Vectors
from fdch.retrieval.fusion import Fusion, Shares
from fdch.retrieval.marks import mark_words
from fdch.retrieval.ordering import Order
from fdch.retrieval.params import SearchParams
from fdch.retrieval.queries import Queries
from fdch.retrieval.results import Result, Results

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
        fusion: Fusion | None = None,
    ) -> None:
        self.store, self.calibration = store, calibration
        self.queries, self.params, self.order = queries, params, order
        self.fusion = fusion
        # probabilities are known by codes, and by codes whose bits are weighted
        self.is_weighted = order is not None and not order.by_vectors
        if params.min_probability is not None:
            self._require_probabilities()

    def results(self) -> list[Results]:
        """Find and rank what is near each query."""
        by_vectors = self.order is not None and not self.is_weighted
        params = self.params
        limit = params.vector_candidates if by_vectors else params.candidates
        if limit is not None and self.queries.without:
            limit += 1
        answers = self._find(range(len(self.queries.codes)), limit)
        return [self._rank(row, each, limit) for row, each in enumerate(answers)]

    def _find(self, rows: Sequence[int], limit: int | None) -> list[Answer]:
        """Find the nearest items of some queries, with what is known of them."""
        where, radius = self.params.conditions, self.params.radius
        codes = self.queries.codes[list(rows)]
        tied: dict[int, int] = {}
        choose = self._chooser(rows, limit, tied)
        words = None if self.fusion is None else [self.fusion.words[r] for r in rows]
        if radius is None:
            assert limit is not None
            answers = self.store.nearest(codes, limit, where, choose, words)
        else:
            answers = self.store.within(codes, radius, where, limit, choose, words)
        for at, distance in tied.items():
            choose, code = self._chooser([rows[at]], None, {}), codes[[at]]
            [answers[at]] = self.store.within(
                code,
                distance,
                where,
                MAX_CANDIDATES,
                choose,
                None if words is None else [words[at]],
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
        if self.order is None and self.fusion is None:
            return None
        return partial(self._choose, rows, limit, tied)

    def _choose(
        self,
        rows: Sequence[int],
        limit: int | None,
        tied: dict[int, int],
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
        wanted = self.params.k
        if wanted is not None:
            wanted += bool(self.queries.without)
            by_vectors = self.order is not None and self.order.by_vectors
            if by_vectors and limit is not None and len(distances) >= limit:
                # those that only words have found are behind the limit
                last = distances[limit - 1]
                if last == distances[wanted - 1]:
                    tied[query] = int(last)
        far: NDArray[Any] = distances
        if self.order is not None:
            far = self.order.distances(rows[query], codes, vectors)
        if self.fusion is not None and shares is not None:
            places = self.fusion.order(distances, far, shares)
        else:
            places = np.argsort(far, kind="stable")
        return places if self.params.min_probability is not None else places[:wanted]

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
        shown = tuple(self._mark(row, each) for each in ranked[:k])
        return Results(query, shown, answer.scanned, 0.0)

    def _mark(self, row: int, result: Result) -> Result:
        """Say where words of the query stand in the text of a result."""
        if self.fusion is None:
            return result
        words = self.fusion.words[row].words
        return replace(result, matched=mark_words(result.text, words))

    def _results(self, row: int, answer: Answer) -> list[Result]:
        """Add probabilities to what was found for one query, and leave some out."""
        without = self.queries.without[row] if self.queries.without else None
        known = [
            (place, item)
            for place, item in enumerate(answer.items or ())
            if item is not None and item.id != without
        ]
        places, items = [place for place, _ in known], [item for _, item in known]
        bits, score = answer.distances[places], self._score(row)
        distances: NDArray[Any] = bits
        if score == FUSED and self.fusion is not None and answer.shares is not None:
            distances = self.fusion.scores(bits, answer.shares[places])
        elif self.order is not None and score == WEIGHTED and places:
            distances = self.order.distances(row, answer.codes[places], None)
        probabilities: list[float | None] = [None] * len(items)
        if self.calibration is not None:
            kinds = [item.kind for item in items]
            probabilities = self.calibration.probabilities(
                self.queries.facts(row),
                kinds,
                distances,
                answer.scanned,
                score,
            )
        least = self.params.min_probability
        return [
            Result(item, int(bits[place]), probabilities[place])
            for place, item in enumerate(items)
            if least is None or (probabilities[place] or 0) >= least
        ]

    def _score(self, row: int) -> str:
        """Say which distances the probabilities of a query's results depend on."""
        kind, calibration = self.queries.kinds[row], self.calibration
        if self.fusion and calibration and calibration.knows(kind, FUSED):
            return FUSED
        return WEIGHTED if self.is_weighted else "plain"

    def _may_reach(self, row: int, answer: Answer) -> bool:
        """Tell whether items farther than those found may be probable enough."""
        least = self.params.min_probability
        score = self._score(row)
        if least is None or score == WEIGHTED or self.calibration is None:
            return False
        if self.fusion is not None and self.fusion.by_words:
            return False
        facts, found = self.queries.facts(row), answer.distances
        return self.calibration.may_reach(facts, least, found, answer.scanned, score)

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
