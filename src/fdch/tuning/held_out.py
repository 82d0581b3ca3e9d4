"""Folds of a training part, and scores of the pairs held out of each."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fdch.codes import hamming_distances
from fdch.data.pairs import PairedSet
from fdch.data.splits import Split
from fdch.errors import DataError, LabelError
from fdch.evaluation import Coded, average_precision, precision_at
from fdch.evaluation.metrics import ndcg_at
from fdch.evaluation.ordering import count_places, place_items
from fdch.evaluation.partner import PartnerPlaces
from fdch.methods._base import HashMethod
from fdch.runs.encoding import encode_pairs
from fdch.training.context import PLAIN, Context
from fdch.training.randomness import derive_seed

FOLDS = 5
MAX_HELD_OUT = 2000  # more would only cost time
FIRST = 10  # ranks that a person looks at
QUERIES_PER_BLOCK = 256
PRECISION, PARTNER = f"precision_at_{FIRST}", f"partner_recall_at_{FIRST}"
Columns = dict[str, NDArray[np.float64]]  # one number to each query


class Fold(NamedTuple):
    """Pairs to learn from, and pairs to score."""

    train: PairedSet
    held_out: PairedSet

    def divide(self) -> tuple[PairedSet, PairedSet]:
        """Return pairs to train on and pairs for validation: one in ten, as in a run.

        FDCH+ chooses on the latter how it orders results.
        """
        is_validation = np.arange(len(self.train)) % 10 == 9
        return self.train[~is_validation], self.train[is_validation]


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
        """Return a fold, 0 to 4."""
        start = number * self.held_out
        held_out = np.zeros(len(self._pairs), dtype=bool)
        held_out[self._order[start : start + self.held_out]] = True
        return Fold(self._pairs[~held_out], self._pairs[held_out])


def training_part(pairs: PairedSet, split: Split) -> PairedSet:
    """Return the training and validation pairs of a split, in the data's order."""
    rows = split.rows(pairs, check=False)
    return pairs[np.sort(np.concatenate([rows.train, rows.validation]))]


def score_held_out(
    method: HashMethod, pairs: PairedSet, context: Context = PLAIN
) -> NDArray[np.float64]:
    """Score every held-out pair as a query against all the others.

    Returns:
        For each pair that shares a label with another one: (AP + precision at 10)
        / 2, averaged over both directions and, where the method has unified codes,
        over both galleries.
    """
    columns = _score_queries(method, pairs, context).values()
    scores = np.mean([(each["map"] + each[PRECISION]) / 2 for each in columns], axis=0)
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
    """Return means over held-out pairs, by gallery, direction and measure."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for (gallery, direction), columns in _score_queries(method, pairs, context).items():
        found.setdefault(gallery, {})[direction] = {
            name: float(np.nanmean(values)) for name, values in columns.items()
        }
    return found


def _score_queries(
    method: HashMethod, pairs: PairedSet, context: Context
) -> dict[tuple[str, str], Columns]:
    """Score in both directions, and in both galleries where the method has them."""
    coded = encode_pairs(method, pairs, context).with_labels(pairs.labels)
    sides = {"image_to_text": coded.image, "text_to_image": coded.text}
    galleries = {"modality": (coded.text, coded.image)}
    if coded.unified is not None:
        galleries["unified"] = (coded.unified, coded.unified)
    found = {}
    for gallery, searched in galleries.items():
        for (direction, queries), items in zip(sides.items(), searched, strict=True):
            blocks = list(_score_blocks(queries, items))
            columns = {
                name: np.concatenate([block[name] for block in blocks])
                for name in blocks[0]
            }
            if gallery == "unified":  # which holds the query's own half
                del columns[PARTNER]
            found[gallery, direction] = columns
    return found


def _score_blocks(queries: Coded, items: Coded) -> Iterator[Columns]:
    """Score some queries at a time against all items but their own pair.

    Items count by distance, or by place where the method orders candidates.
    """
    labels = queries.labels.astype(np.float32)
    for start in range(0, len(queries.codes), QUERIES_PER_BLOCK):
        rows = np.arange(start, min(start + QUERIES_PER_BLOCK, len(queries.codes)))
        block = queries.take(rows)
        places: NDArray[np.integer[Any]]
        if block.order is None:
            places = hamming_distances(block.codes, items.codes)
        else:
            places = place_items(block, items, candidates=len(items.codes))
        each = np.arange(len(rows))
        own = places[each, rows][:, None]
        partner = PartnerPlaces((places < own).sum(axis=1), (places == own).sum(axis=1))
        columns = int(places.max()) + 1
        places[each, rows] = columns  # which is left out
        shared = (labels[rows] @ labels.T).astype(np.intp)
        counts = count_places(places, shared, columns)
        yield {
            "map": average_precision(counts),
            PRECISION: precision_at(counts, FIRST),
            f"ndcg_at_{FIRST}": ndcg_at(counts, FIRST),
            PARTNER: partner.found_by(FIRST),
        }
