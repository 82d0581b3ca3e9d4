"""Known words for the unknown ones of a query: other forms, then near meanings.

`mugs` is read as the known `mug`: they share a stem, and what follows it in each are
endings of one language. Endings are tried without a language setting, so that a stem
must be long enough. Stored items are never read so: their codes do not change.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fdch.data.static_words import StaticEmbeddings, is_installed, load_embeddings
from fdch.data.words import fold_case, is_unspaced

# endings that replace each other, without accents, and the shortest stem they follow
ENDINGS: tuple[tuple[int, str], ...] = (
    (3, "- s"),  # English, French, Spanish, Portuguese, Dutch
    (4, "- s es ed ing er"),  # English
    (3, "y ies"),
    (4, "e ed ing es er"),
    (4, "- e s es x"),  # French
    (4, "al aux"),
    (4, "- e n en er es em s"),  # German, Dutch
    (3, "a o as os"),  # Spanish, Portuguese
    (4, "a e i o"),  # Italian
    (5, "- a e n r s ar er or en et na erna orna arna"),  # the Nordic languages
    (4, "- ssa sta lla lta lle ksi issa ista illa ille"),  # Finnish
    (5, "- a n t in en an ia ja na ta i"),
    (4, "- lar ler lari leri larin lerin dan den tan ten"),  # Turkish
    (5, "- i u da de ta te in un nin nun ya ye yi yu si su"),
    (5, "- a e i o u y ow em ami ach om ie"),  # Polish, Czech
    (5, "- k ok ek ak t at et ot nak nek ban ben bol rol hoz hez"),  # Hungarian
    (4, "- а у ы и е о я ю ой ом ов ам ами ах ем ей ая ый ое ые"),  # Russian
)
MIN_LETTERS, MAX_LETTERS = 3, 40
MIN_COSINE = 0.5  # of static embeddings; below it, nearest words are mostly chance
# letters that no accent makes of their plain ones
_PLAIN = str.maketrans("ıøłđ", "iold")


class WordForms:
    """Finds the known word that an unknown one is a form of, or nearest to.

    >>> WordForms(["mug", "cities", "café"]).find_form("mugs")
    'mug'
    """

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words

    def find_form(self, word: str) -> str | None:
        """Return the known word with the longest common stem; of several the first."""
        plain = _remove_accents(word)
        if not _is_usable(plain):
            return None
        for key in _keys(plain):
            if key in self._by_stem:
                return self._by_stem[key]
        return None

    def find_meaning(self, word: str) -> str | None:
        """Return the nearest known word by static embeddings, where near enough.

        Only words that are a single piece of the embeddings' tokenizer count: pieces
        of others say how a word is written, not what it means.
        """
        if not _is_usable(word) or not is_installed():
            return None
        embeddings = load_embeddings()
        names, table = self._embedded
        if not names or not _is_whole(embeddings, word):
            return None
        cosines = table @ embeddings.vector(word)
        best = int(cosines.argmax())
        return names[best] if cosines[best] >= MIN_COSINE else None

    @cached_property
    def _by_stem(self) -> dict[tuple[int, str], str]:
        found: dict[tuple[int, str], str] = {}
        for word in self._words:
            plain = _remove_accents(fold_case(word))
            if _is_usable(plain):
                for key in _keys(plain):
                    found.setdefault(key, word)
        return found

    @cached_property
    def _embedded(self) -> tuple[list[str], NDArray[np.float32]]:
        embeddings = load_embeddings()
        folded = ((word, fold_case(word)) for word in self._words)
        names = [w for w, f in folded if _is_usable(f) and _is_whole(embeddings, f)]
        vectors = [embeddings.vector(name) for name in names]
        return names, np.array(vectors, np.float32)


def _keys(word: str) -> Iterator[tuple[int, str]]:
    """Yield a word's stems with the group of endings, the longest first.

    The whole word is its own stem, in no group: words that differ by accents.
    """
    yield -1, word
    for length in range(len(word), max(len(word) - _LONGEST, MIN_LETTERS) - 1, -1):
        for group, shortest in _GROUPS.get(word[length:], ()):
            if length >= shortest:
                yield group, word[:length]


def _group_endings() -> dict[str, list[tuple[int, int]]]:
    """Return for each ending its groups, with their shortest stems."""
    groups: dict[str, list[tuple[int, int]]] = {}
    for group, (shortest, endings) in enumerate(ENDINGS):
        for ending in endings.split():
            own = groups.setdefault("" if ending == "-" else ending, [])
            own.append((group, shortest))
    return groups


_GROUPS = _group_endings()
_LONGEST = max(map(len, _GROUPS))


def _is_usable(word: str) -> bool:
    is_long = MIN_LETTERS <= len(word) <= MAX_LETTERS
    return is_long and word.isalpha() and not is_unspaced(word)


def _is_whole(embeddings: StaticEmbeddings, word: str) -> bool:
    return len(embeddings.pieces(word)) == 1


def _remove_accents(word: str) -> str:
    """Write a word without accents.

    >>> _remove_accents("kırmızı"), _remove_accents("café")
    ('kirmizi', 'cafe')
    """
    if word.isascii():
        return word
    letters = unicodedata.normalize("NFD", word.translate(_PLAIN))
    return "".join(each for each in letters if not unicodedata.combining(each))
