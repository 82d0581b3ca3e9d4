"""Pairs as pages show them."""

from dataclasses import dataclass

import numpy as np

from fdch.data.pairs import PairedSet
from fdch.data.texts import Sentences, WordVectors

WORDS_SHOWN = 12


@dataclass(frozen=True)
class Found:
    """One answer.

    Args:
        row: Its row in the database.
        distance: Bits in which its code differs from the query's.
        right: Whether it shares a label with the query.
    """

    row: int
    distance: int
    right: bool


@dataclass(frozen=True)
class Card:
    """A pair as the page shows it.

    Args:
        name: Its id.
        text: Its text, where there is one to show.
        labels: Names of its labels, each with whether the query has it too.
        picture: Its picture as text, where there is one to show.
        found: Distance and rightness, for an answer.
    """

    name: str
    text: str | None
    labels: tuple[tuple[str, bool], ...]
    picture: str | None
    found: Found | None = None


def text_of(pairs: PairedSet, row: int) -> str | None:
    """Give a row's text; of word vectors, the words where they are known."""
    if isinstance(pairs.texts, Sentences):
        text: str | None = pairs.texts.values[row]
        return text
    if isinstance(pairs.texts, WordVectors) and pairs.texts.words is not None:
        matrix = pairs.texts.matrix
        columns = matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]]
        words = [pairs.texts.words[column] for column in columns[:WORDS_SHOWN]]
        return " ".join(words)
    return None


def labels_of(pairs: PairedSet, row: int) -> tuple[str, ...]:
    """Give the names of a row's labels."""
    return tuple(pairs.label_names[i] for i in np.flatnonzero(pairs.labels[row]))
