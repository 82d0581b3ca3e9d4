"""Folds of a training part: most pairs to learn from, some to score."""

from typing import NamedTuple

import numpy as np

from fdch.data.pairs import PairedSet
from fdch.data.splits import Split
from fdch.errors import DataError, LabelError
from fdch.training.randomness import derive_seed

FOLDS = 5
MAX_HELD_OUT = 2000  # more would cost time and say no more


class Fold(NamedTuple):
    """Pairs to learn from, and pairs to score."""

    train: PairedSet
    held_out: PairedSet


class Folds:
    """A training part in folds, each made when it is needed.

    Args:
        pairs: The training and validation pairs of a split, never its queries.
        seed: Of the draw.
    """

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
