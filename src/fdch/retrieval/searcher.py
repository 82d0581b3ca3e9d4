"""Searcher: an index with its model, searched by text, picture or id."""

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from fdch.codes import Codes
from fdch.data.pictures.images import PictureArray
from fdch.data.texts import Vocabulary
from fdch.data.word_forms import forms_of
from fdch.data.words import cut_words, fold_accents, leave_unknown
from fdch.errors import DataError
from fdch.evaluation.calibration.model import Calibration
from fdch.export.model import ExportedModel
from fdch.index.search.lookup import warm
from fdch.index.store import CodeStore, read_ids
from fdch.retrieval.combining import combine_queries
from fdch.retrieval.composed import ComposedQuery, QueryKind
from fdch.retrieval.index import Index
from fdch.retrieval.ordering import find_obstacle, find_ordering, plan_fusion
from fdch.retrieval.params import SearchMethods, SearchParams
from fdch.retrieval.queries import (
    MAX_READ,
    Encoder,
    Picture,
    Queries,
    Text,
    can_read,
    encode_image_queries,
    encode_text_queries,
)
from fdch.retrieval.ranking import Ranking, choose_order
from fdch.retrieval.results import Results


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
        if not isinstance(index, Index | str | Path):
            raise DataError(
                f"a searcher takes an index or its name; got {type(index).__name__}. "
                "Index.create('catalogue.index', method) makes an index."
            )
        self.index = index if isinstance(index, Index) else Index.open(index)
        self._owns_index = not isinstance(index, Index)
        if encoder is not None:
            self.index.require_model(encoder.fingerprint, "queries of this encoder")
        self._exported = encoder
        self._has_image_network = False

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

    @cached_property
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
        """Find what is near each query.

        It is a text, a picture, the id of an item, or a ComposedQuery of several.
        """
        if not len(queries):
            return []
        self._load(kind, queries, params)
        began = time.perf_counter()
        found = self._search_unread(queries, params) if kind == "text" else {}
        if left := [place for place in range(len(queries)) if place not in found]:
            some = self._search(kind, [queries[place] for place in left], params)
            found.update(zip(left, some, strict=True))
        share = round(1000 * (time.perf_counter() - began) / len(queries), 3)
        return [replace(found[at], milliseconds=share) for at in range(len(queries))]

    def _load(
        self, kind: QueryKind, queries: Sequence[Any], params: SearchParams
    ) -> None:
        """Load the model where it is needed, so that no search counts that time."""
        is_ordered = self.index.store.vector_bytes and params.rerank is not False
        if kind == "id" and not is_ordered:
            return
        inputs = self.encoder.inputs
        is_shown = kind == "image" or any(
            isinstance(each, ComposedQuery) and each.image is not None
            for each in queries
        )
        if is_shown and inputs.size is not None and not self._has_image_network:
            none = PictureArray(np.zeros((0, 8, 8, 3), np.uint8))
            inputs.images(none, self.index.context)
            self._has_image_network = True

    def reads(self, text: str, params: SearchParams | None = None) -> bool:
        """Return whether a text has a word that the model knows, or that is found."""
        vocabulary = self.encoder.inputs.vocabulary
        if vocabulary is None or can_read(vocabulary, text):
            return True
        return params is not None and bool(
            self._search_unread([text], replace(params, k=1))
        )

    def _search(
        self, kind: QueryKind, queries: Sequence[Any], params: SearchParams
    ) -> list[Results]:
        """Search by codes and, where that can be, by words."""
        texts, store = _find_texts(kind, queries), self.index.store
        encoded = self._encode(kind, queries, params)
        read_as = [each.get("read_as", {}) for each in encoded.descriptions]
        fusion = plan_fusion(store, texts, params, read_as)
        order = choose_order(store, encoded, params)
        match = params.match if fusion is not None else "codes"
        used = replace(params, rerank=order is not None, match=match)
        ranking = Ranking(store, self.calibration, encoded, used, order, fusion)
        vocabulary = self.encoder.inputs.vocabulary
        found = [_report_unknown(each, vocabulary, store) for each in ranking.results()]
        if kind != "text" or match == params.match:
            return found
        note = f"codes alone were compared: {find_obstacle(store, texts)}"
        return [replace(each, notes=(*each.notes, note)) for each in found]

    def _search_unread(
        self, texts: Sequence[Any], params: SearchParams
    ) -> dict[int, Results]:
        """Search by words alone for texts unknown to the model; results by place."""
        store, vocabulary = self.index.store, self.encoder.inputs.vocabulary
        needs_code = params.radius is not None or params.min_probability is not None
        if vocabulary is None or params.match == "codes" or needs_code:
            return {}
        places = [
            place
            for place, text in enumerate(texts)
            if isinstance(text, str) and not can_read(vocabulary, text)
        ]
        if not places or find_obstacle(store, texts):
            return {}
        used = replace(params, match="words", rerank=False)
        unread = [texts[place] for place in places]
        described = [
            {"text": text, "unknown_words": vocabulary.unknown(text)} for text in unread
        ]
        no_codes = np.zeros((len(unread), -(-store.bits // 8)), np.uint8)
        queries = Queries(
            described, ["code"] * len(unread), Codes(no_codes, store.bits)
        )
        fusion = plan_fusion(store, unread, used)
        ranking = Ranking(store, None, queries, used, None, fusion)
        found = [_report_unknown(each, vocabulary, store) for each in ranking.results()]
        notes: tuple[str, ...] = ()
        if params.match == "both":
            notes = ("words alone were matched: the model knows none of them",)
        return {
            place: replace(
                each,
                results=tuple(replace(one, distance=None) for one in each),
                notes=(*each.notes, *notes),
            )
            for place, each in zip(places, found, strict=True)
            if each.results
        }

    def _encode(
        self, kind: QueryKind, queries: Sequence[Any], params: SearchParams
    ) -> Queries:
        if kind == "text":
            return encode_text_queries(self.encoder, queries)
        if kind == "image":
            return encode_image_queries(self.encoder, queries, self.index.context)
        if kind == "composed":
            store, context = self.index.store, self.index.context
            return combine_queries(self.encoder, store, queries, context)
        names = read_ids(queries)
        items, codes, vectors = self.index.store.fetch(names)
        order, is_ordered = None, vectors is not None and params.rerank is not False
        ordering = find_ordering(self.encoder) if is_ordered else None
        if ordering is not None and vectors is not None:
            order = ordering.weigh_items(codes, vectors)
        descriptions = [{"id": name} for name in names]
        kinds = [item.kind for item in items]
        without = [[name] for name in names]
        return Queries(descriptions, kinds, codes, without=without, order=order)


def _find_texts(kind: QueryKind, queries: Sequence[Any]) -> Sequence[object]:
    """Return the texts whose words are matched: "" for a query of parts without any."""
    if kind == "text":
        return queries
    texts = [each.text for each in queries] if kind == "composed" else []
    if not any(isinstance(text, str) for text in texts):
        return [None]
    return ["" if text is None else text for text in texts]


def _report_unknown(
    found: Results, vocabulary: Vocabulary | None, store: CodeStore
) -> Results:
    """Name the unknown words of a query, and suggest known ones that resemble them.

    Where words were matched, those that a text holds are known.
    """
    named: Sequence[str] = found.query.get("unknown_words", ())
    if not named or vocabulary is None:
        return found
    words = _cut_all(named)
    if found.query["match"] != "codes":
        is_held = store.holds_words([fold_accents(word) for word in words])
        held = {word for word, is_there in zip(words, is_held, strict=True) if is_there}
        named = [
            part for each in named for part in leave_unknown(each, held.__contains__)
        ]
        words = _cut_all(named)
    forms = forms_of(vocabulary.words)
    likes = {word: like for word in words if (like := forms.find_slip(word))}
    listed = ", ".join(f"'{like}' for '{word}'" for word, like in likes.items())
    notes = [f"did you mean {listed}?"] if likes else []
    if words and vocabulary.static_width:
        notes.append("unknown words count by their embeddings alone")
    query = {**found.query, "unknown_words": list(named)}
    return replace(found, query=query, notes=(*found.notes, *notes))


def _cut_all(texts: Sequence[str]) -> list[str]:
    """Return the different words of some texts, as many as are looked up."""
    words = (word for text in texts for word in cut_words(text))
    return list(dict.fromkeys(words))[:MAX_READ]
