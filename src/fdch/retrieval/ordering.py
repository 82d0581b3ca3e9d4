"""How candidates that were found by their codes are put in order.

By vectors, where the model gives some and the index keeps them; else, where that is
requested, by how sure the query is of each bit.
"""

from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fdch.codes import Codes, weighted_distances
from fdch.index.store import Vectors

Real = NDArray[np.float32]


class VectorModel(Protocol):
    """What a model has if an index shall keep a vector of each item.

    An item and a query are compared by the dot product of their real vectors, (n, d)
    with a d of the model's own; the larger, the nearer. Images and texts come as in
    `image_outputs` and `text_outputs`.

    A model without vectors may have `reranks` set, to order by how sure the query is
    of each bit unless the user says otherwise.
    """

    @property
    def vector_bytes(self) -> int:
        """Bytes that an index keeps of an item; 0 where the model gives no vectors."""

    def image_vectors(self, images: NDArray[Any]) -> Real:
        """Give the vectors of pictures."""

    def text_vectors(self, texts: csr_array) -> Real:
        """Give the vectors of texts."""

    def pair_vectors(self, images: NDArray[Any], texts: csr_array) -> Real:
        """Give the vectors of whole pairs, where the method has unified codes."""

    def pack_vectors(self, vectors: Real) -> Vectors:
        """Give what an index keeps of items, (n, vector_bytes)."""

    def unpack_vectors(self, codes: Codes, packed: Vectors) -> Real:
        """Give the vectors of items again, as well as what is kept of them says."""


@dataclass(frozen=True, eq=False)
class Order:
    """Orders the candidates of some queries; made by the functions below.

    Args:
        queries: What each query is compared by, (queries, d).
        model: What reads vectors; None to weight the bits of codes instead.
    """

    queries: Real
    model: VectorModel | None = None

    def distances(self, query: int, codes: Codes, vectors: Vectors | None) -> Real:
        """Give how far candidates are from a query; the smallest comes first."""
        if self.model is None:
            return weighted_distances(self.queries[[query]], codes)[0]
        assert vectors is not None
        return -(self.model.unpack_vectors(codes, vectors) @ self.queries[query])


def vector_model(encoder: object) -> VectorModel | None:
    """Return what gives the vectors of an encoder; None where it has none."""
    has_vectors = getattr(encoder, "vector_bytes", 0) > 0
    return cast("VectorModel", encoder) if has_vectors else None


def vector_bytes(encoder: object) -> int:
    """Count the bytes that an index of a model keeps of each item's vector."""
    model = vector_model(encoder)
    return 0 if model is None else model.vector_bytes
