"""Forms of a word: a stem with other endings, or another word that is much alike.

Endings are tried without a language setting, so that a stem must be long enough. Words
that are alike are forms in languages with rich endings, but not in English, where a
`plan` is no `plant` (`WordForms` distinguishes them).
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from os.path import commonprefix

from fdch.data.words import is_unspaced

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
# articles and the like, written together with the word: Arabic, Hebrew
ARTICLES = "ال وال بال فال كال لل و ب ل ה ו ב ל כ מ ש וה"
MIN_LETTERS, MAX_LETTERS = 3, 40
MIN_HEAD = 4  # letters of a compound's second part; one more than of the first
_MAX_KNOWN_WORDS = 2**12


def is_usable(word: str) -> bool:
    """Return whether a word may have endings: of letters, spaced, not too long."""
    is_long = MIN_LETTERS <= _count_letters(word) <= MAX_LETTERS
    return is_long and _is_of_letters(word) and not is_unspaced(word)


def simplify(word: str) -> str:
    """Return a word without its doubled letters: some forms have only one of them.

    >>> simplify("kuppi"), simplify("kupissa")
    ('kupi', 'kupisa')
    """
    return re.sub(r"(\w)\1", r"\1", word)


def compare(one: str, other: str) -> float:
    """Return the share of two simplified words that is common; 0 where they differ.

    Forms begin alike: one word ends there or a little later, and the other one has no
    more letters after it than before. Or one word is all of the other, but for an
    article or for the first part of a compound.

    >>> compare("kitap", "kitabi"), compare("kafetase", "tase"), compare("plan", "pain")
    (0.7272727272727273, 0.6666666666666666, 0.0)
    """
    start = commonprefix([one, other])  # noqa: RUF071  by characters, no paths
    common = _count_letters(start)
    left = sorted(_count_letters(word) - common for word in (one, other))
    is_form = left[0] <= (common - 2) // 2 and left[1] <= common
    if common < MIN_LETTERS or not is_form:
        short, long = sorted((one, other), key=len)
        common, first = _count_letters(short), long[: len(long) - len(short)]
        is_compound = common >= MIN_HEAD and len(first) >= MIN_LETTERS
        is_form = long.endswith(short) and (is_compound or first in ARTICLES.split())
    return 2 * common / _count_letters(one + other) if is_form else 0.0


def list_stems(word: str) -> Iterator[tuple[int, str]]:
    """Yield a word's stems with the group of endings, the longest first.

    The whole word is its own stem, in no group: words that differ by accents.
    """
    yield -1, word
    for length in range(len(word), max(len(word) - _LONGEST, MIN_LETTERS) - 1, -1):
        for group, shortest in _GROUPS.get(word[length:], ()):
            if length >= shortest:
                yield group, word[:length]


@lru_cache(maxsize=_MAX_KNOWN_WORDS)
def list_forms(word: str) -> tuple[str, ...]:
    """Return all other forms of a word in plain letters, those of long stems first.

    >>> list_forms("cities")[-1]
    'city'
    """
    found: dict[str, None] = {}
    for group, stem in list_stems(word) if is_usable(word) else ():
        if group >= 0:
            endings = ENDINGS[group][1].replace("-", "").split(" ")
            found.update(dict.fromkeys(stem + ending for ending in endings))
    return tuple(form for form in found if form != word)


def _is_of_letters(word: str) -> bool:
    """Return whether a word has only letters and combining marks."""
    return word.isalpha() or all(unicodedata.category(c)[0] in "LM" for c in word)


def _count_letters(word: str) -> int:
    """Count the letters of a word; a Korean syllable has two or three."""
    return len(word if word.isascii() else unicodedata.normalize("NFD", word))


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
