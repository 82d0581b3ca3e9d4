"""Orders candidates by codes, by label probabilities and by how alike pairs are.

Two items with label probabilities p and q share a label with probability
1 - Π (1 - p q). Its logarithm is close to an inner product of -log(1 - s p) and
-log(1 - s q) over the labels. Likeness is the cosine of what the two sides of a pair
have learned to have in common, each centred. Items keep both in a few bytes.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit
from torch import nn

from fdch.codes import Codes
from fdch.evaluation.metrics import average_precision, ndcg_at, precision_at
from fdch.evaluation.ordering import QueryOrder, VectorPart, count_places, raise_best
from fdch.training import batches
from fdch.training.ordering import Floats, Ordering, Vectors, to_units
from fdch.training.quantizer import CENTRES, fit_books, quantize, restore
from fdch.training.saved_arrays import LARGEST, take

CERTAINTY = 0.9  # s, so that a certain label does not outweigh all others
# deviations above the mean from which on two items are nearly the same
NEARLY_SAME = 1.5
# weights to choose from, the usual ones first; labels count no more than codes, since
# a larger weight that is best among few pairs is not best in a large gallery
LABEL_WEIGHTS = (1.0, 0.7, 0.5, 0.35, 0.25, 0.125, 0.0)
PAIR_WEIGHTS = (0.5, 0.7, 0.35, 1.0, 0.25, 1.4, 0.18, 2.0, 0.125, 2.8, 0.06, 4.0)
# what measures count when weights are chosen: P@10 and NDCG@10 count 1
MAP_SHARE, PARTNER_SHARE = 3.0, 0.5
MAX_FITTED = 4096  # pairs that centres are found on
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
    """What is stored of some items of one side; no columns without a network."""

    odds: Floats  # log odds of labels, (n, classes)
    likeness: Floats  # of length 1, less the mean of the side, (n, pair width)


class PairOrdering(Ordering):
    """Adds up the cosine of codes, the labels shared and, above a threshold, likeness.

    Each is divided by its deviation, then multiplied by its weight. The networks go by
    their roles: "image" and "text" for codes, "label_image" and "pair_image" and their
    like where labels and likeness are stored. `prior` has the log odds of each label.
    """

    def __init__(self, networks: Mapping[str, nn.Module], prior: NDArray[Any]) -> None:
        self._networks, self._prior = networks, prior
        none = np.zeros((0, CENTRES, 0), np.float32)
        self.label_books: Floats = none  # of what is stored of labels
        self.pair_books: Floats = none  # of likeness
        self.means: tuple[Any, ...] = (0, 0)  # of likeness of images and of texts
        self.scales, self.weights = UNSCALED, USUAL_WEIGHTS

    @property
    def bytes(self) -> int:
        """Bytes of a vector."""
        return len(self.label_books) + len(self.pair_books)

    @classmethod
    def fit(
        cls,
        networks: Mapping[str, nn.Module],
        sizes: tuple[int, int],
        images: NDArray[Any],
        texts: csr_array,
        Y: NDArray[np.uint8],
        seed: int = 0,
    ) -> Self:
        """Find centres and scales on training pairs.

        Args:
            networks: Trained, by role.
            sizes: Bytes for labels, bytes for likeness.
            images: Image inputs of some pairs.
            texts: Text inputs of the same pairs.
            Y: Labels of all training pairs, (n, classes).
            seed: Where random numbers come from.
        """
        share = Y[Y.any(axis=1)].mean(axis=0) if Y.any() else np.zeros(Y.shape[1])
        share = np.clip(share, 1e-4, 1 - 1e-4)
        made = cls(networks, np.log(share / (1 - share)))
        sides = made._image_side(images), made._text_side(texts)
        made.means = tuple(side.likeness.mean(axis=0) for side in sides)
        odds = np.concatenate([side.odds for side in sides])
        likeness = np.concatenate(
            [side.likeness - mean for side, mean in zip(sides, made.means, strict=True)]
        )
        made.label_books, made.pair_books = (
            fit_books(values, count if values.shape[1] else 0, seed)
            for values, count in zip((spread_odds(odds), likeness), sizes, strict=True)
        )
        rows = choose_rows(len(images), MAX_COMPARED)
        between = ~np.eye(len(rows), dtype=np.bool_)
        deviations = [
            float(part[:, between].std()) if between.any() else 0.0
            for part in made.score_parts(images[rows], texts[rows])
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
        sides = self._image_side(images), self._text_side(texts)
        outputs = self._run("image", images), self._run("text", texts)
        queries = list(map(self._weigh, outputs, sides))
        items = [
            (np.where(own >= 0, 1, -1), *self._restore(self._store(side)))
            for own, side in zip(outputs, sides, strict=True)
        ]
        codes, labels, likeness = (
            np.stack(
                [
                    own[part] @ np.asarray(other[part], np.float32).T
                    for own, other in zip(queries, items[::-1], strict=True)
                ]
            )
            for part in range(3)
        )
        return codes, labels, likeness

    def image_vectors(self, images: NDArray[Any]) -> Vectors:
        """Return what is stored for images, (n, bytes)."""
        return self._store(self._image_side(images))

    def text_vectors(self, texts: csr_array) -> Vectors:
        """Return what is stored for texts, (n, bytes)."""
        return self._store(self._text_side(texts))

    def pair_vectors(self, images: NDArray[Any], texts: csr_array) -> Vectors:
        """Return what is stored for whole pairs, from both sides, (n, bytes).

        Its likeness lies between those of both sides and is as long as these on
        average.
        """
        image, text = self._image_side(images), self._text_side(texts)
        odds = image.odds + text.odds
        if odds.shape[1]:
            odds = odds - self._prior
        lengths = [np.linalg.norm(side.likeness, axis=1) for side in (image, text)]
        middle = to_units(image.likeness + text.likeness)
        likeness = middle * ((lengths[0] + lengths[1]) / 2)[:, None]
        return self._store(Side(odds, likeness))

    def weigh_images(
        self, images: NDArray[Any], outputs: Floats | None = None
    ) -> QueryOrder:
        """Return how images as queries order candidates."""
        outputs = self._run("image", images) if outputs is None else outputs
        return self._order(*self._weigh(outputs, self._image_side(images)))

    def weigh_texts(
        self, texts: csr_array, outputs: Floats | None = None
    ) -> QueryOrder:
        """Return how texts as queries order candidates."""
        outputs = self._run("text", texts) if outputs is None else outputs
        return self._order(*self._weigh(outputs, self._text_side(texts)))

    def weigh_items(self, codes: Codes, vectors: Vectors) -> QueryOrder:
        """Return how items order candidates, by what is stored of them."""
        labels, likeness = self._restore(vectors)
        of_bits = codes.signs().astype(np.float32) / np.float32(codes.bits)
        return self._order(of_bits, labels, to_units(likeness))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything but the networks as plain arrays."""
        return {
            "ordering.prior": np.asarray(self._prior),
            "ordering.means": np.stack(self.means),
            "ordering.label_books": self.label_books,
            "ordering.pair_books": self.pair_books,
            "ordering.scales": np.array([*self.scales, *self.weights]),
        }

    @classmethod
    def from_arrays(
        cls,
        networks: Mapping[str, nn.Module],
        arrays: Mapping[str, NDArray[Any]],
        labels: tuple[int, int],
        pairs: tuple[int, int],
    ) -> Self:
        """Read what `to_arrays` gave; arrays of another shape are a ValueError.

        `labels` are the bytes for labels and their number, `pairs` the bytes for
        likeness and its width.
        """
        made = cls(networks, arrays["ordering.prior"])
        if labels[0]:  # else it counts nowhere, whatever labels there were
            take(arrays, "ordering.prior", labels[1])
        width = pairs[1] if pairs[0] else 0
        made.means = tuple(take(arrays, "ordering.means", 2, width))
        made.label_books = _take_books(arrays, "ordering.label_books", *labels)
        made.pair_books = _take_books(arrays, "ordering.pair_books", *pairs)
        scales = take(arrays, "ordering.scales", 5).tolist()
        if min(scales[:3]) < 1 / LARGEST or min(scales[3:]) < 0:
            raise ValueError(f"ordering.scales are {scales}")
        made.scales, made.weights = Scales(*scales[:3]), Weights(*scales[3:])
        return made

    def _order(self, of_bits: Floats, labels: Floats, likeness: Floats) -> QueryOrder:
        """Scale the parts of the score; the last counts above the threshold."""
        factors = np.array([1, *self.weights]) / self.scales
        by_codes, by_labels, by_likeness = factors.astype(np.float32)
        threshold = self.weights.pairs * NEARLY_SAME
        return QueryOrder(
            by_codes * of_bits,
            (
                VectorPart(by_labels * labels, self.label_books),
                VectorPart(by_likeness * likeness, self.pair_books, threshold),
            ),
        )

    def _weigh(self, outputs: Floats, side: Side) -> tuple[Floats, Floats, Floats]:
        """Return the weights of bits, labels and likeness before any scaling."""
        of_bits = to_units(outputs) / np.float32(np.sqrt(outputs.shape[1]))
        return of_bits, spread_odds(side.odds), to_units(side.likeness)

    def _store(self, side: Side) -> Vectors:
        labels = quantize(spread_odds(side.odds), self.label_books)
        return np.hstack([labels, quantize(side.likeness, self.pair_books)])

    def _restore(self, vectors: Vectors) -> tuple[Floats, Floats]:
        """Return labels and likeness as they are stored."""
        labels, likeness = np.split(vectors, [len(self.label_books)], axis=1)
        return (
            restore(labels, self.label_books),
            restore(likeness, self.pair_books),
        )

    def _image_side(self, images: NDArray[Any]) -> Side:
        likeness = to_units(self._run("pair_image", images)) - self.means[0]
        return Side(self._run("label_image", images), likeness)

    def _text_side(self, texts: csr_array) -> Side:
        likeness = to_units(self._run("pair_text", texts)) - self.means[1]
        return Side(self._run("label_text", texts), likeness)

    def _run(self, role: str, inputs: NDArray[Any] | csr_array) -> Floats:
        """Return what a network says; no columns where there is none of its role."""
        if (network := self._networks.get(role)) is None:
            return np.zeros((inputs.shape[0], 0), np.float32)
        if role.endswith("text"):
            return batches.text_outputs(network, inputs)
        return batches.image_outputs(network, inputs)


