"""Queries of many requests answered together: encoded and scanned in batches."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes
from fdch.errors import FdchError
from fdch.retrieval.queries import image_queries, text_queries
from fdch.retrieval.results import Options, Results
from fdch.retrieval.searcher import Searcher
from fdch.service.messages import SearchOptions

Pixels = NDArray[np.uint8]


@dataclass(frozen=True)
class Manner:
    """Options of a search that can be told equal."""

    k: int
    radius: int | None
    where: tuple[str, ...]
    rerank: bool
    min_probability: float | None

    @classmethod
    def of(cls, options: SearchOptions) -> "Manner":
        """Take over what a client asked for."""
        return cls(
            options.k,
            options.radius,
            tuple(options.where),
            options.rerank,
            options.min_probability,
        )

    def options(self) -> Options:
        """Give what a Searcher takes."""
        return {
            "k": self.k,
            "radius": self.radius,
            "where": self.where,
            "rerank": self.rerank,
            "min_probability": self.min_probability,
        }


@dataclass(frozen=True, eq=False)
class Query:
    """What one request asks for.

    Args:
        kind: Of what is asked.
        asked: Texts, pixels or ids.
        manner: How to search; None to encode only.
    """

    kind: Literal["text", "image", "id"]
    asked: Sequence[Any]
    manner: Manner | None


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
                groups.setdefault((query.kind, query.manner), []).append(place)
        for places in groups.values():
            answers.update(self._together(queries, places))
        return [answers[place] for place in range(len(queries))]

    def _together(
        self, queries: list[Query], places: list[int]
    ) -> Iterator[tuple[int, Answer | Exception]]:
        asked = [each for place in places for each in queries[place].asked]
        first = queries[places[0]]
        try:
            found = self._answer(Query(first.kind, asked, first.manner))
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
            stop = start + len(queries[place].asked)
            yield place, found[start:stop]
            start = stop

    def _answer(self, query: Query) -> Answer:
        searcher, index = self.searcher, self.searcher.index
        if query.manner is None:
            if query.kind == "text":
                return text_queries(searcher.encoder, query.asked).codes
            return image_queries(searcher.encoder, query.asked, index.context).codes
        options = query.manner.options()
        if query.kind == "text":
            return searcher.by_texts(query.asked, **options)
        if query.kind == "image":
            return searcher.by_images(query.asked, **options)
        return searcher.by_ids(query.asked, **options)

    def _is_unknown(self, query: Query) -> bool:
        """Tell whether a query would fail all those it is answered with."""
        vocabulary = self.searcher.encoder.inputs.vocabulary
        if query.kind != "text" or vocabulary is None:
            return False
        return not all(vocabulary.reads(text) for text in query.asked)
