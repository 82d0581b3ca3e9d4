"""Known words for the unknown ones of a query: forms, near meanings, slips.

`mugs` is read as the known `mug`, a form of it by its ending (`endings.py`). Stored
items are never read so: their codes do not change.

Where the known words are not those of English, which is almost the only language
written without accents, a word is also a form of one that is much alike, so that
languages with endings that are not listed are read, too.
"""

import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from fdch.data.endings import (
    MIN_LETTERS,
    compare,
    is_usable,
    list_stems,
    simplify,
)
from fdch.data.static_words import is_installed, load_embeddings
from fdch.data.texts import Vocabulary
from fdch.data.words import cut_words, fold_accents, fold_case

MIN_SLIPPED = 4  # letters
MIN_ACCENTED = 0.02  # of known words, where they are not English
HINTED_WORDS = 5
MIN_COSINE = 0.5  # of static embeddings; below it, nearest words are mostly chance


class WordForms:
    """Finds the known word that an unknown one is a form of, or nearest to.

    >>> WordForms(["mug", "cities", "café"]).find_form("mugs")
    'mug'
    """

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words

    def find_form(self, word: str) -> str | None:
        """Return the known word with the longest common stem; of several the first.

        Where no stem is known, the one that is most alike.
        """
        plain = fold_accents(word)
        if not is_usable(plain):
            return None
        for key in list_stems(plain):
            if key in self._by_stem:
                return self._by_stem[key]
        if plain.isascii() and not self._is_accented:
            return None
        plain = simplify(plain)
        near = [each for end in _ends(plain) for each in self._by_end.get(end, ())]
        alike = [compare(plain, each) for each, _ in near]
        best = max(alike, default=0)
        return near[alike.index(best)][1] if best else None

    def find_meaning(self, word: str) -> str | None:
        """Return the nearest known word by static embeddings, where near enough."""
        near = self.find_near(word)
        return None if near is None or near[1] < MIN_COSINE else near[0]

    def find_near(self, word: str) -> tuple[str, float] | None:
        """Return the nearest known word by static embeddings, with its cosine.

        Only known words that are a single piece of the embeddings' tokenizer count, and
        none that is a piece of the word itself: pieces say how a word is written, not
        what it means.
        """
        if not is_usable(word) or not is_installed():
            return None
        embeddings = load_embeddings()
        names, pieces, table = self._embedded
        if not names:
            return None
        cosines = table @ embeddings.vector(word)
        cosines[np.isin(pieces, embeddings.pieces(word))] = -1
        best = int(cosines.argmax())
        return names[best], float(cosines[best])

    def find_slip(self, word: str) -> str | None:
        """Return a known word that is written with one slip as this one, to suggest it.

        Of several the first. Short words are not looked up: they resemble many.

        >>> WordForms(["mug", "kitchen"]).find_slip("muug")
        'mug'
        """
        plain = fold_accents(word)
        if not is_usable(plain) or len(plain) < MIN_SLIPPED:
            return None
        slips = (cut for cut in _cut_letters(plain) if cut in self._by_slip)
        numbers = [self._by_slip[cut] for cut in slips]
        return self._words[min(numbers)] if numbers else None

    @cached_property
    def _by_slip(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for number, word in enumerate(self._words):
            plain = fold_accents(fold_case(word))
            for cut in _cut_letters(plain) if is_usable(plain) else ():
                found.setdefault(cut, number)
        return found

    @cached_property
    def _by_stem(self) -> dict[tuple[int, str], str]:
        found: dict[tuple[int, str], str] = {}
        for word in self._words:
            plain = fold_accents(fold_case(word))
            if is_usable(plain):
                for key in list_stems(plain):
                    found.setdefault(key, word)
        return found

    @cached_property
    def _by_end(self) -> dict[tuple[bool, str], list[tuple[str, str]]]:
        """Return the simplified words, each with the known one, by their ends."""
        found = defaultdict(list)
        for word in self._words:
            plain = simplify(fold_accents(fold_case(word)))
            for end in _ends(plain) if is_usable(plain) else ():
                found[end].append((plain, word))
        return found

    @cached_property
    def _is_accented(self) -> bool:
        """Return whether more than a few words have accents."""
        folded = [fold_case(word) for word in self._words if not word.isascii()]
        accented = sum(fold_accents(word).isascii() for word in folded)
        return accented > max(1, MIN_ACCENTED * len(self._words))

    @cached_property
    def _embedded(self) -> tuple[list[str], list[int], NDArray[np.float32]]:
        """Return the known words of a single piece, these, and their embeddings."""
        embeddings = load_embeddings()
        found = ((word, fold_case(word)) for word in self._words)
        cut = ((w, f, embeddings.pieces(f)) for w, f in found if is_usable(f))
        whole = [(w, f, pieces[0]) for w, f, pieces in cut if len(pieces) == 1]
        vectors = [embeddings.vector(folded) for _, folded, _ in whole]
        names, pieces = [name for name, _, _ in whole], [piece for _, _, piece in whole]
        return names, pieces, np.array(vectors, np.float32)


@lru_cache(maxsize=4)
def forms_of(words: tuple[str, ...]) -> WordForms:
    """Return what finds known words for others, made once."""
    return WordForms(words)


def hint_words(vocabulary: Vocabulary, text: str) -> str:
    """Name known words in place of a text without any: near ones, or frequent.

    >>> hint_words(Vocabulary(("beach", "tree")), "beech")
    'Near ones are: beach.'
    """
    forms, words = forms_of(vocabulary.words), cut_words(text[:1000])[:HINTED_WORDS]
    slips = (slip for word in words if (slip := forms.find_slip(word)))
    if near := list(dict.fromkeys(slips)):
        return f"Near ones are: {', '.join(near)}."
    return f"Some that it knows are: {', '.join(vocabulary.examples())}."


def _ends(word: str) -> Iterator[tuple[bool, str]]:
    """Yield the first letters of a word and the last; forms have either in common."""
    letters = unicodedata.normalize("NFD", word)
    yield True, letters[:MIN_LETTERS]
    yield False, letters[-MIN_LETTERS:]


def _cut_letters(word: str) -> set[str]:
    """Return a word, and all that is left of it without one letter.

    Words with one letter more, less, changed or swapped have one of these in common.
    """
    return {word, *(word[:place] + word[place + 1 :] for place in range(len(word)))}
