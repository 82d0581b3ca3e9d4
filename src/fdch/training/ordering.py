"""Re-ranking of candidates found by code: a few bytes per item."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fdch.codes import Codes
from fdch.evaluation.ordering import QueryOrder

Floats = NDArray[np.float32]
Vectors = NDArray[np.int8]


class Ordering(ABC):
    """Orders candidates by what is stored of items: a code and a vector of bytes.

    The score of an item adds up the query's weights of its bits, -1 or +1, and what
    the query gives for each byte; see `fdch.evaluation.ordering`. Inputs are those of
    `HashMethod.image_outputs` and its like.
    """

    @property
    @abstractmethod
    def bytes(self) -> int:
        """Bytes of a vector."""

    @abstractmethod
    def image_vectors(self, images: NDArray[Any]) -> Vectors:
        """Return what is stored for images, (n, bytes)."""

    @abstractmethod
    def text_vectors(self, texts: csr_array) -> Vectors:
        """Return what is stored for texts, (n, bytes)."""

    @abstractmethod
    def pair_vectors(self, images: NDArray[Any], texts: csr_array) -> Vectors:
        """Return what is stored for whole pairs, (n, bytes)."""

    @abstractmethod
    def weigh_images(
        self, images: NDArray[Any], outputs: Floats | None = None
    ) -> QueryOrder:
        """Return how images as queries order candidates.

        `outputs` are the method's outputs of these images, where they are known.
        """

    @abstractmethod
    def weigh_texts(
        self, texts: csr_array, outputs: Floats | None = None
    ) -> QueryOrder:
        """Return how texts as queries order candidates; `outputs` likewise."""

    @abstractmethod
    def weigh_items(self, codes: Codes, vectors: Vectors) -> QueryOrder:
        """Return how items order candidates, by what is stored of them."""


def to_units(values: NDArray[Any]) -> Floats:
    """Scale rows to length 1; a row of zeros stays as it is.

    >>> to_units(np.array([[3e30, 4e30], [0, 0]], np.float32)).round(6).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    # squares of large float32 numbers are infinite
    lengths = np.linalg.norm(values.astype(np.float64), axis=1, keepdims=True)
    found = values / np.maximum(lengths, np.finfo(np.float32).tiny)
    return found.astype(np.float32)
