"""Searcher: an index with its model, asked by words, by a picture or by an id."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, Unpack

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes, weighted_distances
from fdch.errors import DataError, SettingError
from fdch.evaluation.calibration import Calibration
from fdch.export.model import ExportedModel
from fdch.index.search.lookup import warm
from fdch.index.store import Answer, Item, require_several
from fdch.retrieval.index import Index
from fdch.retrieval.queries import (
    Encoder,
    Picture,
    Queries,
    Text,
    image_queries,
    text_queries,
)
from fdch.retrieval.results import Demand, Options, Result, Results

GROWTH = 4
MOST_CANDIDATES = 100_000


class Searcher:
    """Finds what is near a text, a picture or an item of an index.

    How many results there are, and which, is told by keyword; see Options:
    `Searcher("catalogue.index").by_text("a dog", k=5, where="price<=20")`.

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
        """Load and compile all that a search needs, so that none has to wait."""
        warm(self.index.bits)
        inputs = self.encoder.inputs
        if inputs.size is None:
            self.by_image(np.zeros(inputs.image_width), k=1)
        else:
            self.by_image(np.zeros((8, 8, 3), np.uint8), k=1)
        vector = np.zeros(inputs.text_width)
        vector[:1] = 1
        self.by_text(vector, k=1)

    def by_text(self, text: Text, **options: Unpack[Options]) -> Results:
        """Find what is near a text; see Options for how."""
        return self.by_texts([text], **options)[0]

    def by_image(self, image: Picture, **options: Unpack[Options]) -> Results:
        """Find what is near a picture: its path, its file's content or its pixels."""
        return self.by_images([image], **options)[0]

    def by_id(self, name: str, **options: Unpack[Options]) -> Results:
        """Find what is near an item of the index, without the item itself."""
        return self.by_ids([name], **options)[0]

    def by_texts(
        self, texts: Sequence[Text], **options: Unpack[Options]
    ) -> list[Results]:
        """Find for each text what is near it."""
        require_several("texts", texts)
        demand, encoder = Demand.of(options), self.encoder
        return self._find(texts, lambda: [text_queries(encoder, texts)], demand)

    def by_images(
        self, images: Sequence[Picture], **options: Unpack[Options]
    ) -> list[Results]:
        """Find for each picture what is near it."""
        require_several("pictures", images)
        demand, encoder = Demand.of(options), self.encoder
        context = self.index.context
        return self._find(
            images, lambda: [image_queries(encoder, images, context)], demand
        )

    def by_ids(self, names: Sequence[str], **options: Unpack[Options]) -> list[Results]:
        """Find for each item of the index what is near it, without itself."""
        require_several("ids", names)
        demand = Demand.of(options)
        if demand.rerank:
            raise SettingError(
                "an indexed item has its code alone, so it cannot re-rank. Search by "
                "its text or picture instead."
            )
        return self._find(names, lambda: self._stored(names), demand)

    def _stored(self, names: Sequence[str]) -> list[Queries]:
        items, codes = self.index.store.known(names)
        by_kind: dict[str, list[int]] = {}
        for row, item in enumerate(items):
            by_kind.setdefault(item.kind, []).append(row)
        return [
            Queries(
                [{"id": names[row]} for row in rows],
                kind,
                codes[rows],
                without=[names[row] for row in rows],
                places=rows,
            )
            for kind, rows in by_kind.items()
        ]

    def _find(
        self,
        asked: Sequence[object],
        encode: Callable[[], list[Queries]],
        demand: Demand,
    ) -> list[Results]:
        if not len(asked):
            return []
        calibration = self.calibration
        began = time.perf_counter()
        found: dict[int, Results] = {}
        for queries in encode():
            search = _Search(self.index, calibration, queries, demand)
            places = queries.places or range(len(queries.codes))
            for row, place in enumerate(places):
                found[place] = search.results(row)
        share = 1000 * (time.perf_counter() - began) / max(len(found), 1)
        return [
            replace(found[place], milliseconds=round(share, 3))
            for place in sorted(found)
        ]


