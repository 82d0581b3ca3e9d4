"""Speed of the evaluation, beside the per-query sort that this field copies."""

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fdch.bench.timing import ratio, seconds, spread
from fdch.codes import Codes, binarize
from fdch.evaluation.histograms import distance_histograms, engine_name
from fdch.evaluation.metrics import average_precision
from fdch.evaluation.scoring import evaluate_codes
from fdch.machine import peak_memory
from fdch.progress import Progress, Update, silent

Floats = NDArray[np.float32]
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
    queries: int = 2000,
    database: int = 184_577,
    bits: int = 64,
    labels: int = 10,
    repeats: int = 3,
    *,
    loop_queries: int | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Time a full evaluation of one direction against a loop of sorts.

    Ours gives expected, best, worst and database-order mAP, precision at k, NDCG
    and the lookup curve; the loop gives one mAP in whatever order the sort leaves,
    timed on `loop_queries` of the queries, its time scaled up to all. The two take
    turns. The default sizes are those of NUS-WIDE.
    """
    work = _workload(np.random.default_rng(seed), queries, database, bits, labels)
    floats = work.as_floats()
    timed = min(loop_queries or queries, queries)
    warm_up = seconds(lambda: evaluate_codes(*work.first(1)))
    before = peak_memory()
    ours, loop, after_ours = [], [], before
    for turn in range(repeats):
        ours.append(seconds(lambda: evaluate_codes(*work)))
        after_ours = after_ours if turn else peak_memory()
        loop_time = seconds(lambda: sorting_loop(*floats, number=timed))
        loop.append(loop_time * queries / timed)
        progress(Update("evaluation benchmark", turn + 1, repeats, "turn"))
    return {
        "benchmark": "evaluate",
        "queries": queries,
        "database": database,
        "bits": bits,
        "labels": labels,
        "repeats": repeats,
        "engine": engine_name(),
        "warm_up_seconds": warm_up,
        "ours_seconds": spread(ours),
        "loop_seconds": spread(loop),
        "loop_queries": timed,
        "loop_scaled": timed < queries,
        "ratio": ratio(loop, ours),
        "peak_memory_bytes": {
            "before": before,
            "after_ours": after_ours,
            "after_all": peak_memory(),
        },
        "agreement": _agreement(work, min(queries, 100), seed),
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


def _workload(
    rng: np.random.Generator, queries: int, database: int, bits: int, labels: int
) -> Workload:
    def codes(items: int) -> Codes:
        return binarize(rng.integers(0, 2, (items, bits), dtype=np.int8) - 1)

    def classes(items: int) -> NDArray[np.uint8]:
        drawn = (rng.random((items, labels), dtype=np.float32) < 0.1).astype(np.uint8)
        drawn[np.arange(items), rng.integers(0, labels, items)] = 1
        return drawn

    drawn = codes(queries), codes(database)
    return Workload(*drawn, classes(queries), classes(database))


def _agreement(work: Workload, number: int, seed: int) -> dict[str, Any]:
    """Compare answers where they must be equal: database order, and no ties."""
    counts = distance_histograms(*work.first(number), stable=True)
    stable = sorting_loop(*work.as_floats(), number=number, kind="stable")
    assert counts.stable is not None  # it was requested
    stable_difference = _difference(counts.stable, stable)
    untied = _break_ties(np.random.default_rng(seed), work.query_codes.bits)
    expected = average_precision(distance_histograms(*untied))
    untied_difference = _difference(expected, sorting_loop(*untied.as_floats()))
    return {
        "stable_queries": number,
        "stable_difference": stable_difference,
        "stable_agrees": stable_difference < AGREEMENT,
        "untied_queries": len(untied.query_codes),
        "untied_difference": untied_difference,
        "untied_agrees": untied_difference < AGREEMENT,
    }


def _break_ties(rng: np.random.Generator, bits: int) -> Workload:
    """Make queries whose distances to a database of bits + 1 items all differ."""
    # Item i has its first i bits set: at distance i from the query of no bits set,
    # at bits - i from the query of all.
    database = np.where(np.tri(bits + 1, bits, -1) > 0, 1, -1)
    queries = np.repeat([[-1], [1]], 10, axis=0) * np.ones((1, bits))
    query_labels = rng.integers(0, 2, (20, 6), dtype=np.uint8)
    database_labels = rng.integers(0, 2, (bits + 1, 6), dtype=np.uint8)
    signs = binarize(queries), binarize(database)
    return Workload(*signs, query_labels, database_labels)


def _difference(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> float:
    """Return the largest difference; infinite where only one has an answer."""
    if not np.array_equal(np.isnan(ours), np.isnan(theirs)):
        return float(np.finfo(float).max)
    return float(np.max(np.abs(np.nan_to_num(ours - theirs))))
