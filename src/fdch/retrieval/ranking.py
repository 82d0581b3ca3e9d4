"""Ranking: what is near some queries, in order, with probabilities.

It begins with the first items of an order (`candidates.py`). It finds more where too
many of them are left out: for having a word to avoid, for not being probable enough,
or for being put under another one as its near-duplicate.
"""

from dataclasses import replace

from fdch.errors import SettingError
from fdch.evaluation.calibration.model import FUSED, WEIGHTED, Calibration
from fdch.index.store import Answer, CodeStore, Facets
from fdch.retrieval.arranging import LOOKAHEAD, Sorting, group_results
from fdch.retrieval.candidates import Candidates, Pool
from fdch.retrieval.composed import contains_phrase
from fdch.retrieval.ordering import Fusion, Order
from fdch.retrieval.params import SearchParams
from fdch.retrieval.queries import Queries
from fdch.retrieval.results import Result, Results, mark_words

GROWTH = 4
MAX_READ = 20_000  # items of which some are left out


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
        self.queries, self.params = queries, params
        self.sorting = None if params.sort is None else Sorting(store, params.sort)
        order = None if self.sorting else order  # a column's values order
        if params.min_probability is not None:
            self._require_probabilities()
        # probabilities are known by codes, by codes whose bits are weighted, and by
        # codes and words
        by_codes = WEIGHTED if order is not None and not order.by_vectors else "plain"
        by_words = calibration if fusion else None
        self.scores = [
            FUSED if by_words and by_words.knows(kind, FUSED) else by_codes
            for kind in queries.kinds
        ]
        self.candidates = Candidates(store, queries, params, order, fusion, self.scores)
        self.avoided = queries.avoided or [()] * len(queries.kinds)

    def results(self) -> list[Results]:
        """Find and rank what is near each query."""
        params, count = self.params, self.params.last
        if self.sorting is not None:
            count = params.sorted_candidates
        elif count is not None and params.group is not None:
            count += LOOKAHEAD
        answers = self.candidates.find(range(len(self.queries.codes)), count)
        notes = self.store.notes(params.conditions) if params.conditions else ()
        return [
            self._rank(row, answer, pool, count, notes)
            for row, (answer, pool) in enumerate(answers)
        ]

    def _count(self, row: int) -> Facets:
        """Count the values of all items that one query can return."""
        params, fusion = self.params, self.candidates.fusion
        near = words = None
        if params.radius is not None:
            near = self.queries.codes[[row]], params.radius
        if fusion is not None and fusion.by_words:
            words = fusion.words[row]
        return self.store.facets(params.conditions, near=near, words=words)

    def _rank(
        self,
        row: int,
        answer: Answer,
        pool: Pool,
        count: int | None,
        notes: tuple[str, ...],
    ) -> Results:
        """Make results of what was found; find more where too much is left out."""
        params = self.params
        while True:
            kept = self._results(row, answer, pool)
            is_end = count is None or count >= MAX_READ or pool.is_all
            is_end = is_end or not self._may_continue(row, answer, pool)
            ranked = list(kept.values())
            if params.group is not None:
                codes = answer.codes[list(kept)]
                ranked = group_results(ranked, codes, params.group, is_end)
            if is_end or count is None or len(ranked) >= (params.last or 0):
                break
            count = min(count * GROWTH, MAX_READ)
            [(answer, pool)] = self.candidates.find([row], count)
        if self.sorting is not None:
            is_cut = not pool.is_all
            ranked, noted = self.sorting.sort(ranked, answer.scanned, is_cut)
            notes = (*notes, *noted)
        shown = ranked[params.offset : params.last]
        if answer.words:
            shown = [
                replace(each, matched=mark_words(each.item.text, answer.words))
                for each in shown
            ]
        facets = self._count(row) if params.facets else None
        query = {**self.queries.descriptions[row], **params.to_json()}
        return Results(query, tuple(shown), answer.scanned, 0.0, notes, facets)

    def _results(self, row: int, answer: Answer, pool: Pool) -> dict[int, Result]:
        """Return a query's results by place, without those to be left out."""
        known = [
            (place, item)
            for place, item in enumerate(answer.items or ())
            if item is not None and item.id not in self.candidates.without[row]
        ]
        places, items = [place for place, _ in known], [item for _, item in known]
        probabilities: list[float | None] = [None] * len(items)
        if self.calibration is not None and items:
            shares = None if answer.shares is None else answer.shares[places]
            distances, codes = answer.distances[places], answer.codes[places]
            probabilities = self.calibration.probabilities(
                self.queries.facts(row),
                [item.kind for item in items],
                self.candidates.score(row, distances, codes, shares),
                answer.scanned,
                self.scores[row],
                pool.nearest,
            )
        least, avoided = self.params.min_probability, self.avoided[row]
        return {
            place: Result(item, int(answer.distances[place]), probability)
            for (place, item), probability in zip(known, probabilities, strict=True)
            if (least is None or (probability or 0) >= least)
            and not (avoided and contains_phrase(item.text, avoided))
        }

    def _may_continue(self, row: int, answer: Answer, pool: Pool) -> bool:
        """Return whether other items than those found may be probable enough."""
        least = self.params.min_probability
        if least is None or self.calibration is None:
            return True
        facts, ends = self.queries.facts(row), (pool.nearest, pool.farthest)
        return self.calibration.may_reach(
            facts, least, ends, answer.scanned, self.scores[row]
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


def choose_order(
    store: CodeStore, queries: Queries, params: SearchParams
) -> Order | None:
    """Choose what candidates are ordered by; None for their codes alone."""
    if params.rerank is False:
        return None
    if queries.order is not None and store.vector_bytes:
        return Order(queries.order)
    if not params.rerank:
        return None
    if queries.outputs is None:
        raise SettingError(
            "an item of this index has only its code, so it cannot re-rank. Search "
            "by its text or picture instead."
        )
    return Order(queries.outputs)