class _Search:
    """Queries of one kind on their way through an index."""

    def __init__(
        self,
        index: Index,
        calibration: Calibration | None,
        queries: Queries,
        demand: Demand,
    ) -> None:
        self.store, self.queries, self.demand = index.store, queries, demand
        self.calibration = calibration
        self.radius = self._radius()
        self.most = demand.candidates
        if self.most is not None and queries.without:
            self.most += 1
        self.answers = self._ask(queries.codes, self.most)

    def results(self, row: int) -> Results:
        """Give the results of one query."""
        answer, most, k = self.answers[row], self.most, self.demand.k
        found = self._shape(row, answer)
        # some kinds of items may be too improbable at distances where others are not
        while self._may_hide_more(answer, most) and len(found) < (k or 0):
            most = GROWTH * (most or 1)
            answer = self._ask(self.queries.codes[[row]], most)[0]
            found = self._shape(row, answer)
        asked = {**self.queries.asked[row], **self.demand.to_json()}
        return Results(asked, tuple(found[:k]), answer.scanned, 0.0)

    def _may_hide_more(self, answer: Answer, most: int | None) -> bool:
        """Tell whether improbable items may have taken the place of probable ones."""
        is_full = most is not None and most <= len(answer.ids) < MOST_CANDIDATES
        is_cut = self.demand.min_probability is not None and not self.demand.rerank
        return is_full and is_cut

    def _radius(self) -> int | None:
        """Give the largest distance at which there may be something to give."""
        radius, least = self.demand.radius, self.demand.min_probability
        if least is None:
            return radius
        if self.calibration is None:
            raise SettingError(
                "the model of this index does not know how probable its results are: "
                "it was trained by an earlier version, or with too few validation "
                "pairs. Train it again, or leave out the least probability."
            )
        if self.queries.kind not in self.calibration.curves:
            raise SettingError(
                "how probable results are is known for texts, pictures and pairs; of "
                "this item only a code is known. Leave out the least probability."
            )
        if self.demand.rerank:
            return radius
        farthest = self.calibration.farthest(self.queries.kind, least)
        return farthest if radius is None else min(radius, farthest)

    def _ask(self, codes: Codes, most: int | None) -> list[Answer]:
        """Find items, with what is known of them as of the same commit."""
        where = self.demand.where
        if self.radius is not None and self.radius < 0:
            self.store.nearest(codes[:0], 1, where)  # refuses unknown columns
            return [
                Answer((), np.zeros(0, np.uint16), codes[:0], 0, ())
                for _ in range(len(codes))
            ]
        if self.radius is None:
            assert most is not None
            answers = self.store.nearest(codes, most, where)
        else:
            answers = self.store.within(codes, self.radius, where, most)
        if all(answer.items is not None for answer in answers):
            return answers
        return self._learned(answers)

    def _learned(self, answers: list[Answer]) -> list[Answer]:
        """Ask for what is known of the items found."""
        ids = list(dict.fromkeys(name for each in answers for name in each.ids))
        items = dict(zip(ids, self.store.items(ids), strict=True))
        return [
            replace(each, items=tuple(items[name] for name in each.ids))
            for each in answers
        ]

    def _shape(self, row: int, answer: Answer) -> list[Result]:
        without = self.queries.without[row] if self.queries.without else None
        known = [
            (place, item)
            for place, item in enumerate(answer.items or ())
            if item is not None and item.id != without
        ]
        places, items = [place for place, _ in known], [item for _, item in known]
        plain = answer.distances[places]
        measured: NDArray[Any] = plain
        if self.demand.rerank and places:
            if self.queries.outputs is None:
                raise DataError("only a text or a picture can re-rank.")
            outputs = self.queries.outputs[[row]]
            measured = weighted_distances(outputs, answer.codes[places])[0]
        likely = self._probabilities(items, measured)
        order = np.argsort(measured, kind="stable")
        least = self.demand.min_probability
        return [
            Result(items[place], int(plain[place]), likely[place])
            for place in order
            if least is None or (likely[place] or 0) >= least
        ]

    def _probabilities(
        self, items: list[Item], distances: NDArray[Any]
    ) -> list[float | None]:
        if self.calibration is None:
            return [None] * len(items)
        return self.calibration.probabilities(
            self.queries.kind,
            [item.kind for item in items],
            distances,
            self.demand.rerank,
        )
