"""Items found by the words of their texts, beside those found by their codes.

What a match is worth is computed here: FTS5's own bm25() takes microseconds for each
match, and needs a table twice as large.
"""

import re
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes, hamming_distances
from fdch.data.word_weights import weigh_words
from fdch.index.search.gallery import Found, Gallery
from fdch.index.storage.snapshot import View
from fdch.index.store import WordQuery

MAX_WORDS = 32  # of a query that count
MAX_BYTES = 64 * 2**20
_ENTRY_BYTES = 200  # of what is kept besides numbers
_WORD = re.compile(r"\w+")
Numbers = NDArray[np.int64]


class Matches(NamedTuple):
    """Items whose texts hold words of a query."""

    numbers: Numbers  # rising
    shares: NDArray[np.float64]  # of the query that each matches, above 0, up to 1
    words: tuple[str, ...]  # those that count


class WordSearch:
    """Finds items by the words of their texts; keeps the latest words' items."""

    def __init__(self, most: int = MAX_BYTES) -> None:
        self._most = most
        self._guard = threading.Lock()
        self._known: OrderedDict[str, Numbers] = OrderedDict()
        self._commit = -1

    def join(
        self,
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
        numbers, shares, words = self.match(view, query.words)
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
        best = best[~np.isin(positions[best], found.numbers)]
        both = np.concatenate([found.numbers, positions[best]])
        distances = np.concatenate([found.distances, apart[best]])
        order = np.lexsort((both, distances))
        at = np.searchsorted(positions, both)
        is_match = np.isin(both, positions)
        held = np.zeros(len(both))
        held[is_match] = shares[at[is_match]]
        return Found(both[order], distances[order], found.scanned, held[order], words)

    def match(self, view: View, words: Sequence[str]) -> Matches:
        """Find the items that hold one of some words, and how much of them."""
        found = [self._numbers(view, word) for word in words[:MAX_WORDS]]
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

    def _numbers(self, view: View, word: str) -> Numbers:
        """Give the numbers of the items that hold a word, rising."""
        commit = view.snapshot.state.commit
        with self._guard:
            if commit != self._commit:
                self._known.clear()
                self._commit = commit
            if word in self._known:
                self._known.move_to_end(word)
                return self._known[word]
        listed = ""
        if _WORD.fullmatch(word):  # so that, in quotes, it can be no syntax of FTS5
            query = "SELECT group_concat(rowid) FROM words WHERE words MATCH ?"
            (listed,) = view.connection.execute(query, (f'"{word}"',)).fetchone()
        numbers = np.fromstring(listed or "", dtype=np.int64, sep=",")
        with self._guard:
            if commit == self._commit:
                self._known[word] = numbers
                self._drop_oldest()
        return numbers

    def _drop_oldest(self) -> None:
        size = sum(each.nbytes + _ENTRY_BYTES for each in self._known.values())
        while len(self._known) > 1 and size > self._most:
            size -= self._known.popitem(last=False)[1].nbytes + _ENTRY_BYTES
