"""Orders candidates by codes, by label probabilities and by how alike pairs are."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import nn

from fdch.evaluation.histograms import Histograms
from fdch.evaluation.metrics import average_precision, precision_at
from fdch.evaluation.ordering import QueryOrder
from fdch.training import batches
from fdch.training.label_numbers import LabelNumbers
from fdch.training.ordering import (
    Floats,
    Numbers,
    Ordering,
    Vectors,
    to_numbers,
    to_units,
)

HALF_STEP = {1: 1.0, 2: 0.5, 4: 0.1675}  # of numbers with a deviation of 1
# deviations above the mean from which on two items are nearly the same
NEARLY_SAME = 1.5
PAIR_WEIGHTS = (2.0, 1.0, 0.5, 0.25)
TOLERANCE = 0.005  # of precision that a larger weight may cost
MAX_COMPARED = 1024  # pairs that scales and weights are chosen on
MIN_COMPARED = 100  # pairs with labels below which no weight is chosen
FIRST = 10


class Scales(NamedTuple):
    """Deviations of each part of the score between items of different pairs."""

    codes: float
    labels: float
    pairs: float


class PairOrdering(Ordering):
    """Adds up the cosine of codes, the labels shared and, above a threshold, likeness.

    Each is divided by its deviation, so that codes and labels count alike.

    Args:
        networks: By role: "image" and "text" for codes, "label_image" and "pair_image"
            and their like where there are such numbers.
        parts: Numbers of labels, numbers of pairs.
        labels: The projection of label probabilities; None where there is none.
        prior: Log odds of each label, (classes,).
        scales: What the parts of the score are divided by.
        pair_weight: What likeness counts.
    """

    def __init__(
        self,
        networks: Mapping[str, nn.Module],
        parts: tuple[Numbers, Numbers],
        labels: LabelNumbers | None,
        prior: NDArray[Any],
        scales: Scales,
        pair_weight: float = 1.0,
    ) -> None:
        self._networks, self._labels = networks, labels
        self._prior, self.scales, self.pair_weight = prior, scales, pair_weight
        self.parts = (parts[0] if labels else Numbers(0, parts[0].bits), parts[1])

    @classmethod
    def fit(
        cls,
        networks: Mapping[str, nn.Module],
        parts: tuple[Numbers, Numbers],
        images: NDArray[Any],
        texts: csr_array,
        Y: NDArray[np.uint8],
    ) -> Self:
        """Find the projection and the scales on training pairs.

        Args:
            networks: Trained, by role.
            parts: Numbers of labels, numbers of pairs.
            images: Image inputs of some pairs.
            texts: Text inputs of the same pairs.
            Y: Labels of all training pairs, (n, classes).
        """
        share = Y[Y.any(axis=1)].mean(axis=0) if Y.any() else np.zeros(Y.shape[1])
        share = np.clip(share, 1e-4, 1 - 1e-4)
        prior = np.log(share / (1 - share))
        labels = None
        if "label_image" in networks:
            odds = (
                batches.image_outputs(networks["label_image"], images),
                batches.text_outputs(networks["label_text"], texts),
            )
            labels = LabelNumbers.fit(np.concatenate(odds), parts[0])
        made = cls(networks, parts, labels, prior, Scales(1.0, 1.0, 1.0))
        terms = made.score_parts(images, texts)
        between = ~np.eye(len(images), dtype=np.bool_)
        deviations = [
            float(np.std(term[:, between])) if len(images) > 1 else 0.0
            for term in terms
        ]
        made.scales = Scales(*(found if found > 0 else 1.0 for found in deviations))
        return made

    def score_parts(
        self, images: NDArray[Any], texts: csr_array
    ) -> tuple[Floats, Floats, Floats]:
        """Give the parts of the score by codes, labels and pairs before any threshold.

        Returns:
            Each (2, n, n): images as queries for texts, then texts for images.
        """
        outputs = (
            batches.image_outputs(self._networks["image"], images),
            batches.text_outputs(self._networks["text"], texts),
        )
        signs = [np.where(side >= 0, 1, -1).astype(np.float32) for side in outputs]
        numbers = self.image_vectors(images), self.text_vectors(texts)
        weights = (
            self._weigh(outputs[0], images=images),
            self._weigh(outputs[1], texts=texts),
        )
        bits, count = outputs[0].shape[1], self.parts[0].count
        stored = [
            np.concatenate(side, axis=1).astype(np.float32)
            for side in zip(signs, numbers, strict=True)
        ]
        ends = (slice(0, bits), slice(bits, bits + count), slice(bits + count, None))
        codes, labels, pairs = (
            np.stack(
                [
                    own[:, end] @ other[:, end].T
                    for own, other in zip(weights, stored[::-1], strict=True)
                ]
            )
            for end in ends
        )
        return codes, labels, pairs

    def image_vectors(self, images: NDArray[Any]) -> Vectors:
        """Give what is stored of images, (n, width)."""
        return self._store(self._image_odds(images), self._image_units(images))

    def text_vectors(self, texts: csr_array) -> Vectors:
        """Give what is stored of texts, (n, width)."""
        return self._store(self._text_odds(texts), self._text_units(texts))

    def pair_vectors(self, images: NDArray[Any], texts: csr_array) -> Vectors:
        """Give what is stored of whole pairs, by what both sides say, (n, width)."""
        odds = self._image_odds(images) + self._text_odds(texts)
        units = to_units(self._image_units(images) + self._text_units(texts))
        return self._store(odds - self._prior if self._labels else odds, units)

    def weigh_images(self, images: NDArray[Any]) -> QueryOrder:
        """Give how images as queries order candidates."""
        outputs = batches.image_outputs(self._networks["image"], images)
        return self._order(self._weigh(outputs, images=images))

    def weigh_texts(self, texts: csr_array) -> QueryOrder:
        """Give how texts as queries order candidates."""
        outputs = batches.text_outputs(self._networks["text"], texts)
        return self._order(self._weigh(outputs, texts=texts))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Give everything but the networks as plain arrays."""
        return {
            "ordering.prior": np.asarray(self._prior),
            "ordering.scales": np.array([*self.scales, self.pair_weight]),
            **(self._labels.to_arrays() if self._labels else {}),
        }

    @classmethod
    def from_arrays(
        cls,
        networks: Mapping[str, nn.Module],
        parts: tuple[Numbers, Numbers],
        arrays: Mapping[str, NDArray[Any]],
    ) -> Self:
        """Read what `to_arrays` gave."""
        *scales, weight = arrays["ordering.scales"].tolist()
        labels = LabelNumbers.from_arrays(arrays) if "label_image" in networks else None
        prior = arrays["ordering.prior"]
        return cls(networks, parts, labels, prior, Scales(*scales), weight)

    def _order(self, weights: Floats) -> QueryOrder:
        """Scale the parts of the score; the last counts above the threshold."""
        count = self.parts[1].count
        bits = weights.shape[1] - self.width
        factors = np.ones(weights.shape[1], np.float32)
        factors[:bits] /= self.scales.codes
        factors[bits : bits + self.parts[0].count] /= self.scales.labels
        factors[bits + self.parts[0].count :] *= self.pair_weight / self.scales.pairs
        return QueryOrder(weights * factors, count, self.pair_weight * NEARLY_SAME)

    def _weigh(
        self,
        outputs: Floats,
        images: NDArray[Any] | None = None,
        texts: csr_array | None = None,
    ) -> Floats:
        """Give the weights of bits and numbers before any scaling."""
        if texts is None:
            odds, units = self._image_odds(images), self._image_units(images)
        else:
            odds, units = self._text_odds(texts), self._text_units(texts)
        of_bits = to_units(outputs) / np.sqrt(outputs.shape[1])
        of_labels = self._labels.weights(odds) if self._labels else odds
        return np.concatenate([of_bits, of_labels, units], axis=1).astype(np.float32)

    def _store(self, odds: NDArray[Any], units: Floats) -> Vectors:
        part = self.parts[1]
        spread = units * np.sqrt(max(1, part.count))  # numbers with a deviation of 1
        alike = to_numbers(spread, HALF_STEP[part.bits], part.bits)
        if self._labels is None:
            return alike
        return np.concatenate([self._labels.numbers(odds), alike], axis=1)

    def _image_odds(self, images: Any) -> Floats:
        return self._run("label_image", images, len(images))

    def _text_odds(self, texts: Any) -> Floats:
        return self._run("label_text", texts, texts.shape[0])

    def _image_units(self, images: Any) -> Floats:
        return to_units(self._run("pair_image", images, len(images)))

    def _text_units(self, texts: Any) -> Floats:
        return to_units(self._run("pair_text", texts, texts.shape[0]))

    def _run(self, role: str, inputs: Any, rows: int) -> Floats:
        """Run a network where there is one; else give no columns."""
        if role not in self._networks:
            return np.zeros((rows, 0), np.float32)
        is_text = role.endswith("text")
        run = batches.text_outputs if is_text else batches.image_outputs
        return run(self._networks[role], inputs)


