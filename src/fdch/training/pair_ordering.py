"""Orders candidates by codes, by label probabilities and by how alike pairs are."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import nn

from fdch.codes import Codes
from fdch.evaluation.histograms import Histograms
from fdch.evaluation.metrics import average_precision, precision_at
from fdch.evaluation.ordering import QueryOrder
from fdch.training import batches
from fdch.training.label_numbers import LabelNumbers
from fdch.training.ordering import Floats, Numbers, Ordering, Vectors, to_units
from fdch.training.pair_numbers import PairNumbers

# deviations above the mean from which on two items are nearly the same
NEARLY_SAME = 1.5
PAIR_WEIGHTS = (4.0, 2.8, 2.0, 1.4, 1.0, 0.7, 0.5, 0.35, 0.25, 0.18, 0.125)
KEPT = 0.8  # of what ordering gains in precision, so much is kept
TOLERANCE = 0.001  # of precision that is no loss
MAX_COMPARED = 1024  # pairs that scales and weights are chosen on
MIN_COMPARED = 100  # pairs with labels below which no weight is chosen
FIRST = 10


class Scales(NamedTuple):
    """Deviations of each part of the score between items of different pairs."""

    codes: float
    labels: float
    pairs: float


UNSCALED = Scales(1.0, 1.0, 1.0)


class Side(NamedTuple):
    """What networks say of some items of one side, as far as there are such networks.

    Args:
        outputs: Real outputs of codes, (n, bits).
        odds: Log odds of labels, (n, classes).
        likeness: Along the axes of the pair numbers, (n, count).
    """

    outputs: Floats
    odds: NDArray[Any]
    likeness: NDArray[Any]


class PairOrdering(Ordering):
    """Adds up the cosine of codes, the labels shared and, above a threshold, likeness.

    Each is divided by its deviation, so that codes and labels count alike.

    Args:
        networks: By role: "image" and "text" for codes, "label_image" and "pair_image"
            and their like where there are such numbers.
        labels: The projection of label probabilities; None where there is none.
        pairs: The projection of what pairs have taught; None where there is none.
        prior: Log odds of each label, (classes,).
        scales: What the parts of the score are divided by.
        pair_weight: What likeness counts.
    """

    def __init__(
        self,
        networks: Mapping[str, nn.Module],
        labels: LabelNumbers | None,
        pairs: PairNumbers | None,
        prior: NDArray[Any],
        scales: Scales = UNSCALED,
        pair_weight: float = 1.0,
    ) -> None:
        self._networks, self._labels, self._pairs = networks, labels, pairs
        self._prior, self.scales, self.pair_weight = prior, scales, pair_weight
        self.parts = tuple(
            Numbers(part.axes.shape[1], part.bits) if part else Numbers(0, 1)
            for part in (labels, pairs)
        )

    @classmethod
    def fit(
        cls,
        networks: Mapping[str, nn.Module],
        parts: tuple[Numbers, Numbers],
        images: NDArray[Any],
        texts: csr_array,
        Y: NDArray[np.uint8],
        seed: int = 0,
    ) -> Self:
        """Find projections and scales on training pairs.

        Args:
            networks: Trained, by role.
            parts: Numbers of labels, numbers of pairs.
            images: Image inputs of some pairs.
            texts: Text inputs of the same pairs.
            Y: Labels of all training pairs, (n, classes).
            seed: Where random numbers come from.
        """
        share = Y[Y.any(axis=1)].mean(axis=0) if Y.any() else np.zeros(Y.shape[1])
        share = np.clip(share, 1e-4, 1 - 1e-4)

        def run(role: str) -> tuple[Floats, Floats]:
            image, text = networks[f"{role}_image"], networks[f"{role}_text"]
            seen = batches.image_outputs(image, images)
            return seen, batches.text_outputs(text, texts)

        labels = pairs = None
        if "label_image" in networks:
            labels = LabelNumbers.fit(np.concatenate(run("label")), parts[0])
        if "pair_image" in networks:
            pairs = PairNumbers.fit(*run("pair"), parts[1], seed)
        made = cls(networks, labels, pairs, np.log(share / (1 - share)))
        between = ~np.eye(len(images), dtype=np.bool_)
        deviations = [
            float(part[:, between].std()) if between.any() else 0.0
            for part in made.score_parts(images, texts)
        ]
        made.scales = Scales(*(found if found > 0 else 1.0 for found in deviations))
        return made

    def score_parts(
        self, images: NDArray[Any], texts: csr_array
    ) -> tuple[Floats, Floats, Floats]:
        """Give the parts of the score, not scaled and before any threshold.

        Returns:
            By codes, labels and likeness, each (2, n, n): images as queries for texts,
            then texts for images.
        """
        sides = self._see(images), self._read(texts)
        weights = [self._weigh(side) for side in sides]
        stored = [
            np.concatenate([np.where(side.outputs >= 0, 1, -1), numbers], axis=1)
            for side, numbers in zip(sides, map(self._store, sides), strict=True)
        ]
        bits, count = sides[0].outputs.shape[1], self.parts[0].count
        ends = (slice(bits), slice(bits, bits + count), slice(bits + count, None))
        codes, labels, likeness = (
            np.stack(
                [
                    own[:, end] @ other[:, end].T.astype(np.float32)
                    for own, other in zip(weights, stored[::-1], strict=True)
                ]
            )
            for end in ends
        )
        return codes, labels, likeness

    def agree(self, images: NDArray[Any], texts: csr_array) -> Floats:
        """Give how many bits agree less those that differ, (2, n, n); no ordering."""
        F, G = (
            np.where(side.outputs >= 0, np.float32(1), np.float32(-1))
            for side in (self._see(images), self._read(texts))
        )
        return np.stack([F @ G.T, G @ F.T])

    def image_vectors(self, images: NDArray[Any]) -> Vectors:
        """Give what is stored of images, (n, width)."""
        return self._store(self._see(images))

    def text_vectors(self, texts: csr_array) -> Vectors:
        """Give what is stored of texts, (n, width)."""
        return self._store(self._read(texts))

    def pair_vectors(self, images: NDArray[Any], texts: csr_array) -> Vectors:
        """Give what is stored of whole pairs, by what both sides say, (n, width)."""
        seen, read = self._see(images), self._read(texts)
        likeness = seen.likeness
        if self._pairs:
            likeness = self._pairs.join(seen.likeness, read.likeness)
        odds = seen.odds + read.odds
        return self._store(
            Side(seen.outputs, odds - self._prior if self._labels else odds, likeness)
        )

    def weigh_images(self, images: NDArray[Any]) -> QueryOrder:
        """Give how images as queries order candidates."""
        return self._order(self._weigh(self._see(images)))

    def weigh_texts(self, texts: csr_array) -> QueryOrder:
        """Give how texts as queries order candidates."""
        return self._order(self._weigh(self._read(texts)))

    def weigh_items(self, codes: Codes, vectors: Vectors) -> QueryOrder:
        """Give how items order candidates, by what is stored of them."""
        of_labels, alike = np.split(
            vectors.astype(float), [self.parts[0].count], axis=1
        )
        if self._labels:
            of_labels = self._labels.weights_of(of_labels)
        if self._pairs:
            alike = self._pairs.weights(alike * self._pairs.half_step)
        of_bits = codes.signs() / codes.bits
        return self._order(np.concatenate([of_bits, of_labels, alike], axis=1))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Give everything but the networks as plain arrays."""
        return {
            "ordering.prior": np.asarray(self._prior),
            "ordering.scales": np.array([*self.scales, self.pair_weight]),
            **(self._labels.to_arrays() if self._labels else {}),
            **(self._pairs.to_arrays() if self._pairs else {}),
        }

    @classmethod
    def from_arrays(
        cls, networks: Mapping[str, nn.Module], arrays: Mapping[str, NDArray[Any]]
    ) -> Self:
        """Read what `to_arrays` gave."""
        *scales, weight = arrays["ordering.scales"].tolist()
        labels = LabelNumbers.from_arrays(arrays) if "label_image" in networks else None
        pairs = PairNumbers.from_arrays(arrays) if "pair_image" in networks else None
        prior = arrays["ordering.prior"]
        return cls(networks, labels, pairs, prior, Scales(*scales), weight)

    def _order(self, weights: NDArray[Any]) -> QueryOrder:
        """Scale the parts of the score; the last counts above the threshold."""
        counts = [weights.shape[1] - self.width, *(part.count for part in self.parts)]
        codes, labels, pairs = (np.float32(1 / scale) for scale in self.scales)
        factors = np.repeat([codes, labels, pairs * self.pair_weight], counts)
        threshold = self.pair_weight * NEARLY_SAME
        return QueryOrder((weights * factors).astype("f4"), counts[-1], threshold)

    def _weigh(self, side: Side) -> Floats:
        """Give the weights of bits and numbers before any scaling."""
        of_bits = to_units(side.outputs) / np.sqrt(side.outputs.shape[1])
        of_labels = self._labels.weights(side.odds) if self._labels else side.odds
        alike = self._pairs.weights(side.likeness) if self._pairs else side.likeness
        return np.concatenate([of_bits, of_labels, alike], axis=1).astype(np.float32)

    def _store(self, side: Side) -> Vectors:
        odds, likeness = side.odds, side.likeness
        of_labels = self._labels.numbers(odds) if self._labels else odds
        alike = self._pairs.numbers(likeness) if self._pairs else likeness
        return np.concatenate([of_labels, alike], axis=1).astype(np.int8)

    def _see(self, images: NDArray[Any]) -> Side:
        def run(role: str) -> Floats:
            return batches.image_outputs(self._networks[role], images)

        none = np.zeros((len(images), 0), np.float32)
        odds = run("label_image") if self._labels else none
        pairs = self._pairs
        likeness = pairs.project_images(run("pair_image")) if pairs else none
        return Side(run("image"), odds, likeness)

    def _read(self, texts: csr_array) -> Side:
        def run(role: str) -> Floats:
            return batches.text_outputs(self._networks[role], texts)

        none = np.zeros((texts.shape[0], 0), np.float32)
        odds = run("label_text") if self._labels else none
        pairs = self._pairs
        likeness = pairs.project_texts(run("pair_text")) if pairs else none
        return Side(run("text"), odds, likeness)


