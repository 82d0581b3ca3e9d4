"""What a word is: how texts are folded and cut, for vocabularies and word search."""

import re
import unicodedata

_WORD = re.compile(r"\w+")


def fold_case(text: str) -> str:
    """Give a text as it is compared: without case, in one form of Unicode."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", text.casefold())


def cut_words(text: str) -> list[str]:
    """Give the words of a text in their order, folded.

    >>> cut_words("Dog, on the BEACH!")
    ['dog', 'on', 'the', 'beach']
    """
    return _WORD.findall(fold_case(text))
