"""Re-ranking of candidates found by code: a few small integers per item."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fdch.codes import Codes
from fdch.evaluation.ordering import QueryOrder

Floats = NDArray[np.float32]
Vectors = NDArray[np.int8]


@dataclass(frozen=True)
class Numbers:
    """One part of a vector: so many numbers of so many bits each.

    Numbers of b bits are the odd ones from 1 - 2^b to 2^b - 1: -1 and 1 for one bit,
    -3, -1, 1 and 3 for two.
    """

    count: int
    bits: int

    @property
    def bytes(self) -> int:
        """Bytes that they take, stored as densely as can be.

        >>> Numbers(32, 1).bytes, Numbers(8, 4).bytes
        (4, 4)
        """
        return (self.count * self.bits + 7) // 8

    def pack(self, numbers: Vectors) -> Vectors:
        """Store numbers, (n, count), in (n, bytes).

        >>> Numbers(3, 2).pack(np.array([[-3, 1, 3]], np.int8)).tolist()
        [[56]]
        """
        steps = (numbers.astype(np.uint8) + np.uint8(2**self.bits - 1)) >> 1
        each = np.arange(self.bits, dtype=np.uint8)
        bits = (steps[:, :, None] >> each & 1).reshape(len(numbers), -1)
        return np.packbits(bits, axis=1, bitorder="little").view(np.int8)

    def unpack(self, stored: Vectors) -> Vectors:
        """Read what `pack` gave."""
        count = self.count * self.bits
        flat = np.unpackbits(
            stored.view(np.uint8), axis=1, count=count, bitorder="little"
        )
        bits = flat.reshape(len(stored), self.count, self.bits)
        steps = np.zeros((len(stored), self.count), np.int8)
        for place in range(self.bits):
            steps |= (bits[:, :, place] << place).view(np.int8)
        return 2 * steps - np.int8(2**self.bits - 1)


class Ordering(ABC):
    """Orders candidates by an inner product of a query and what is stored of items.

    An item has its code and a vector of small odd numbers. The score of an item is
    the sum of the query's weights times the item's bits, -1 or +1, and numbers;
    see `fdch.evaluation.ordering`. Inputs are those of `HashMethod.image_outputs` and
    its like.
    """

    parts: tuple[Numbers, ...]  # of a vector, in order

    @property
    def width(self) -> int:
        """Numbers of a vector."""
        return sum(part.count for part in self.parts)

    @property
    def bytes(self) -> int:
        """Bytes of a vector."""
        return sum(part.bytes for part in self.parts)

    @abstractmethod
    def image_vectors(self, images: NDArray[Any]) -> Vectors:
        """Return the numbers stored for images, (n, width)."""

    @abstractmethod
    def text_vectors(self, texts: csr_array) -> Vectors:
        """Return the numbers stored for texts, (n, width)."""

    @abstractmethod
    def pair_vectors(self, images: NDArray[Any], texts: csr_array) -> Vectors:
        """Return the numbers stored for whole pairs, (n, width)."""

    def pack(self, vectors: Vectors) -> Vectors:
        """Pack vectors as an index stores them, (n, bytes)."""
        ends = np.cumsum([part.count for part in self.parts])[:-1]
        found = zip(self.parts, np.split(vectors, ends, axis=1), strict=True)
        return np.concatenate([part.pack(some) for part, some in found], axis=1)

    def unpack(self, stored: Vectors) -> Vectors:
        """Read what `pack` gave, (n, width)."""
        ends = np.cumsum([part.bytes for part in self.parts])[:-1]
        found = zip(self.parts, np.split(stored, ends, axis=1), strict=True)
        return np.concatenate([part.unpack(some) for part, some in found], axis=1)

    @abstractmethod
    def weigh_images(self, images: NDArray[Any]) -> QueryOrder:
        """Return how images as queries order candidates."""

    @abstractmethod
    def weigh_texts(self, texts: csr_array) -> QueryOrder:
        """Return how texts as queries order candidates."""

    @abstractmethod
    def weigh_items(self, codes: Codes, vectors: Vectors) -> QueryOrder:
        """Return how items order candidates, by what is stored of them."""


def to_numbers(
    values: NDArray[Any], half_step: NDArray[Any] | float, bits: int
) -> Vectors:
    """Round values to odd multiples of half a step, within what the bits can hold.

    >>> to_numbers(np.array([[-9.0, -0.1, 0.0, 1.2]]), 0.5, 2).tolist()
    [[-3, -1, 1, 3]]
    """
    largest = 2**bits - 1
    odd = 2 * np.floor(values / (2 * np.asarray(half_step))) + 1
    return np.clip(odd, -largest, largest).astype(np.int8)


def to_units(values: NDArray[Any]) -> Floats:
    """Scale rows to length 1; a row of zeros stays as it is."""
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    found = values / np.maximum(lengths, np.finfo(np.float32).tiny)
    return found.astype(np.float32)
