"""Speed of the evaluation, beside the per-query sort that this field copies."""

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fdch.bench.timing import ratio, seconds, spread, take_turns
from fdch.codes import Codes, binarize
from fdch.evaluation.histograms import distance_histograms, engine_name
from fdch.evaluation.scoring import evaluate_codes
from fdch.machine import peak_memory
from fdch.progress import Progress, silent

Floats = NDArray[np.float32]
LABELS = 10
CHECKED = 100  # queries
AGREEMENT = 1e-9  # differences below this come from the order of additions


class Workload(NamedTuple):
    """Random codes and labels."""

    query_codes: Codes
    database_codes: Codes
    query_labels: NDArray[np.uint8]
    database_labels: NDArray[np.uint8]

    def first(self, number: int) -> "Workload":
        """Keep the first queries alone."""
        codes, labels = self.query_codes[:number], self.query_labels[:number]
        return self._replace(query_codes=codes, query_labels=labels)

    def as_floats(self) -> list[Floats]:
        """Return signs and labels as float32, on which the loop is quickest."""
        signs = self.query_codes.signs(), self.database_codes.signs()
        arrays = (*signs, self.query_labels, self.database_labels)
        return [array.astype(np.float32) for array in arrays]


def evaluate_benchmark(
    queries: int,
    database: int,
    bits: int,
    repeats: int,
    *,
    loop_queries: int | None = None,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Time a full evaluation of one direction against a loop of sorts, in turns.

    Ours gives expected, best, worst and database-order mAP, precision at k, NDCG
    and the lookup curve; the loop gives one mAP in whatever order the sort leaves,
    timed on `loop_queries` of the queries, its time scaled up to all.
    """
    work = _draw(np.random.default_rng(0), queries, database, bits)
    floats = work.as_floats()
    timed = min(loop_queries or queries, queries)
    warm_up = seconds(lambda: evaluate_codes(*work.first(1)))
    memory = {"before": peak_memory()}

    def evaluate(turn: int) -> float:
        took = seconds(lambda: evaluate_codes(*work))
        memory.setdefault("after_ours", peak_memory())
        return took

    def sort(turn: int) -> float:
        took = seconds(lambda: sorting_loop(*floats, number=timed))
        return took * queries / timed

    sides = {"ours": evaluate, "loop": sort}
    turns = take_turns(sides, repeats, progress, "evaluation benchmark")
    return {
        "labels": LABELS,
        "engine": engine_name(),
        "warm_up_seconds": warm_up,
        "ours_seconds": spread(turns["ours"]),
        "loop_seconds": spread(turns["loop"]),
        "loop_queries": timed,
        "loop_scaled": timed < queries,
        "ratio": ratio(turns["loop"], turns["ours"]),
        "peak_memory_bytes": memory | {"after_all": peak_memory()},
        "agreement": _agreement(work, floats, min(queries, CHECKED)),
    }


def sorting_loop(
    query_signs: Floats,
    database_signs: Floats,
    query_labels: Floats,
    database_labels: Floats,
    *,
    number: int | None = None,
    kind: Literal["stable"] | None = None,
) -> NDArray[np.float64]:
    """Return average precision the usual way: sort the database for each query.

    The order of tied items is the sort's. NaN for a query without answers.
    """
    bits = query_signs.shape[1]
    answers = np.full(len(query_signs[:number]), np.nan)
    for query in range(len(answers)):
        truth = (query_labels[query] @ database_labels.T > 0).astype(np.float32)
        relevant = int(truth.sum())
        if relevant == 0:
            continue
        distances = 0.5 * (bits - query_signs[query] @ database_signs.T)
        order = np.argsort(distances, kind=kind)
        ranks = np.flatnonzero(truth[order] == 1) + 1.0
        count = np.linspace(1, relevant, relevant)
        answers[query] = np.mean(count / ranks)
    return answers


def _draw(rng: np.random.Generator, queries: int, database: int, bits: int) -> Workload:
    def codes(items: int) -> Codes:
        return binarize(rng.integers(0, 2, (items, bits), dtype=np.int8) - 1)

    def classes(items: int) -> NDArray[np.uint8]:
        drawn = (rng.random((items, LABELS), dtype=np.float32) < 0.1).astype(np.uint8)
        drawn[np.arange(items), rng.integers(0, LABELS, items)] = 1
        return drawn

    drawn = codes(queries), codes(database)
    return Workload(*drawn, classes(queries), classes(database))


def _agreement(work: Workload, floats: list[Floats], number: int) -> dict[str, Any]:
    """Compare both where they must be equal: with ties in the database's order."""
    ours = distance_histograms(*work.first(number), stable=True).stable
    assert ours is not None  # it was requested
    theirs = sorting_loop(*floats, number=number, kind="stable")
    without_answers = np.isnan(ours) & np.isnan(theirs)
    difference = float(np.max(np.abs(np.where(without_answers, 0, ours - theirs))))
    return {
        "stable_queries": number,
        "stable_difference": difference,
        "stable_agrees": difference < AGREEMENT,
    }
