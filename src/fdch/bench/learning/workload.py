"""Made-up pairs of the size of the benchmarks, to measure methods on."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fdch.data.pairs import PairedSet
from fdch.data.pictures.images import ImageFeatures
from fdch.data.texts import WordVectors

CLASSES = 24
FACTORS = 64
LABELS_PER_PAIR = 3
WORDS_PER_TEXT = 8
TEXTS_AT_ONCE = 500  # whose chances of all words are held
THRESHOLD = 0.75  # leaves about a quarter of a picture's features active
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Workload:
    """Made-up data with features and words of given widths.

    >>> pairs = Workload(image_width=32, words=50).draw(10)
    >>> pairs.images.values.shape, pairs.texts.matrix.shape
    ((10, 32), (10, 50))
    """

    image_width: int = 4096
    words: int = 1386
    seed: int = 0

    def draw(self, pairs: int) -> PairedSet:
        """Draw pairs.

        Labels place each pair among hidden factors; features are the
        active part of a noisy map of that place, texts are words drawn near it.
        """
        shared = np.random.default_rng([self.seed, 0])
        spread = shared.standard_normal((CLASSES, FACTORS), dtype=np.float32)
        to_image = shared.standard_normal((FACTORS, self.image_width), dtype=np.float32)
        to_words = shared.standard_normal((CLASSES, self.words), dtype=np.float32)
        rng = np.random.default_rng([self.seed, 1, 0])
        labels = self._labels(rng, pairs)
        places: Floats = rng.standard_normal((pairs, FACTORS), dtype=np.float32)
        places += labels @ spread
        return PairedSet(
            ids=np.array([str(row) for row in range(pairs)], dtype=object),
            images=ImageFeatures(_active(rng, places @ to_image)),
            texts=WordVectors(self._texts(rng, labels, to_words)),
            labels=labels.astype(np.uint8),
            label_names=tuple(f"label {number}" for number in range(CLASSES)),
            name="workload",
        )

    def _labels(self, rng: np.random.Generator, pairs: int) -> Floats:
        drawn = rng.random((pairs, CLASSES), dtype=np.float32)
        labels = drawn < LABELS_PER_PAIR / CLASSES
        labels[np.arange(pairs), rng.integers(CLASSES, size=pairs)] = True
        return labels.astype(np.float32)

    def _texts(
        self, rng: np.random.Generator, labels: Floats, to_words: Floats
    ) -> csr_array:
        """Draw words without repetition, some far more frequent than others.

        Args:
            rng: Where the random numbers come from.
            labels: (pairs, classes).
            to_words: How much each label likes each word, (classes, words).
        """
        rarity = np.log(np.arange(1, self.words + 1, dtype=np.float32))
        number, parts = min(WORDS_PER_TEXT, self.words), []
        for some in np.array_split(labels, -(-len(labels) // TEXTS_AT_ONCE)):
            liking = some @ to_words
            chances = liking - rarity + rng.gumbel(size=liking.shape)
            parts.append(np.argpartition(-chances, number - 1, axis=1)[:, :number])
        columns = np.concatenate(parts)
        starts = np.arange(len(labels) + 1) * number
        ones = np.ones(columns.size, dtype=np.float32)
        shape = len(labels), self.words
        return csr_array((ones, columns.ravel(), starts), shape=shape)


def _active(rng: np.random.Generator, values: Floats) -> Floats:
    """Keep values above a threshold, as a rectifier does."""
    values /= np.sqrt(FACTORS * (1 + LABELS_PER_PAIR))
    values += 0.5 * rng.standard_normal(values.shape, dtype=np.float32)
    np.subtract(values, THRESHOLD, out=values)
    return np.maximum(values, 0, out=values)
