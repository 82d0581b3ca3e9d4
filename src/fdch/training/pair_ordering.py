"""Orders candidates by codes, by label probabilities and by how alike pairs are."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import nn

from fdch.codes import Codes
from fdch.evaluation.metrics import average_precision, ndcg_at, precision_at
from fdch.evaluation.ordering import QueryOrder, count_places, raise_best
from fdch.training import batches
from fdch.training.label_numbers import LabelNumbers
from fdch.training.ordering import Floats, Numbers, Ordering, Vectors, to_units
from fdch.training.pair_numbers import PairNumbers

# deviations above the mean from which on two items are nearly the same
NEARLY_SAME = 1.5
# weights to choose from, the usual ones first; labels count no more than codes, since
# a larger weight that is best among few pairs is not best in a large gallery
LABEL_WEIGHTS = (1.0, 0.7, 0.5, 0.35, 0.25, 0.125, 0.0)
PAIR_WEIGHTS = (0.5, 0.7, 0.35, 1.0, 0.25, 1.4, 0.18, 2.0, 0.125, 2.8, 0.06, 4.0)
# what measures count when weights are chosen: P@10 and NDCG@10 count 1
MAP_SHARE, PARTNER_SHARE = 3.0, 0.5
MAX_COMPARED = 1024  # pairs that scales and weights are chosen on
MIN_COMPARED = 100  # pairs with labels below which no weight is chosen
FIRST = 10


class Scales(NamedTuple):
    """Deviations of each part of the score between items of different pairs."""

    codes: float
    labels: float
    pairs: float


UNSCALED = Scales(1.0, 1.0, 1.0)


class Weights(NamedTuple):
    """What parts of the score count beside codes, which count 1."""

    labels: float = 1.0
    pairs: float = 0.5


USUAL_WEIGHTS = Weights()


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

    Each is divided by its deviation, then multiplied by its weight.

    Args:
        networks: By role: "image" and "text" for codes, "label_image" and "pair_image"
            and their like where there are such numbers.
        labels: The projection of label probabilities; None where there is none.
        pairs: The projection of what pairs have taught; None where there is none.
        prior: Log odds of each label, (classes,).
        scales: What the parts of the score are divided by.
        weights: What labels and likeness count.
    """

    def __init__(
        self,
        networks: Mapping[str, nn.Module],
        labels: LabelNumbers | None,
        pairs: PairNumbers | None,
        prior: NDArray[Any],
        scales: Scales = UNSCALED,
        weights: Weights = USUAL_WEIGHTS,
    ) -> None:
        self._networks, self._labels, self._pairs = networks, labels, pairs
        self._prior, self.scales, self.weights = prior, scales, weights
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
        """Return the parts of the score, not scaled and before any threshold.

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

    def image_vectors(self, images: NDArray[Any]) -> Vectors:
        """Return the numbers stored for images, (n, width)."""
        return self._store(self._see(images))

    def text_vectors(self, texts: csr_array) -> Vectors:
        """Return the numbers stored for texts, (n, width)."""
        return self._store(self._read(texts))

    def pair_vectors(self, images: NDArray[Any], texts: csr_array) -> Vectors:
        """Return the numbers stored for whole pairs, from both sides, (n, width)."""
        seen, read = self._see(images), self._read(texts)
        likeness = seen.likeness
        if self._pairs:
            likeness = self._pairs.join(seen.likeness, read.likeness)
        odds = seen.odds + read.odds
        return self._store(
            Side(seen.outputs, odds - self._prior if self._labels else odds, likeness)
        )

    def weigh_images(self, images: NDArray[Any]) -> QueryOrder:
        """Return how images as queries order candidates."""
        return self._order(self._weigh(self._see(images)))

    def weigh_texts(self, texts: csr_array) -> QueryOrder:
        """Return how texts as queries order candidates."""
        return self._order(self._weigh(self._read(texts)))

    def weigh_items(self, codes: Codes, vectors: Vectors) -> QueryOrder:
        """Return how items order candidates, by what is stored of them."""
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
        """Return everything but the networks as plain arrays."""
        return {
            "ordering.prior": np.asarray(self._prior),
            "ordering.scales": np.array([*self.scales, *self.weights]),
            **(self._labels.to_arrays() if self._labels else {}),
            **(self._pairs.to_arrays() if self._pairs else {}),
        }

    @classmethod
    def from_arrays(
        cls, networks: Mapping[str, nn.Module], arrays: Mapping[str, NDArray[Any]]
    ) -> Self:
        """Read what `to_arrays` gave."""
        scales = arrays["ordering.scales"].tolist()
        labels = LabelNumbers.from_arrays(arrays) if "label_image" in networks else None
        pairs = PairNumbers.from_arrays(arrays) if "pair_image" in networks else None
        prior = arrays["ordering.prior"]
        # runs of version 0.1.0 have the weight of likeness alone
        is_old = len(scales) == 4
        weights = Weights(pairs=scales[3]) if is_old else Weights(*scales[3:])
        return cls(networks, labels, pairs, prior, Scales(*scales[:3]), weights)

    def _order(self, weights: NDArray[Any]) -> QueryOrder:
        """Scale the parts of the score; the last counts above the threshold."""
        counts = [weights.shape[1] - self.width, *(part.count for part in self.parts)]
        codes, labels, pairs = (np.float32(1 / scale) for scale in self.scales)
        each = [codes, labels * self.weights.labels, pairs * self.weights.pairs]
        factors = np.repeat(each, counts)
        threshold = self.weights.pairs * NEARLY_SAME
        return QueryOrder((weights * factors).astype("f4"), counts[-1], threshold)

    def _weigh(self, side: Side) -> Floats:
        """Return the weights of bits and numbers before any scaling."""
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


def choose_weights(
    ordering: PairOrdering,
    images: NDArray[Any],
    texts: csr_array,
    Y: NDArray[np.uint8],
    label_weights: Sequence[float] = LABEL_WEIGHTS,
    pair_weights: Sequence[float] = PAIR_WEIGHTS,
) -> Weights | None:
    """Choose the weight of labels, then that of likeness.

    Labels get the weight that finds items with shared labels best: by the sum of 3
    times mAP, precision at 10 and NDCG at 10. Likeness gets the weight with the
    largest sum of these and half the recall of partners at 10.

    Args:
        ordering: With its scales.
        images: Image inputs of pairs that were not trained on.
        texts: Text inputs of the same pairs.
        Y: Their labels, (n, classes).
        label_weights: To choose from; of equally good ones the first.
        pair_weights: To choose from, likewise.

    Returns:
        None where fewer than 100 pairs share a label with another.
    """
    shared = (Y.astype(np.float32) @ Y.T.astype(np.float32)).astype(np.intp)
    np.fill_diagonal(shared, 0)  # partners are measured apart
    if shared.any(axis=1).sum() < MIN_COMPARED:
        return None
    codes, labels, pairs = (
        part / scale
        for part, scale in zip(
            ordering.score_parts(images, texts), ordering.scales, strict=True
        )
    )
    found = [measure_order(codes + each * labels, shared) for each in label_weights]
    label_weight = label_weights[int(np.argmax([each.labels for each in found]))]
    known, rest = codes + label_weight * labels, np.maximum(pairs - NEARLY_SAME, 0)
    found = [
        measure_order(raise_best(known, each * rest), shared) for each in pair_weights
    ]
    sums = [each.labels + PARTNER_SHARE * each.partners for each in found]
    return Weights(label_weight, pair_weights[int(np.argmax(sums))])


class OrderScores(NamedTuple):
    """How good an order is, the mean of both directions."""

    labels: float  # 3 times mAP, precision at 10 and NDCG at 10, added up
    partners: float  # share of queries whose other half is among the first 10


def measure_order(sides: Floats, shared: NDArray[np.intp]) -> OrderScores:
    """Measure an order of some pairs; a query's own pair counts for partners alone.

    Args:
        sides: What orders items, the largest first, (directions, n, n).
        shared: How many labels items share, (n, n); 0 for an item and itself.
    """
    own = np.eye(len(shared), dtype=np.bool_)
    labels, partners = [], []
    for scores in sides:
        ranking = np.argsort(-np.where(own, -np.inf, scores), axis=1, kind="stable")
        places = np.empty(scores.shape, np.uint16)
        np.put_along_axis(places, ranking, np.arange(len(own), dtype=np.uint16), axis=1)
        counts = count_places(places, shared, len(own) - 1)  # the last is the own pair
        first = precision_at(counts, FIRST), ndcg_at(counts, FIRST)
        means = np.nanmean([MAP_SHARE * average_precision(counts), *first], axis=1)
        labels.append(means.sum())
        nearer = (scores > scores[own][:, None]).sum(axis=1)
        partners.append((nearer < FIRST).mean())
    return OrderScores(float(np.mean(labels)), float(np.mean(partners)))
