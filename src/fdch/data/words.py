"""What a word is: how texts are folded and cut, for vocabularies and word search.

Some scripts put no spaces between words. Their letters are cut into overlapping
pairs, and Chinese characters, which mean something alone, into single ones as well.
"""

import re
import unicodedata
from collections.abc import Iterator

_WORD = re.compile(r"\w+")
# Chinese characters, with their iteration and number marks
_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
# letters and signs of Thai, Lao, Myanmar and Khmer; Japanese syllables
_SYLLABLES = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\ua9e0-\ua9ff\uaa60-\uaa7f"
    "\u3040-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"
)
_UNSPACED = re.compile(f"[{_HAN}{_SYLLABLES}]")
_PART = re.compile(rf"([{_HAN}{_SYLLABLES}]+)|[^\W{_HAN}{_SYLLABLES}]+")
_IS_HAN = re.compile(f"[{_HAN}]")
_DOTTED_I = "i\u0307"  # the Turkish capital, folded


def fold_case(text: str) -> str:
    """Return a text as it is compared: without case, in one form of Unicode."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", text.casefold()).replace(_DOTTED_I, "i")


def cut_words(text: str) -> list[str]:
    """Return the words of a text in their order, folded; each of letters and digits.

    >>> cut_words("Dog, on the BEACH!")
    ['dog', 'on', 'the', 'beach']
    >>> cut_words("赤いカップ2個")
    ['赤', '赤い', 'いカ', 'カッ', 'ップ', '2', '個']
    """
    folded = fold_case(text)
    if text.isascii() or not _UNSPACED.search(folded):
        return _WORD.findall(folded)
    return [word for part in _PART.finditer(folded) for word in _cut_part(part)]


def is_unspaced(word: str) -> bool:
    """Return whether a word was cut from a script without spaces."""
    return _UNSPACED.match(word) is not None


def _cut_part(part: re.Match[str]) -> Iterator[str]:
    if part[1] is None:
        yield part[0]
        return
    # signs above and below letters are no letters, so that word search drops them
    letters = [letter for letter in part[1] if letter.isalnum()]
    for place, letter in enumerate(letters):
        if _IS_HAN.match(letter) or len(letters) == 1:
            yield letter
        if place + 1 < len(letters):
            yield letter + letters[place + 1]
