import json

import numpy as np
import pytest

from fdch.bench.evaluation import evaluate_benchmark, sorting_loop
from fdch.progress import Update


def test_the_loop_gives_ordinary_average_precision():
    signs = np.array([[1, 1], [1, -1], [-1, -1]], dtype=np.float32)
    labels = np.array([[1, 0], [0, 1], [1, 1]], dtype=np.float32)
    answers = sorting_loop(signs[:1], signs, labels[:1], labels)
    assert answers.tolist() == pytest.approx([(1 + 2 / 3) / 2])


def test_the_loop_has_no_answer_without_relevant_items():
    signs, labels = np.ones((1, 4), np.float32), np.zeros((1, 2), np.float32)
    assert np.isnan(sorting_loop(signs, signs, labels, labels)).all()


def test_a_small_benchmark_agrees_with_the_loop():
    reported: list[Update] = []
    result = evaluate_benchmark(30, 500, 16, repeats=2, progress=reported.append)
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert result["agreement"]["stable_agrees"]
    assert result["agreement"]["stable_queries"] == 30
    assert len(result["ratio"]["all"]) == 2
    assert (result["loop_queries"], result["loop_scaled"]) == (30, False)
    assert [update.done for update in reported] == [1, 2, 3, 4]


def test_a_loop_on_some_queries_says_that_it_is_scaled():
    result = evaluate_benchmark(30, 200, 8, repeats=1, loop_queries=10)
    assert (result["loop_queries"], result["loop_scaled"]) == (10, True)


def test_memory_is_unknown_where_the_system_does_not_report_it(monkeypatch):
    monkeypatch.setattr("fdch.bench.evaluation.peak_memory", lambda: None)
    result = evaluate_benchmark(5, 50, 8, repeats=1)
    assert set(result["peak_memory_bytes"].values()) == {None}