def choose_pair_weight(
    ordering: PairOrdering, images: NDArray[Any], texts: csr_array, Y: NDArray[np.uint8]
) -> float | None:
    """Choose the largest weight of likeness that keeps what ordering gains.

    The gain is that of average precision, and of precision at 10, over the order of
    codes by distance alone; a fifth of each may be lost.

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
    codes, labels, pairs = (
        part / scale
        for part, scale in zip(
            ordering.score_parts(images, texts), ordering.scales, strict=True
        )
    )
    rest = np.maximum(pairs - NEARLY_SAME, 0)
    plain = _precision(ordering.agree(images, texts), shared)
    found = np.array(
        [_precision(codes + labels + each * rest, shared) for each in PAIR_WEIGHTS]
    )
    best = found.max(axis=0)
    least = best - (1 - KEPT) * np.maximum(best - plain, 0) - TOLERANCE
    keeps = (found >= least).all(axis=1)
    return PAIR_WEIGHTS[keeps.argmax()] if keeps.any() else PAIR_WEIGHTS[-1]


def _precision(sides: Floats, shared: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Give average precision and precision at 10, own pairs left out, (2,).

    Args:
        sides: What orders items, (directions, n, n).
        shared: Whether items share a label, (n, n).
    """
    others = ~np.eye(len(shared), dtype=np.bool_)
    found = []
    for scores in sides:
        ranking = np.argsort(-np.where(others, scores, -np.inf), axis=1, kind="stable")
        relevant = np.take_along_axis(shared, ranking[:, :-1], axis=1).astype(np.int64)
        counts = Histograms(np.ones_like(relevant), relevant)
        each = average_precision(counts), precision_at(counts, FIRST)
        found.append(np.nanmean(each, axis=1))
    return np.mean(found, axis=0)
