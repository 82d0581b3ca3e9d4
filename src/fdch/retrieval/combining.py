"""Several parts of a query combined into one code.

What should be found is added up, and what should not be is taken off (Rocchio,
"Relevance feedback in information retrieval", 1971). Every part counts as a vector of
length 1, items as the mean of theirs.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fdch.codes import binarize
from fdch.evaluation.ordering import Floats, QueryOrder, combine_orders, join_orders
from fdch.index.store import CodeStore
from fdch.retrieval.composed import ComposedQuery
from fdch.retrieval.ordering import find_ordering
from fdch.retrieval.queries import (
    Encoder,
    Queries,
    encode_image_queries,
    encode_text_queries,
)
from fdch.training.context import Context
from fdch.training.ordering import to_units

UNLIKE_WEIGHT = 0.5
AVOID_WEIGHT = 0.5


class _Part(NamedTuple):
    """Texts, pictures or items that count together, and how much."""

    weight: float
    outputs: NDArray[Any]  # (n, bits)
    order: QueryOrder | None


def combine_queries(
    encoder: Encoder,
    store: CodeStore,
    queries: Sequence[ComposedQuery],
    context: Context,
) -> Queries:
    """Encode queries of several parts; their results have no known probability."""
    descriptions, outputs, orders = [], [], []
    for query in queries:
        description = query.to_json()
        parts = list(_encode_parts(encoder, store, query, context, description))
        descriptions.append(description)
        outputs.append(sum(part.weight * _mean(part.outputs) for part in parts))
        orders += _combine_orders(parts)
    combined = np.stack(outputs).astype(np.float32)
    return Queries(
        descriptions,
        ["composed"] * len(queries),
        binarize(combined),
        combined,
        without=[query.ids for query in queries],
        avoided=[query.avoid for query in queries],
        order=join_orders(orders) if orders else None,
    )


def _encode_parts(
    encoder: Encoder,
    store: CodeStore,
    query: ComposedQuery,
    context: Context,
    description: dict[str, Any],
) -> Iterator[_Part]:
    """Encode the parts of a query, and describe them."""

    def add(weight: float, encoded: Queries) -> _Part:
        assert encoded.outputs is not None
        return _Part(weight, encoded.outputs, encoded.order)

    if query.text is not None:
        encoded = encode_text_queries(encoder, [query.text])
        description |= encoded.descriptions[0]
        yield add(1.0, encoded)
    if query.image is not None:
        encoded = encode_image_queries(encoder, [query.image], context)
        description |= encoded.descriptions[0]
        yield add(1.0, encoded)
    vocabulary = encoder.inputs.vocabulary
    known = [each for each in query.avoid if vocabulary and vocabulary.reads(each)]
    if known:
        yield add(-AVOID_WEIGHT, encode_text_queries(encoder, known))
    _, codes, vectors = store.fetch(query.ids)
    ordering, first = find_ordering(encoder), len(query.like)
    order = None
    if vectors is not None and ordering is not None:
        order = ordering.weigh_items(codes, vectors)
    for weight, rows in ((1.0, slice(first)), (-UNLIKE_WEIGHT, slice(first, None))):
        if query.ids[rows]:
            own = None if order is None else order[rows]
            yield _Part(weight, codes[rows].signs(), own)


def _combine_orders(parts: Sequence[_Part]) -> list[QueryOrder]:
    """Combine how the parts order candidates, into one or none.

    It is a mean over the parts to find, so that a threshold keeps its meaning.
    """
    orders = [part.order for part in parts if part.order is not None]
    if len(orders) < len(parts):
        return []
    total = sum(part.weight for part in parts if part.weight > 0)
    shares = np.array([part.weight / total for part in parts])

    def combine(weights: list[Floats]) -> Floats:
        means = [each.mean(axis=0) for each in weights]
        return np.asarray(shares @ np.stack(means), np.float32)[None]

    return [combine_orders(orders, combine)]


def _mean(outputs: NDArray[Any]) -> NDArray[Any]:
    return to_units(outputs).mean(axis=0)
