"""Real vectors in a few bytes each: residual quantization.

The first byte names the nearest of up to 256 centres, the next one the centre nearest
to what is left, and so on: "Approximate Nearest Neighbor Search by Residual Vector
Quantization", Chen, Guan and Wang, Sensors 2010. A vector is stored as the sum of its
centres.
"""

import numpy as np
from numpy.typing import NDArray

from fdch.training.shallow.anchors import kmeans_centroids

CENTRES = 256  # values of a byte
PER_CENTRE = 10  # training vectors; fewer would be memorised
ITERATIONS = 15
ROWS_AT_A_TIME = 4096
Floats = NDArray[np.float32]
Bytes = NDArray[np.int8]


def fit_books(vectors: Floats, count: int, seed: int) -> Floats:
    """Find the centres of each byte by k-means, (count, 256, width).

    Vectors to learn from are (n, width), each to be kept in so many bytes.
    """
    rest = np.asarray(vectors, np.float32)
    most = int(np.clip(len(rest) // PER_CENTRE, 1, CENTRES))
    # unused centres are 0, so that every byte can be decoded
    books = np.zeros((count, CENTRES, rest.shape[1]), np.float32)
    for place, book in enumerate(books):
        found = kmeans_centroids(rest, most, seed + place, ITERATIONS)
        book[: len(found)] = found
        rest = rest - book[_find_nearest(rest, book)]
    return books


def quantize(vectors: Floats, books: Floats) -> Bytes:
    """Return the bytes of vectors, (n, count)."""
    found = np.zeros((len(vectors), len(books)), np.uint8)
    for start in range(0, len(vectors), ROWS_AT_A_TIME):
        rows = slice(start, start + ROWS_AT_A_TIME)
        rest = np.asarray(vectors[rows], np.float32)
        for place, book in enumerate(books):
            nearest = _find_nearest(rest, book)
            found[rows, place] = nearest
            rest = rest - book[nearest]
    return found.view(np.int8)


def restore(stored: Bytes, books: Floats) -> Floats:
    """Return the sums of centres that bytes stand for, (n, width).

    >>> books = np.array([[[0], [8]], [[0], [1]]], np.float32)
    >>> restore(quantize(np.array([[8.9], [0.2]], np.float32), books), books).tolist()
    [[9.0], [0.0]]
    """
    found = np.zeros((len(stored), books.shape[2]), np.float32)
    for place, book in enumerate(books):
        found += book[stored[:, place].view(np.uint8)]
    return found


def _find_nearest(vectors: Floats, book: Floats) -> NDArray[np.intp]:
    products = vectors @ book.T - np.square(book).sum(axis=1) / 2
    return np.asarray(products.argmax(axis=1))
