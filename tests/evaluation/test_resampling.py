"""Bootstrap intervals and sign flips, against all draws and known distributions."""

import itertools
import tracemalloc

import numpy as np
import pytest

from fdch.errors import DataError
from fdch.evaluation import bootstrap_intervals, sign_flip_p
from fdch.evaluation.comparing import resampling
from fdch.evaluation.comparing.resampling import mean_intervals


def test_an_interval_has_the_quantiles_of_all_draws():
    values = np.array([0.03, 0.1, 0.31, 0.55, 0.92])
    draws = itertools.product(values, repeat=5)
    every = np.array([np.mean(draw) for draw in draws])
    found = bootstrap_intervals(values[:, None], resamples=40_000, confidence=0.8)[0]
    assert found == pytest.approx(np.quantile(every, [0.1, 0.9]), abs=0.005)


def test_an_interval_is_as_wide_as_the_standard_error_says():
    values = np.random.default_rng(0).random((3000, 1))
    low, high = bootstrap_intervals(values)[0]
    error = values.std() / np.sqrt(3000)
    assert (high - low) / (2 * 1.96 * error) == pytest.approx(1, abs=0.08)
    assert low < values.mean() < high


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    rng = np.random.default_rng(1)
    covered = 0
    for turn in range(200):
        low, high = bootstrap_intervals(rng.random((80, 1)), resamples=300, seed=turn)[
            0
        ]
        covered += low <= 0.5 <= high
    assert 0.88 <= covered / 200 <= 0.99


def test_equal_seeds_give_equal_intervals_whatever_is_drawn_at_a_time(monkeypatch):
    values = np.random.default_rng(2).random((50, 3))
    whole = bootstrap_intervals(values, seed=4)
    assert np.array_equal(bootstrap_intervals(values, seed=4), whole)
    assert not np.array_equal(bootstrap_intervals(values, seed=5), whole)
    monkeypatch.setattr(resampling, "DRAWS_AT_A_TIME", 70)
    assert np.allclose(bootstrap_intervals(values, seed=4), whole)


def test_memory_is_bounded():
    values = np.random.default_rng(3).random((20_000, 1))
    tracemalloc.start()
    try:
        bootstrap_intervals(values, resamples=200)
        sign_flip_p(values[:, 0] - 0.5, flips=200)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 60 * resampling.DRAWS_AT_A_TIME


def test_lists_of_other_lengths_have_intervals_of_their_own():
    rng = np.random.default_rng(4)
    lists = {
        "a": rng.random(30),
        "b": rng.random(20),
        "c": rng.random(30),
        "d": rng.random(0),
    }
    found = mean_intervals(lists)
    assert list(found) == ["a", "b", "c"]
    for name in found:
        alone = bootstrap_intervals(lists[name][:, None])[0]
        assert found[name] == pytest.approx(tuple(alone))


def test_the_p_value_is_the_share_of_all_signs():
    differences = np.array([0.3, -0.1, 0.4, 0.2, 0.0, 0.25])
    observed = abs(differences.sum())
    signs = itertools.product([-1, 1], repeat=6)
    sums = np.array([abs(np.dot(sign, differences)) for sign in signs])
    share = np.mean(sums >= observed - 1e-12)
    assert sign_flip_p(differences) == pytest.approx(share, abs=0.015)
    assert sign_flip_p(-differences) == sign_flip_p(differences)


def test_p_values_of_no_difference_are_spread_evenly():
    rng = np.random.default_rng(5)
    found = [sign_flip_p(rng.normal(size=40), flips=400) for _ in range(200)]
    assert np.mean(np.array(found) < 0.1) == pytest.approx(0.1, abs=0.06)
    assert np.mean(found) == pytest.approx(0.5, abs=0.08)


def test_a_clear_difference_has_the_smallest_p_value():
    assert sign_flip_p(np.full(50, 1e-200), flips=999) == pytest.approx(0.001)


@pytest.mark.parametrize("values", [np.zeros(0), np.array([0.5, np.nan])])
def test_scores_that_are_missing_are_refused(values):
    with pytest.raises(DataError, match="leave out queries"):
        bootstrap_intervals(values[:, None])
    with pytest.raises(DataError, match="leave out queries"):
        sign_flip_p(values)
