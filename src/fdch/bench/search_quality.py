"""How good a run's search is, with and without re-ranking, and its probabilities.

Queries are pairs that the run has not seen in any way: neither for training, nor
for validation, nor as the queries that `fdch evaluate` scores. They are searched in
the other such pairs.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fdch.codes import binarize, hamming_distances, weighted_distances
from fdch.data.pairs import PairedSet
from fdch.errors import DataError
from fdch.evaluation import Histograms, chance
from fdch.evaluation.calibration.model import Calibration, QueryFacts
from fdch.evaluation.calibration.reliability import measure_reliability
from fdch.retrieval.ordering import Real, count_ordered, find_ordering
from fdch.runs.encoding import encode_pairs, encode_sides, real_outputs
from fdch.runs.method_scores import read_own_pairs, training_facts
from fdch.runs.run import Run
from fdch.training.context import PLAIN, Context

TOP, LONG = 10, 100
MIN_PAIRS = 20
PLAIN_WAY, BY_BITS, BY_VECTORS = "plain", "reranked", "by_vectors"
# the query's side, and what is searched
TURNS = (("image", "pair"), ("text", "pair"), ("image", "text"), ("text", "image"))


class _Query(NamedTuple):
    """One query beside all items of the gallery."""

    distances: NDArray[np.uint16]  # (gallery,)
    ordered: NDArray[np.float32]  # (gallery,), what candidates are ordered by
    relevant: NDArray[np.bool_]  # (gallery,)
    facts: QueryFacts

    def order(self, k: int, way: str) -> NDArray[np.intp]:
        """Order as the search does."""
        ranked = np.argsort(self.distances, kind="stable")
        if way == PLAIN_WAY:
            return ranked[:k]
        first = ranked[: count_ordered(self.distances[ranked], way == BY_VECTORS)]
        ranked[: len(first)] = first[np.argsort(self.ordered[first], kind="stable")]
        return ranked[:k]


def search_quality(
    run: Run, queries: int = 500, seed: int = 0, context: Context = PLAIN
) -> dict[str, Any]:
    """Search a run's unseen pairs with some of them, at most a quarter.

    Returns:
        Precision of the first ten, average precision of the first hundred (mean
        over queries), and the calibration error of the first ten, each without and
        with re-ranking, and in the order of vectors where the method gives some; and
        what random codes would score.
    """
    pairs = read_own_pairs(run, context=context)
    unseen = np.random.default_rng(seed).permutation(unseen_rows(run, pairs))
    number = min(queries, len(unseen) // 4)
    query, gallery = pairs[np.sort(unseen[:number])], pairs[np.sort(unseen[number:])]
    encoded = encode_sides(run.method, query, context)
    codes = {
        kind: binarize(values)
        for kind, values in real_outputs(run.method, gallery, context).items()
    }
    by_vectors = _score_by_vectors(run, query, gallery, context)
    relevant = query.labels.astype(np.float32) @ gallery.labels.T.astype(np.float32) > 0
    turns = {}
    for side, kind in TURNS:
        if kind in codes:
            outputs = encoded.outputs[side]
            plain = hamming_distances(binarize(outputs), codes[kind])
            words = encoded.words.tolist() if side == "text" else [None] * len(query)
            facts = [*map(partial(QueryFacts, side), outputs, words)]
            ways = {PLAIN_WAY: plain.astype(np.float32)}
            ways[BY_BITS] = weighted_distances(outputs, codes[kind])
            if (side, kind) in by_vectors:
                ways[BY_VECTORS] = -by_vectors[side, kind]
            turns[f"{side}_to_{kind}"] = {
                way: _figures(
                    [*map(_Query, plain, ordered, relevant, facts)],
                    way,
                    run.calibration,
                    kind,
                )
                for way, ordered in ways.items()
            }
    return {
        "run": str(run.folder),
        "method": run.name,
        "bits": run.method.bits,
        "model": run.fingerprint,
        "data": pairs.fingerprint,
        "queries": len(query),
        "gallery": len(gallery),
        "chance": _chance(relevant),
        "turns": turns,
    }


def _score_by_vectors(
    run: Run, query: PairedSet, gallery: PairedSet, context: Context
) -> dict[tuple[str, str], Real]:
    """Return what the method orders by, (queries, gallery), by side and kind."""
    if find_ordering(run.method) is None:
        return {}
    queries, stored = (
        encode_pairs(run.method, part, context).with_labels(part.labels)
        for part in (query, gallery)
    )
    kinds = {"image": stored.image, "text": stored.text, "pair": stored.unified}
    return {
        (side, kind): order.score(found.codes, found.vectors)
        for side, order in (
            ("image", queries.image.order),
            ("text", queries.text.order),
        )
        for kind, found in kinds.items()
        if order is not None and found is not None
    }


def unseen_rows(run: Run, pairs: PairedSet) -> NDArray[np.int64]:
    """Return the rows of whole, labelled pairs that the run has not seen."""
    rows = run.split().rows(pairs)
    seen = np.concatenate([rows.train, rows.validation])
    unseen = np.setdiff1d(rows.database, seen)
    is_whole = pairs.images.present & pairs.texts.present & pairs.labels.any(axis=1)
    unseen = unseen[is_whole[unseen]]
    if len(unseen) < MIN_PAIRS:
        source = training_facts(run)["source"]
        raise DataError(
            f"'{source}' has {len(unseen)} labelled pairs that the run has "
            f"not seen; {MIN_PAIRS} are needed. Train on fewer: --train-pairs."
        )
    return unseen


def _chance(relevant: NDArray[np.bool_]) -> dict[str, float]:
    """Return what random codes score, by the names that `_figures` has."""
    answers = relevant.sum(axis=1, keepdims=True, dtype=np.int64)
    counts = Histograms(np.full_like(answers, relevant.shape[1]), answers)
    averages = np.nan_to_num(chance(counts, LONG))  # 0 where nothing is relevant
    return {
        f"precision_at_{TOP}": float(relevant.mean()),
        f"map_at_{LONG}": float(averages.mean()),
    }


def _figures(
    queries: Sequence[_Query],
    way: str,
    calibration: Calibration | None,
    kind: str,
) -> dict[str, float | None]:
    precisions, averages = [], []
    said: list[float | None] = []
    true: list[bool] = []
    for query in queries:
        first = query.order(TOP, way)
        precisions.append(query.relevant[first].mean())
        averages.append(_average(query.relevant[query.order(LONG, way)]))
        if calibration is not None:
            is_weighted = way == BY_BITS  # probabilities are known for both
            measured = (query.ordered if is_weighted else query.distances)[first]
            kinds, items = [kind] * len(first), len(query.relevant)
            score = "weighted" if is_weighted else "plain"
            said += calibration.probabilities(
                query.facts, kinds, measured, items, score
            )
            true += query.relevant[first].tolist()
    held = None
    if said and None not in said:
        held = measure_reliability(np.array(said, float), true)
    return {
        f"precision_at_{TOP}": float(np.mean(precisions)),
        f"map_at_{LONG}": float(np.mean(averages)),
        "said": None if held is None else held.stated,
        "calibration_error": None if held is None else held.error,
    }


def _average(relevant: NDArray[np.bool_]) -> float:
    """Return the mean of the precisions at the relevant ranks."""
    precisions = np.cumsum(relevant) / np.arange(1, len(relevant) + 1)
    return float(precisions[relevant].mean()) if relevant.any() else 0.0
