"""Queries of many requests answered together: encoded and scanned in batches."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes
from fdch.errors import FdchError
from fdch.retrieval.params import QueryKind, SearchParams
from fdch.retrieval.queries import encode_image_queries, encode_text_queries
from fdch.retrieval.results import Results
from fdch.retrieval.searcher import Searcher

Pixels = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Query:
    """What one request searches for.

    Args:
        kind: Of the inputs.
        inputs: Texts, pixels or ids.
        params: How to search; None to encode only.
    """

    kind: QueryKind
    inputs: Sequence[Any]
    params: SearchParams | None


Answer = list[Results] | Codes


class NoKnownWord(Exception):
    """A text says nothing to the model; what would, takes a while to look up."""


class Answers:
    """Answers queries with a searcher; used by one thread at a time."""

    def __init__(self, searcher: Searcher) -> None:
        self.searcher = searcher

    def work(self, queries: list[Query]) -> list[Answer | Exception]:
        """Answer each query, or say why not; like ones together."""
        answers: dict[int, Answer | Exception] = {}
        groups: dict[object, list[int]] = {}
        for place, query in enumerate(queries):
            if self._is_unknown(query):
                answers[place] = NoKnownWord()
            else:
                groups.setdefault((query.kind, query.params), []).append(place)
        for places in groups.values():
            answers.update(self._together(queries, places))
        return [answers[place] for place in range(len(queries))]

    def _together(
        self, queries: list[Query], places: list[int]
    ) -> Iterator[tuple[int, Answer | Exception]]:
        inputs = [each for place in places for each in queries[place].inputs]
        first = queries[places[0]]
        try:
            found = self._answer(Query(first.kind, inputs, first.params))
        except FdchError as problem:
            if len(places) == 1:
                yield places[0], problem
                return
            # one of them is at fault; the others have their answers
            for place in places:
                yield from self._together(queries, [place])
            return
        start = 0
        for place in places:
            stop = start + len(queries[place].inputs)
            yield place, found[start:stop]
            start = stop

    def _answer(self, query: Query) -> Answer:
        searcher, inputs = self.searcher, query.inputs
        if query.params is not None:
            return searcher.search(query.kind, inputs, query.params)
        if query.kind == "text":
            return encode_text_queries(searcher.encoder, inputs).codes
        context = searcher.index.context
        return encode_image_queries(searcher.encoder, inputs, context).codes

    def _is_unknown(self, query: Query) -> bool:
        """Say whether a query would fail all others of its batch."""
        vocabulary = self.searcher.encoder.inputs.vocabulary
        if query.kind != "text" or vocabulary is None:
            return False
        return not all(vocabulary.reads(text) for text in query.inputs)
