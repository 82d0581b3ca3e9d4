"""Items found by the words of their texts, beside those found by their codes.

What a match is worth is computed here: FTS5's own bm25() takes microseconds for each
match, and needs a table twice as large.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes, hamming_distances
from fdch.data.word_weights import SURE_WEIGHT, weigh_words
from fdch.index.search.gallery import Found, Gallery
from fdch.index.storage.snapshot import View
from fdch.index.store import WordQuery

MAX_WORDS = 32  # of a query that count
_WORD = re.compile(r"\w+")
Numbers = NDArray[np.int64]


class Matches(NamedTuple):
    """Items whose texts hold words of a query."""

    numbers: Numbers  # rising
    shares: NDArray[np.float64]  # of the query that each matches, above 0, up to 1
    words: tuple[str, ...]  # those that count


def join_words(
    view: View,
    gallery: Gallery,
    code: Codes,
    query: WordQuery,
    found: Found,
    most: int | None,
) -> Found:
    """Add the best items that match words to those that were found by codes.

    Nearest first, ties in the order of insertion, as before; each with its share.
    """
    numbers, shares, words = match_words(view, query.words)
    positions = view.snapshot.positions(numbers)
    is_there = positions >= 0
    is_there[is_there] = gallery.holds(positions[is_there])
    positions, shares = positions[is_there], shares[is_there]
    apart = hamming_distances(code, view.snapshot.codes(positions))[0]
    if query.radius is not None:
        is_near = apart <= query.radius
        positions, shares, apart = (
            positions[is_near],
            shares[is_near],
            apart[is_near],
        )
    best = np.argsort(apart - query.weight * shares, kind="stable")[:most]
    if len(apart):  # the surest item: the probabilities of all results depend on it
        sure = np.argmin(apart - SURE_WEIGHT * code.bits * shares)
        best = np.union1d(best, sure)
    best = best[~np.isin(positions[best], found.numbers)]
    both = np.concatenate([found.numbers, positions[best]])
    distances = np.concatenate([found.distances, apart[best]])
    order = np.lexsort((both, distances))
    at = np.searchsorted(positions, both)
    is_match = np.isin(both, positions)
    held = np.zeros(len(both))
    held[is_match] = shares[at[is_match]]
    return Found(both[order], distances[order], found.scanned, held[order], words)


def match_words(view: View, words: Sequence[str]) -> Matches:
    """Find the items that hold one of some words, and how much of them."""
    found = [_numbers_with(view, word) for word in words[:MAX_WORDS]]
    sizes = [len(numbers) for numbers in found]
    weights = weigh_words(sizes, view.items)
    listed = np.concatenate([np.empty(0, np.int64), *found])
    counted = np.repeat(weights, sizes)
    listed, counted = listed[counted > 0], counted[counted > 0]
    numbers, at = np.unique(listed, return_inverse=True)
    shares = np.bincount(at, counted, minlength=len(numbers))
    counting = zip(words[:MAX_WORDS], weights, strict=True)
    used = tuple(word for word, weight in counting if weight > 0)
    return Matches(numbers, np.minimum(shares, 1.0), used)


def _numbers_with(view: View, word: str) -> Numbers:
    """Return the numbers of the items that hold a word, rising."""

    def find() -> Numbers:
        listed = ""
        if _WORD.fullmatch(word):  # so that, in quotes, it can be no syntax of FTS5
            query = "SELECT group_concat(rowid) FROM words WHERE words MATCH ?"
            (listed,) = view.connection.execute(query, (f'"{word}"',)).fetchone()
        return np.fromstring(listed or "", dtype=np.int64, sep=",")

    return view.snapshot.cache.get(("word", word), find, lambda each: each.nbytes)
