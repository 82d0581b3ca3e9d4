"""Texts row by row, and the vocabulary that makes vectors of words."""

from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fdch.data.rows import Digest, Rows, choose, find_present, objects
from fdch.data.words import cut_words, fold_case, leave_unknown

MAX_WORDS = 10_000


class Texts(Rows):
    """The text side of a number of pairs, in rows."""

    def text(self, row: int) -> str | None:
        """Return a row's text for display; None if there is none."""
        return None


class Sentences(Texts):
    """Original texts; None for rows without one.

    `vocabulary` has the data set's own words, where it has them.

    >>> Sentences(["a dog", None]).present.tolist()
    [True, False]
    """

    def __init__(
        self,
        values: "NDArray[np.object_] | Sequence[str | None]",
        vocabulary: "Vocabulary | None" = None,
    ) -> None:
        self.values = objects(values)
        self.vocabulary = vocabulary

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Any) -> Self:
        return type(self)(self.values[choose(rows, len(self))], self.vocabulary)

    @property
    def present(self) -> NDArray[np.bool_]:
        """Return for each row whether it has a text."""
        return find_present(self.values)

    def text(self, row: int) -> str | None:
        """Return a row's text, unchanged."""
        text: str | None = self.values[row]
        return text

    def add_to(self, digest: Digest) -> None:
        """Add all texts and the words known to a fingerprint."""
        digest.add(b"sentences")
        for text in self.values:
            digest.add_text(text)
        digest.add(b"-" if self.vocabulary is None else b"+")
        for word in self.vocabulary.words if self.vocabulary else ():
            digest.add_text(word)


class WordVectors(Texts):
    """Ready vectors, one row per text, such as counts of known words.

    >>> WordVectors(sparse.csr_array(np.eye(3)))[:2].matrix.shape
    (2, 3)
    """

    def __init__(self, matrix: sparse.csr_array) -> None:
        self.matrix = sparse.csr_array(matrix, dtype=np.float32)

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def __getitem__(self, rows: Any) -> Self:
        return type(self)(self.matrix[choose(rows, len(self))])

    def add_to(self, digest: Digest) -> None:
        """Add all numbers to a fingerprint."""
        plain = self.matrix.copy()
        plain.sum_duplicates()
        plain.eliminate_zeros()
        digest.add(f"vectors {plain.shape}".encode())
        digest.add_array(plain.indptr.astype(np.int64))
        digest.add_array(plain.indices.astype(np.int64))
        digest.add_array(plain.data)
        digest.add(b"-")


@dataclass(frozen=True)
class Vocabulary:
    """Known words; a text's vector is 1 for those that occur in it.

    >>> Vocabulary(("beach", "dog")).number_words("Dog, on the BEACH!")
    [0, 1]
    """

    words: tuple[str, ...]

    @classmethod
    def fit(cls, texts: Sentences) -> "Vocabulary":
        """Take the words that occur in most texts, ties in alphabetical order."""
        counts: Counter[str] = Counter()
        for text in texts.values:
            if text is not None:
                counts.update(set(cut_words(text)))
        ranked = sorted(counts, key=lambda word: (-counts[word], word))
        return cls(tuple(ranked[:MAX_WORDS]))

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return word in self._numbers

    @property
    def static_width(self) -> int:
        """Columns of its vectors that are not words."""
        return 0

    @property
    def width(self) -> int:
        """Columns of its vectors."""
        return len(self.words) + self.static_width

    def reads(self, text: str) -> bool:
        """Return whether a text has a word that counts."""
        return bool(self.number_words(text))

    def number_words(self, text: str) -> list[int]:
        """Return the numbers of the words in a text, ascending, each once.

        A token between spaces counts as a whole if it is known (such
        as the tag 'new-york'), else by its words.
        """
        found: set[int] = set()
        for chunk in fold_case(text).split():
            words = [chunk] if chunk in self._numbers else cut_words(chunk)
            found.update(self._numbers[word] for word in words if word in self._numbers)
        return sorted(found)

    def unknown(self, text: str, read: Container[str] = ()) -> list[str]:
        """Return the tokens between spaces, or parts of them, that are not known.

        `read` are words that count as known.

        >>> Vocabulary(("dog",)).unknown("a dog-house, by")
        ['a', 'house', 'by']
        """

        def is_known(word: str) -> bool:
            return word in read or word in self

        chunks = (chunk for chunk in text.split() if fold_case(chunk) not in self)
        return [part for chunk in chunks for part in leave_unknown(chunk, is_known)]

    def vectors(self, texts: Sentences, *, remember: bool = True) -> sparse.csr_array:
        """Make 0/1 vectors, float32 (texts, words); zero for missing texts.

        With `remember`, what takes long is kept in the cache folder.
        """
        rows = [
            [] if text is None else self.number_words(text) for text in texts.values
        ]
        starts = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in rows], out=starts[1:])
        numbers = np.array([number for row in rows for number in row], dtype=np.int64)
        ones = np.ones(len(numbers), dtype=np.float32)
        shape = (len(rows), len(self.words))
        return sparse.csr_array((ones, numbers, starts), shape=shape)

    def examples(self) -> list[str]:
        """Return five frequent words; short ones, which say little, only at need.

        >>> Vocabulary(("the", "on", "beach", "of", "tree")).examples()
        ['beach', 'tree', 'the', 'on', 'of']
        """
        return sorted(self.words, key=lambda word: len(word) <= 3)[:5]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        # of words that are the same without case, the first counts
        words = reversed(list(enumerate(self.words)))
        return {fold_case(word): number for number, word in words}
