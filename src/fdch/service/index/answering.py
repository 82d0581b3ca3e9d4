"""Queries of many requests answered together: encoded and scanned in batches."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from fdch.codes import Codes
from fdch.errors import FdchError
from fdch.retrieval.composed import QueryKind
from fdch.retrieval.params import SearchParams
from fdch.retrieval.queries import encode_image_queries, encode_text_queries
from fdch.retrieval.results import Results
from fdch.retrieval.searcher import Searcher

Answer = list[Results] | Codes


@dataclass(frozen=True, eq=False)
class Query:
    """The query of one request; without params, it is only encoded."""

    kind: QueryKind
    inputs: Sequence[Any]  # texts, pixels, ids or one ComposedQuery
    params: SearchParams | None

    @property
    def texts(self) -> list[Any]:
        """The texts in it."""
        if self.kind == "composed":
            return [each.text for each in self.inputs if each.text is not None]
        return list(self.inputs) if self.kind == "text" else []

    @property
    def described(self) -> list[Any]:
        """The inputs, for the log."""
        if self.kind == "composed":
            return [each.to_json() for each in self.inputs]
        return list(self.inputs)


def answer_queries(
    searcher: Searcher, queries: list[Query]
) -> list[Answer | Exception]:
    """Answer each query, or say why not; like ones together."""
    answers: dict[int, Answer | Exception] = {}
    groups: dict[object, list[int]] = {}
    for place, query in enumerate(queries):
        # one that cannot be read would fail all others of its batch
        kind = query.kind if _is_readable(searcher, query) else place
        groups.setdefault((kind, query.params), []).append(place)
    for places in groups.values():
        found = _answer_together(searcher, [queries[place] for place in places])
        answers.update(zip(places, found, strict=True))
    return [answers[place] for place in range(len(queries))]


def _answer_together(
    searcher: Searcher, queries: list[Query]
) -> list[Answer | Exception]:
    inputs = [each for query in queries for each in query.inputs]
    kind, params = queries[0].kind, queries[0].params
    found: Answer
    try:
        if params is not None:
            found = searcher.search(kind, inputs, params)
        elif kind == "text":
            found = encode_text_queries(searcher.encoder, inputs).codes
        else:
            context = searcher.index.context
            found = encode_image_queries(searcher.encoder, inputs, context).codes
    except FdchError as problem:
        if len(queries) == 1:
            return [problem]
        # one of them is at fault; the others have their answers
        return [_answer_together(searcher, [query])[0] for query in queries]
    ends = accumulate(len(query.inputs) for query in queries)
    pairs = zip(queries, ends, strict=True)
    return [found[end - len(query.inputs) : end] for query, end in pairs]


def _is_readable(searcher: Searcher, query: Query) -> bool:
    params = query.params if query.kind == "text" else None
    return all(searcher.reads(text, params) for text in query.texts)
