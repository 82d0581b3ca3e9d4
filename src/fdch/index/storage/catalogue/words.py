"""Items found by the words of their texts, beside those found by their codes.

What a match is worth is computed here: FTS5's own bm25() takes microseconds for each
match, and needs a table twice as large.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes, hamming_distances
from fdch.data.endings import list_forms
from fdch.data.word_weights import SURE_WEIGHT, weigh_words
from fdch.data.words import is_run
from fdch.index.search.gallery import Found, Gallery
from fdch.index.storage.catalogue.word_table import stem_word
from fdch.index.storage.snapshot import View
from fdch.index.store import WordQuery

MAX_WORDS = 32  # of a query that count
Numbers = NDArray[np.int64]


class Matches(NamedTuple):
    """Items whose texts hold words of a query."""

    numbers: Numbers  # rising
    shares: NDArray[np.float64]  # of the query that each matches, above 0, up to 1
    words: Mapping[str, str]  # those that count, by the form in which texts hold them


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
    numbers, shares, words = match_words(view, query)
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
    best = _first_lowest(apart - query.weight * shares, most)
    if len(apart):  # the surest item: the probabilities of all results depend on it
        sure = np.argmin(apart - SURE_WEIGHT * code.bits * shares)
        best = np.union1d(best, sure)
    best = best[~np.isin(positions[best], found.numbers)]
    both = np.concatenate([found.numbers, positions[best]])
    distances = np.concatenate([found.distances, apart[best]])
    order = np.lexsort((both, distances))
    at = np.searchsorted(positions, both)
    at[at == len(positions)] = 0
    held = np.zeros(len(both))
    if len(positions):
        held = np.where(positions[at] == both, shares[at], 0.0)
    return Found(both[order], distances[order], found.scanned, held[order], words)


def _first_lowest(values: NDArray[np.float64], most: int | None) -> Numbers:
    """Return the places of the lowest values, lowest first, ties in their order."""
    places = np.arange(len(values))
    if most is not None and most < len(values):  # sorting a million takes 0.1 s
        places = places[values <= np.partition(values, most - 1)[most - 1]]
    return places[np.argsort(values[places], kind="stable")][:most]


def match_words(view: View, query: WordQuery) -> Matches:
    """Find the items that hold one of a query's words, and how much of them."""
    words = query.words[:MAX_WORDS]
    forms = [_find_all_forms(view, word, query.also.get(word)) for word in words]
    found = [_numbers_with_any(view, each) for each in forms]
    sizes = [len(numbers) for numbers in found]
    weights = weigh_words(sizes, view.items)
    listed = np.concatenate([np.empty(0, np.int64), *found])
    counted = np.repeat(weights, sizes)
    listed, counted = listed[counted > 0], counted[counted > 0]
    numbers, at = np.unique(listed, return_inverse=True)
    shares = np.bincount(at, counted, minlength=len(numbers))
    counting = zip(words, forms, weights, strict=True)
    # a form of several words stands for the first of them
    used = {
        form: w
        for w, each, weight in reversed([*counting])
        if weight > 0
        for form in each
    }
    return Matches(numbers, np.minimum(shares, 1.0), used)


def _find_all_forms(view: View, word: str, also: str | None) -> tuple[str, ...]:
    """Return what texts hold of a word, and of another one that counts as it."""
    found = find_forms(view, word)
    if also is not None:
        found += find_forms(view, also)
    return tuple(dict.fromkeys(found))


def find_forms(view: View, word: str) -> tuple[str, ...]:
    """Return the word, if a text holds it; else those of its forms that texts hold."""

    def find() -> tuple[str, ...]:
        forms = [each for each in list_forms(word) if len(_read_numbers(view, each))]
        # FTS5 takes several as one, since it has stems of its own
        return tuple({stem_word(each): each for each in reversed(forms)}.values())

    if len(_numbers_with(view, word)):
        return (word,)
    return view.snapshot.cache.get(("forms", word), find)


def _numbers_with_any(view: View, words: Sequence[str]) -> Numbers:
    """Return the numbers of the items that hold one of some words, rising."""
    if len(words) == 1:
        return _numbers_with(view, words[0])
    found = [_numbers_with(view, word) for word in words]
    return np.unique(np.concatenate([np.empty(0, np.int64), *found]))


def _numbers_with(view: View, word: str) -> Numbers:
    """Return the numbers of the items that hold a word, rising; keep them."""
    read = partial(_read_numbers, view, word)
    return view.snapshot.cache.get(("word", word), read)


def _read_numbers(view: View, word: str) -> Numbers:
    listed = ""
    if is_run(word):  # so that, in quotes, it can be no syntax of FTS5
        query = "SELECT group_concat(rowid) FROM words WHERE words MATCH ?"
        (listed,) = view.connection.execute(query, (f'"{word}"',)).fetchone()
    return np.fromstring(listed or "", dtype=np.int64, sep=",")
