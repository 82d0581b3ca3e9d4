"""How candidates that were found by their codes are put in order.

By vectors, where the model gives some and the index keeps them; else, where that is
requested, by how sure the query is of each bit.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes, weighted_distances
from fdch.evaluation.ordering import QueryOrder
from fdch.index.store import Vectors
from fdch.training.ordering import Ordering

Real = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Order:
    """Orders the candidates of some queries.

    Args:
        queries: How each orders vectors; or its real outputs, which weight the bits
            of codes instead.
        ordering: What reads the vectors that an index keeps.
    """

    queries: QueryOrder | Real
    ordering: Ordering | None = None

    def distances(self, query: int, codes: Codes, vectors: Vectors | None) -> Real:
        """Give how far candidates are from a query; the smallest comes first."""
        if not isinstance(self.queries, QueryOrder):
            return weighted_distances(self.queries[[query]], codes)[0]
        assert self.ordering is not None and vectors is not None
        return -self.queries[[query]].score(codes, self.ordering.unpack(vectors))[0]

    @property
    def by_vectors(self) -> bool:
        """Whether vectors order, not bits."""
        return self.ordering is not None


def find_ordering(encoder: object) -> Ordering | None:
    """Return what orders by vectors; None where an encoder gives none.

    A method without vectors may have `reranks` set, to order by how sure the query is
    of each bit unless the user says otherwise.
    """
    found: Ordering | None = getattr(encoder, "ordering", None)
    return found if found is not None and found.bytes else None


def vector_bytes(encoder: object) -> int:
    """Count the bytes that an index of a model keeps of each item's vector."""
    ordering = find_ordering(encoder)
    return 0 if ordering is None else ordering.bytes