def _take_books(
    arrays: Mapping[str, NDArray[Any]], name: str, count: int, width: int
) -> Floats:
    """Return the centres of so many bytes; no columns where there are no bytes."""
    found = take(arrays, name, count, CENTRES, width if count else 0)
    return found.astype(np.float32, copy=False)


def choose_rows(count: int, most: int) -> NDArray[np.intp]:
    """Return rows evenly spaced among so many, as many as are wanted at most."""
    return np.linspace(0, count - 1, min(count, most)).astype(np.intp)


def spread_odds(log_odds: NDArray[Any]) -> Floats:
    """Return -log(1 - s p) of probabilities p by their log odds.

    >>> spread_odds(np.array([0.0])).round(3).tolist()  # -log(1 - 0.9 / 2)
    [0.5979999899864197]
    """
    p = expit(np.asarray(log_odds, np.float64))
    return np.asarray(-np.log1p(-CERTAINTY * p), np.float32)


def choose_weights(
    ordering: PairOrdering,
    images: NDArray[Any],
    texts: csr_array,
    Y: NDArray[np.uint8],
    label_weights: Sequence[float] = LABEL_WEIGHTS,
    pair_weights: Sequence[float] = PAIR_WEIGHTS,
) -> Weights | None:
    """Choose the weight of labels, then that of likeness, on pairs not trained on.

    Labels get the weight that finds items with shared labels best: by the sum of 3
    times mAP, precision at 10 and NDCG at 10. Likeness gets the weight with the
    largest sum of these and half the recall of partners at 10. Of equally good weights
    the first is taken. Returns None where fewer than 100 pairs share a label with
    another.
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
