"""Cutting texts into folded words, for vocabularies and word search.

A word is a run of letters, digits and the marks on them, such as accents and vowel
signs. Some scripts put no spaces between words. Their letters are cut into overlapping
pairs, and Chinese characters, which mean something alone, into single ones as well.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

# Chinese characters, with their iteration and number marks
_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
# letters and signs of Thai, Lao, Myanmar and Khmer; Japanese syllables
_SYLLABLES = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\ua9e0-\ua9ff\uaa60-\uaa7f"
    "\u3040-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"
)
_UNSPACED = re.compile(f"[{_HAN}{_SYLLABLES}]")
_PART = re.compile(
    rf"([{_HAN}{_SYLLABLES}]+)|[^\W{_HAN}{_SYLLABLES}][^{_HAN}{_SYLLABLES}]*"
)
_IS_HAN = re.compile(f"[{_HAN}]")
_DOTTED_I = "i\u0307"  # the Turkish capital, folded
# marks that words are also written without: accents, Hebrew points, Arabic vowels
_ACCENTS = dict.fromkeys(
    code
    for first, last in (
        *((0x300, 0x36F), (0x591, 0x5BD), (0x5BF, 0x5C7)),
        *((0x610, 0x61A), (0x64B, 0x65F), (0x670, 0x670)),
    )
    for code in range(first, last + 1)
)
# letters that are no plain ones with an accent, but written and sought as such
_PLAIN = str.maketrans(
    {"ı": "i", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ŧ": "t"}
    | {"æ": "ae", "œ": "oe"}
)


class Word(NamedTuple):
    """A folded word of a text, and where it stands there."""

    word: str
    start: int
    end: int


# of English, but for those that other languages have for other things; in texts
# without many of them they are rare, and would count the more
_IS_FUNCTION_WORD = re.compile(
    "a|an|and|are|for|from|has|her|his|if|in|into|its|of|our|that|the|their|them|then"
    "|there|these|they|this|to|was|were|with|your"
)


def fold_case(text: str) -> str:
    """Fold a text for comparison: case-insensitive, in one form of Unicode."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", text.casefold()).replace(_DOTTED_I, "i")


def fold_accents(word: str) -> str:
    """Return a folded word in plain letters.

    >>> fold_accents("kırmızı"), fold_accents("café"), fold_accents("smørrebrød")
    ('kirmizi', 'cafe', 'smorrebrod')
    """
    if word.isascii():
        return word
    bare = unicodedata.normalize("NFD", word.translate(_PLAIN)).translate(_ACCENTS)
    return unicodedata.normalize("NFC", bare)


def find_runs(text: str) -> Iterator[re.Match[str]]:
    """Find letters, digits and their marks that stand together.

    >>> [run[0] for run in find_runs("लाल किताब, dog_1!")]
    ['लाल', 'किताब', 'dog_1']
    """
    return _run_pattern(text.isascii()).finditer(text)


def place_words(text: str) -> Iterator[Word]:
    """Find the words of a text in their order; some overlap.

    >>> [tuple(word) for word in place_words("A 猫dog")]
    [('a', 0, 1), ('猫', 2, 3), ('dog', 3, 6)]
    """
    for run in find_runs(text):
        if run[0].isascii() or not _UNSPACED.search(run[0]):
            yield Word(fold_case(run[0]), *run.span())
            continue
        for part in _PART.finditer(run[0]):
            first = run.start() + part.start()
            if part[1] is None:
                yield Word(fold_case(part[0]), first, first + len(part[0]))
            else:
                yield from _pair_letters(part[0], first)


def cut_words(text: str) -> list[str]:
    """Return the words of a text in their order, folded.

    >>> cut_words("Dog, on the BEACH!")
    ['dog', 'on', 'the', 'beach']
    >>> cut_words("赤いカップ2個")
    ['赤', '赤い', 'いカ', 'カッ', 'ップ', '2', '個']
    """
    if text.isascii() or not _UNSPACED.search(text):
        found: list[str] = _run_pattern(text.isascii()).findall(fold_case(text))
        return found
    return [word for word, _, _ in place_words(text)]


def drop_function_words(words: tuple[str, ...]) -> tuple[str, ...]:
    """Drop function words from a query, unless it has no others.

    >>> drop_function_words(("deodorant", "for", "men")), drop_function_words(("the",))
    (('deodorant', 'men'), ('the',))
    """
    counting = (word for word in words if not _IS_FUNCTION_WORD.fullmatch(word))
    return tuple(counting) or words


def is_run(word: str) -> bool:
    """Return whether a text is a single run, without any other character.

    >>> is_run("किताब"), is_run('dog"')
    (True, False)
    """
    return _run_pattern(word.isascii()).fullmatch(word) is not None


def is_unspaced(word: str) -> bool:
    """Return whether a word was cut from a script without spaces."""
    return _UNSPACED.match(word) is not None


def leave_unknown(chunk: str, is_known: Callable[[str], bool]) -> list[str]:
    """Return the parts of a token between spaces that no known word covers.

    Where none is known, that is the token as it was written.

    >>> leave_unknown("dog-house!", {"dog"}.__contains__)
    ['house']
    """
    letters = list(chunk)
    for word, start, end in place_words(chunk):
        if is_known(word):
            letters[start:end] = " " * (end - start)
    rest = "".join(letters)
    return [chunk] if rest == chunk else [run[0] for run in find_runs(rest)]


def _pair_letters(part: str, first: int) -> Iterator[Word]:
    """Cut letters of a script without spaces, the first of which stands at a place."""
    starts = [place for place, letter in enumerate(part) if letter.isalnum()]
    ends = [*starts[1:], len(part)]
    # signs above and below letters are no letters, so that word search drops them
    letters = [
        "".join(filter(str.isalnum, fold_case(part[start:end])))
        for start, end in zip(starts, ends, strict=True)
    ]
    for place, letter in enumerate(letters):
        start, end = first + starts[place], first + ends[place]
        if _IS_HAN.match(letter) or len(letters) == 1:
            yield Word(letter, start, end)
        if place + 1 < len(letters):
            yield Word(letter + letters[place + 1], start, first + ends[place + 1])


@cache
def _run_pattern(is_ascii: bool) -> re.Pattern[str]:
    if is_ascii:
        return re.compile(r"\w+")
    near, far = _list_marks(0x300, 0x10000), _list_marks(0x10000, 0x1F000)
    # most characters are none of the far ones, a set that is slow to look into
    marks = rf"(?:[{near}]|(?=[\U00010000-\U0001efff])[{far}])"
    return re.compile(rf"\w+(?:{marks}+\w*)*")


def _list_marks(first: int, end: int) -> str:
    """Return the marks of a range of characters, except variants of how one looks."""
    letters = (chr(code) for code in range(first, end) if not 0xFE00 <= code < 0xFE10)
    return "".join(
        each for each in letters if unicodedata.category(each) in ("Mn", "Mc")
    )
