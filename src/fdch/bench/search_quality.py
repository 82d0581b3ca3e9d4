"""How good a run's search is: with and without re-ranking, and as sure as it says.

Asked are pairs that the run has not seen in any way: neither for training, nor for
validation, nor as the queries that `fdch evaluate` scores. They are searched in
the other such pairs.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fdch.codes import binarize, hamming_distances, weighted_distances
from fdch.errors import DataError, SettingError
from fdch.evaluation import Histograms, chance
from fdch.evaluation.calibration import Calibration, calibration_error
from fdch.retrieval.params import SearchParams
from fdch.runs.encoding import real_outputs
from fdch.runs.method_scores import read_own_pairs, training_facts
from fdch.runs.run import Run
from fdch.training.context import PLAIN, Context

TOP, LONG = 10, 100
MIN_PAIRS = 20
# what asks, and what is asked
TURNS = (("image", "pair"), ("text", "pair"), ("image", "text"), ("text", "image"))


@dataclass(frozen=True, eq=False)
class _Turn:
    """One query at a time, its candidates nearest first."""

    distances: NDArray[np.uint16]  # (gallery,)
    weighted: NDArray[np.float32]  # (gallery,)
    relevant: NDArray[np.bool_]  # (gallery,)

    def order(self, k: int, rerank: bool) -> NDArray[np.intp]:
        """Order as the search does."""
        ranked = np.argsort(self.distances, kind="stable")
        if not rerank:
            return ranked[:k]
        ranked = ranked[: SearchParams(k, rerank=True).candidates]
        return ranked[np.argsort(self.weighted[ranked], kind="stable")][:k]


def search_quality(
    run: Run, queries: int = 500, seed: int = 0, context: Context = PLAIN
) -> dict[str, Any]:
    """Search a run's unseen pairs with some of them.

    Args:
        run: A run whose data is still where it was.
        queries: Pairs to ask with, at most a quarter of those unseen.
        seed: Of their choice.
        context: Device and progress.

    Returns:
        Plain values: precision of the first ten, average precision of the first
        hundred (mean over queries), and the calibration error of the first ten,
        each without and with re-ranking; and what random codes would score.
    """
    if queries < 1:
        raise SettingError(f"give 1 query or more; got {queries}.")
    known = training_facts(run)
    pairs = read_own_pairs(run, context=context)
    rows = run.split().rows(pairs)
    seen = np.concatenate([rows.train, rows.validation])
    unseen = np.setdiff1d(rows.database, seen)
    unseen = unseen[(pairs.images.present & pairs.texts.present)[unseen]]
    unseen = unseen[pairs.labels[unseen].any(axis=1)]
    if len(unseen) < MIN_PAIRS:
        raise DataError(
            f"'{known['source']}' has {len(unseen)} labelled pairs that the run has "
            f"not seen; {MIN_PAIRS} are needed. Train on fewer: --train-pairs."
        )
    chosen = np.random.default_rng(seed).permutation(unseen)
    number = min(queries, len(chosen) // 4)
    asked, gallery = pairs[np.sort(chosen[:number])], pairs[np.sort(chosen[number:])]
    asking = real_outputs(run.method, asked, context)
    codes = {
        kind: binarize(outputs)
        for kind, outputs in real_outputs(run.method, gallery, context).items()
    }
    relevant = asked.labels.astype(np.float32) @ gallery.labels.T.astype(np.float32) > 0
    turns = {}
    for side, kind in TURNS:
        if kind in codes:
            plain = hamming_distances(binarize(asking[side]), codes[kind])
            weighted = weighted_distances(asking[side], codes[kind])
            each = [_Turn(*row) for row in zip(plain, weighted, relevant, strict=True)]
            turns[f"{side}_to_{kind}"] = {
                name: _figures(each, rerank, run.calibration, side, kind)
                for name, rerank in (("plain", False), ("reranked", True))
            }
    return {
        "run": str(run.folder),
        "method": run.name,
        "bits": run.method.bits,
        "model": run.fingerprint,
        "data": pairs.fingerprint,
        "queries": len(asked),
        "gallery": len(gallery),
        "chance": _chance(relevant),
        "turns": turns,
    }


def _chance(relevant: NDArray[np.bool_]) -> dict[str, float]:
    """Give what random codes score, by the names that `_figures` has."""
    answers = relevant.sum(axis=1, keepdims=True, dtype=np.int64)
    counts = Histograms(np.full_like(answers, relevant.shape[1]), answers)
    averages = np.nan_to_num(chance(counts, LONG))  # 0 where nothing is relevant
    return {
        f"precision_at_{TOP}": float(relevant.mean()),
        f"map_at_{LONG}": float(averages.mean()),
    }


def _figures(
    turns: list[_Turn],
    rerank: bool,
    calibration: Calibration | None,
    side: str,
    kind: str,
) -> dict[str, float | None]:
    precisions, averages = [], []
    said: list[float | None] = []
    true: list[bool] = []
    for turn in turns:
        first = turn.order(TOP, rerank)
        precisions.append(turn.relevant[first].mean())
        averages.append(_average(turn.relevant[turn.order(LONG, rerank)]))
        if calibration is not None:
            measured = (turn.weighted if rerank else turn.distances)[first]
            kinds = [kind] * len(first)
            said += calibration.probabilities(side, kinds, measured, rerank)
            true += turn.relevant[first].tolist()
    is_known = bool(said) and None not in said
    return {
        f"precision_at_{TOP}": float(np.mean(precisions)),
        f"map_at_{LONG}": float(np.mean(averages)),
        "said": float(np.mean(np.array(said, float))) if is_known else None,
        "calibration_error": (
            calibration_error(np.array(said, float), true) if is_known else None
        ),
    }


def _average(relevant: NDArray[np.bool_]) -> float:
    """Give the mean of the precisions at the relevant ranks."""
    precisions = np.cumsum(relevant) / np.arange(1, len(relevant) + 1)
    return float(precisions[relevant].mean()) if relevant.any() else 0.0
