"""Folds of a training part, and scores of the pairs held out of each."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes
from fdch.data.pairs import PairedSet
from fdch.data.splits import Split
from fdch.errors import DataError, LabelError
from fdch.evaluation import (
    Histograms,
    average_precision,
    distance_histograms,
    precision_at,
)
from fdch.methods._base import HashMethod
from fdch.runs.encoding import encode_pairs
from fdch.training.context import PLAIN, Context
from fdch.training.randomness import derive_seed

FOLDS = 5
MAX_HELD_OUT = 2000  # more would cost time and say no more


class Fold(NamedTuple):
    """Pairs to learn from, and pairs to score."""

    train: PairedSet
    held_out: PairedSet


class Folds:
    """The training part of a split, never its queries, in folds made when needed."""

    def __init__(self, pairs: PairedSet, seed: int) -> None:
        if not pairs.labels.any():
            raise LabelError(
                f"none of the {len(pairs):,} training pairs of '{pairs.name}' has a "
                "label; settings are compared by results that share one. Give data "
                "with labels."
            )
        self.held_out = min(len(pairs) // FOLDS, MAX_HELD_OUT)
        if self.held_out < 2:
            raise DataError(
                f"{len(pairs)} training pairs are too few for {FOLDS} folds of 2 or "
                "more. Give more pairs."
            )
        self._pairs = pairs
        rng = np.random.default_rng(derive_seed(seed, "folds"))
        self._order = rng.permutation(len(pairs))

    def __getitem__(self, number: int) -> Fold:
        """Give a fold, 0 to 4."""
        start = number * self.held_out
        held_out = np.zeros(len(self._pairs), dtype=bool)
        held_out[self._order[start : start + self.held_out]] = True
        return Fold(self._pairs[~held_out], self._pairs[held_out])


def training_part(pairs: PairedSet, split: Split) -> PairedSet:
    """Give the training and validation pairs of a split, in the data's order."""
    rows = split.rows(pairs, check=False)
    return pairs[np.sort(np.concatenate([rows.train, rows.validation]))]


FIRST = 10  # ranks that a person looks at


def score_held_out(
    method: HashMethod, pairs: PairedSet, context: Context = PLAIN
) -> NDArray[np.float64]:
    """Score every held-out pair as a query against all the others.

    Returns:
        For each pair that shares a label with another one: (AP + precision at 10)
        / 2, averaged over both directions and, where the method has unified codes,
        over both galleries.
    """
    counts = _all_counts(method, pairs, context).values()
    scores = np.mean(
        [(average_precision(each) + precision_at(each, FIRST)) / 2 for each in counts],
        axis=0,
    )
    known = scores[~np.isnan(scores)]
    if not len(known):
        raise LabelError(
            f"no two of {len(pairs):,} held-out pairs share a label, so settings "
            "cannot be compared. Give more pairs, or labels that occur more often."
        )
    return known


def measure_held_out(
    method: HashMethod, pairs: PairedSet, context: Context = PLAIN
) -> dict[str, dict[str, dict[str, float]]]:
    """Give mAP and precision at 10 of held-out pairs, by gallery and direction."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for (gallery, direction), counts in _all_counts(method, pairs, context).items():
        found.setdefault(gallery, {})[direction] = {
            "map": float(np.nanmean(average_precision(counts))),
            f"precision_at_{FIRST}": float(np.nanmean(precision_at(counts, FIRST))),
        }
    return found


def _all_counts(
    method: HashMethod, pairs: PairedSet, context: Context
) -> dict[tuple[str, str], Histograms]:
    """Count in both directions, and in both galleries where the method has them."""
    coded = encode_pairs(method, pairs, context)
    sides = {"image_to_text": coded.image, "text_to_image": coded.text}
    galleries = {"modality": (coded.text, coded.image)}
    if coded.unified is not None:
        galleries["unified"] = (coded.unified, coded.unified)
    return {
        (gallery, direction): _count_others(queries, searched, pairs.labels)
        for gallery, codes in galleries.items()
        for (direction, queries), searched in zip(sides.items(), codes, strict=True)
    }


def _count_others(
    queries: Codes, gallery: Codes, labels: NDArray[np.uint8]
) -> Histograms:
    """Count items by distance, without the query's own pair."""
    counts = distance_histograms(queries, gallery, labels, labels)
    differing = np.bitwise_count(queries.packed ^ gallery.packed)
    own = differing.sum(axis=1, dtype=np.intp)
    rows = np.arange(len(own))
    counts.items[rows, own] -= 1
    counts.relevant[rows, own] -= labels.any(axis=1)
    return counts
