"""Searcher: an index with its model, searched by text, picture or id."""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes, weighted_distances
from fdch.errors import SettingError
from fdch.evaluation.calibration import Calibration
from fdch.export.model import ExportedModel
from fdch.index.search.lookup import warm
from fdch.index.store import Answer, CodeStore
from fdch.retrieval.index import Index
from fdch.retrieval.params import QueryKind, SearchMethods, SearchParams
from fdch.retrieval.queries import (
    Encoder,
    Picture,
    Queries,
    Text,
    encode_image_queries,
    encode_text_queries,
)
from fdch.retrieval.results import Result, Results

GROWTH = 4
MAX_CANDIDATES = 100_000


class Searcher(SearchMethods[Text, Picture]):
    """Finds what is near a text, a picture or an item of an index.

    `Searcher("catalogue.index").by_text("a dog", k=5, where="price<=20")`.

    A text is words, or the vector of a model trained on such. A picture is its path,
    its file's content or its pixels.

    Args:
        index: An index, or the name of one.
        encoder: What encodes queries in place of the index's own method: an export
            of the same model, see `fdch.retrieval.encoders.open_encoder`.
    """

    def __init__(
        self, index: Index | str | Path, encoder: ExportedModel | None = None
    ) -> None:
        self.index = index if isinstance(index, Index) else Index.open(index)
        self._owns_index = not isinstance(index, Index)
        if encoder is not None:
            self.index.require_model(encoder.fingerprint, "queries of this encoder")
        self._exported = encoder

    def __repr__(self) -> str:
        return f"<Searcher of {self.index!r}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the index if it was opened here, by its name."""
        if self._owns_index:
            self.index.close()

    @property
    def encoder(self) -> Encoder:
        """What makes codes of texts and pictures."""
        return self._exported or self.index.method

    @property
    def calibration(self) -> Calibration | None:
        """How probable a result at a distance is, where the model knows."""
        return self.index.model.calibration

    def warm(self) -> None:
        """Load and compile all that a search needs, so that the first is fast."""
        warm(self.index.bits)
        inputs = self.encoder.inputs
        if inputs.size is None:
            self.by_image(np.zeros(inputs.image_width), k=1)
        else:
            self.by_image(np.zeros((8, 8, 3), np.uint8), k=1)
        vector = np.zeros(inputs.text_width)
        vector[:1] = 1
        self.by_text(vector, k=1)

    def search(
        self, kind: QueryKind, queries: Sequence[Any], params: SearchParams
    ) -> list[Results]:
        """Find what is near each query: a text, a picture or the id of an item."""
        if kind == "id" and params.rerank:
            raise SettingError(
                "an indexed item has only its code, so it cannot re-rank. Search by "
                "its text or picture instead."
            )
        if not len(queries):
            return []
        began = time.perf_counter()
        store, calibration = self.index.store, self.calibration
        encoded = self._encode(kind, queries)
        found = _Ranking(store, calibration, encoded, params).results()
        share = round(1000 * (time.perf_counter() - began) / len(queries), 3)
        return [replace(each, milliseconds=share) for each in found]

    def _encode(self, kind: QueryKind, queries: Sequence[Any]) -> Queries:
        if kind == "text":
            return encode_text_queries(self.encoder, queries)
        if kind == "image":
            return encode_image_queries(self.encoder, queries, self.index.context)
        items, codes = self.index.store.known(queries)
        descriptions = [{"id": name} for name in queries]
        kinds = [item.kind for item in items]
        return Queries(descriptions, kinds, codes, without=list(queries))


class _Ranking:
    """Finds what is near some queries, orders it, and adds the probabilities."""

    def __init__(
        self,
        store: CodeStore,
        calibration: Calibration | None,
        queries: Queries,
        params: SearchParams,
    ) -> None:
        self.store, self.calibration = store, calibration
        self.queries, self.params = queries, params
        if params.min_probability is not None:
            self._require_probabilities()

    def results(self) -> list[Results]:
        limit = self.params.candidates
        if limit is not None and self.queries.without:
            limit += 1
        answers = self._find(self.queries.codes, limit)
        return [self._rank(row, each, limit) for row, each in enumerate(answers)]

    def _find(self, codes: Codes, limit: int | None) -> list[Answer]:
        """Find the nearest items, with what is known of them."""
        where, radius = self.params.conditions, self.params.radius
        if radius is None:
            assert limit is not None
            answers = self.store.nearest(codes, limit, where)
        else:
            answers = self.store.within(codes, radius, where, limit)
        if any(answer.items is None for answer in answers):
            ids = list(dict.fromkeys(name for each in answers for name in each.ids))
            items = dict(zip(ids, self.store.items(ids), strict=True))
            answers = [
                replace(each, items=tuple(items[name] for name in each.ids))
                for each in answers
            ]
        return answers

    def _rank(self, row: int, answer: Answer, limit: int | None) -> Results:
        k = self.params.k
        ranked = self._order(row, answer)
        # of results at one distance, those of one kind may be less probable than the
        # others: they are left out, and farther ones take their place
        while (
            limit is not None
            and len(ranked) < (k or 0)
            and limit <= len(answer.ids) < MAX_CANDIDATES
            and self._may_reach(row, answer)
        ):
            limit *= GROWTH
            [answer] = self._find(self.queries.codes[[row]], limit)
            ranked = self._order(row, answer)
        query = {**self.queries.descriptions[row], **self.params.to_json()}
        return Results(query, tuple(ranked[:k]), answer.scanned, 0.0)

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
                self.queries.facts(row),
                kinds,
                distances,
                answer.scanned,
                "weighted" if rerank else "plain",
            )
        least = self.params.min_probability
        return [
            Result(items[place], int(bits[place]), probabilities[place])
            for place in np.argsort(distances, kind="stable")
            if least is None or (probabilities[place] or 0) >= least
        ]

    def _may_reach(self, row: int, answer: Answer) -> bool:
        """Tell whether items farther than those found may be probable enough."""
        least = self.params.min_probability
        if least is None or self.params.rerank or self.calibration is None:
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
