"""The words of a query as a model can read them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from fdch.data.texts import Vocabulary
from fdch.data.word_forms import WordForms
from fdch.data.words import cut_words, fold_case

MAX_READ = 20  # unknown words of a query that others are looked up for


@dataclass(frozen=True)
class ReadText:
    """A query's text, with known words in place of unknown ones.

    Args:
        text: What to encode.
        read_as: Known words by the unknown ones that they stand for.
        unknown: What is left that the model does not know.
    """

    text: str
    read_as: Mapping[str, str]
    unknown: tuple[str, ...]


def read_query(vocabulary: Vocabulary, text: str) -> ReadText:
    """Put known forms in the place of unknown words; else known words near in meaning.

    A model with static embeddings reads unknown words anyway; it gets forms alone.

    >>> read_query(Vocabulary(("mug", "red")), "red mugs, qwertz").read_as
    {'mugs': 'mug'}
    """
    words = list(dict.fromkeys(_unknown_words(vocabulary, text)))[:MAX_READ]
    found = {word: _find_known(vocabulary, word) for word in words}
    read_as = {word: known for word, known in found.items() if known is not None}
    if not read_as:
        return ReadText(text, {}, tuple(vocabulary.unknown(text)))
    unknown = (
        chunk
        for chunk in vocabulary.unknown(text)
        if not any(word in read_as for word in cut_words(chunk))
    )
    return ReadText(_replace(vocabulary, text, read_as), read_as, tuple(unknown))


def _unknown_words(vocabulary: Vocabulary, text: str) -> list[str]:
    chunks = (chunk for chunk in fold_case(text).split() if chunk not in vocabulary)
    return [w for chunk in chunks for w in cut_words(chunk) if w not in vocabulary]


def _replace(vocabulary: Vocabulary, text: str, read_as: Mapping[str, str]) -> str:
    """Write a text again with the words that it is read as."""
    parts: list[str] = []
    for chunk in text.split():
        words = [] if fold_case(chunk) in vocabulary else cut_words(chunk)
        if any(word in read_as for word in words):
            parts += (read_as.get(word, word) for word in words)
        else:
            parts.append(chunk)
    return " ".join(parts)


def _find_known(vocabulary: Vocabulary, word: str) -> str | None:
    forms = _forms_of(vocabulary.words)
    found = forms.find_form(word)
    if found is None and not vocabulary.static_width:
        found = forms.find_meaning(word)
    return found


@lru_cache(maxsize=4)
def _forms_of(words: tuple[str, ...]) -> WordForms:
    return WordForms(words)
