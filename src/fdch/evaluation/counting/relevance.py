"""Relevance: a database item answers a query when they share a label.

Labels are packed to 64-bit words like codes, so that sharing one is a bitwise
AND, for any number of classes.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fdch.codes import Codes
from fdch.errors import DataError, LabelError

ITEMS_PER_BLOCK = 65_536


class Packed(NamedTuple):
    """Codes and labels of items as 64-bit words, (words, items) each."""

    codes: NDArray[np.uint64]
    labels: NDArray[np.uint64]

    def rows(self, start: int, stop: int) -> "Packed":
        """Take some items, in contiguous memory."""
        return Packed(*(np.ascontiguousarray(words[:, start:stop]) for words in self))


def require_codes(codes: Codes, role: str) -> None:
    """Refuse no codes at all; the role names them."""
    if len(codes) == 0:
        raise DataError(f"there are no {role} codes; scoring needs at least one.")


def pack(codes: Codes, labels: ArrayLike, role: str) -> Packed:
    """Pack codes with their labels; the role names them in errors."""
    require_codes(codes, role)
    words = label_words(labels)
    if words.shape[1] != len(codes):
        raise DataError(
            f"{len(codes)} {role} codes came with {words.shape[1]} rows of labels; "
            "give one row to each code."
        )
    return Packed(np.require(codes.words().T, requirements=["C", "W"]), words)


def label_words(labels: ArrayLike) -> NDArray[np.uint64]:
    """Pack 0/1 labels, (items, classes), to words, (words, items).

    >>> label_words([[1, 0], [0, 0]]).shape
    (1, 2)
    """
    matrix = np.asarray(labels)
    if matrix.ndim != 2 or matrix.shape[1] == 0:
        hint = " np.eye(classes)[numbers] makes them of class numbers."
        raise LabelError(
            f"labels must be (items, classes) of 0 and 1; got shape {matrix.shape}."
            f"{hint if matrix.ndim == 1 else ''}"
        )
    items, classes = matrix.shape
    packed = np.zeros((items, -(-classes // 64) * 8), dtype=np.uint8)
    for start in range(0, items, ITEMS_PER_BLOCK):
        block = matrix[start : start + ITEMS_PER_BLOCK]
        present = block == 1
        is_strange = present != block
        if is_strange.any():
            raise LabelError(f"labels must be 0 or 1; got {block[is_strange][0]}.")
        bytes_of_labels = np.packbits(present, axis=1)
        packed[start : start + len(block), : bytes_of_labels.shape[1]] = bytes_of_labels
    return np.ascontiguousarray(packed.view(np.uint64).T)


def key_type(bits: int, grades: int) -> np.dtype[np.uint16] | np.dtype[np.uint32]:
    """Return the smallest type that keeps distances and grades apart in one number.

    >>> key_type(64, 2), key_type(512, 200)
    (dtype('uint16'), dtype('uint32'))
    """
    fits = (bits + 1) * grades <= 2**16
    return np.dtype(np.uint16) if fits else np.dtype(np.uint32)


def largest_grade(queries: Packed, database: Packed) -> int:
    """Return a number of labels that no query shares more of with any item."""
    held = [np.bitwise_count(part.labels) for part in (queries, database)]
    return max(1, min(int(each.sum(axis=0, dtype=np.int64).max()) for each in held))
