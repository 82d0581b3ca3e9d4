"""Where the words of a query stand in a text, so that they can be marked."""

import re
from collections.abc import Iterator, Sequence

from fdch.data.words import fold_case
from fdch.index.storage.catalogue.word_table import split_words, stem_word
from fdch.retrieval.results import Match

MAX_CHARACTERS = 20_000  # of a text that are looked at
MAX_MARKS = 100
_RUN = re.compile(r"\w+")


def mark_words(text: str | None, words: Sequence[str]) -> tuple[Match, ...]:
    """Find the words of a query in a text, whole words in the same form or another.

    They come in order; of two that overlap, the second begins where the first ends.

    >>> mark_words("Two dogs, one café", ["dog", "cafe"])
    (Match(word='dog', start=4, end=8), Match(word='cafe', start=14, end=18))
    """
    wanted = {stem_word(word): word for word in reversed(words)}
    found: list[Match] = []
    done = 0
    for run in _RUN.finditer((text or "")[:MAX_CHARACTERS]) if wanted else ():
        for start, end, word in sorted(_parts(run[0])):
            asked, first = wanted.get(stem_word(word)), max(run.start() + start, done)
            if asked is not None and first < run.start() + end:
                done = run.start() + end
                found.append(Match(asked, first, done))
    return tuple(found[:MAX_MARKS])


def _parts(run: str) -> Iterator[tuple[int, int, str]]:
    """Give the words of letters that stand together: one, or parts that overlap."""
    words = split_words(run)
    if len(words) == 1:
        yield 0, len(run), words[0]
        return
    folded = fold_case(run)
    if len(folded) == len(run):
        for word in words:
            for place in re.finditer(f"(?={re.escape(word)})", folded):
                yield place.start(), place.start() + len(word), word