def choose_pair_weight(
    ordering: PairOrdering, images: NDArray[Any], texts: csr_array, Y: NDArray[np.uint8]
) -> float | None:
    """Choose the largest weight of likeness that costs no precision to speak of.

    Args:
        ordering: With its scales.
        images: Image inputs of pairs that were not trained on.
        texts: Text inputs of the same pairs.
        Y: Their labels, (n, classes).

    Returns:
        One of `PAIR_WEIGHTS`, or None where fewer than 100 pairs share a label with
        another.
    """
    shared = Y.astype(np.float32) @ Y.T.astype(np.float32) > 0
    np.fill_diagonal(shared, False)
    if shared.any(axis=1).sum() < MIN_COMPARED:
        return None
    parts = ordering.score_parts(images, texts)
    codes, labels, pairs = (
        part / scale for part, scale in zip(parts, ordering.scales, strict=True)
    )
    rest = np.maximum(pairs - NEARLY_SAME, 0)
    found = {
        weight: np.mean(
            [_precision(scores, shared) for scores in codes + labels + weight * rest]
        )
        for weight in PAIR_WEIGHTS
    }
    best = max(found.values())
    return next(w for w in PAIR_WEIGHTS if found[w] >= best - TOLERANCE)


def _precision(scores: Floats, shared: NDArray[np.bool_]) -> float:
    """Give (AP + precision at 10) / 2, a mean over queries, own pairs left out."""
    others = ~np.eye(len(scores), dtype=np.bool_)
    ranking = np.argsort(-np.where(others, scores, -np.inf), axis=1)[:, :-1]
    relevant = np.take_along_axis(shared, ranking, axis=1).astype(np.int64)
    counts = Histograms(np.ones_like(relevant), relevant)
    first = precision_at(counts, FIRST)
    return float(np.nanmean(average_precision(counts) + first) / 2)
