"""The defaults are kept unless another trial is surely better."""

import math

import pytest

from fdch.tuning.records import Trial, choose, last_step


def trial(number, *scores, state="done", error=0.001):
    marks = {last_step(fold): score for fold, score in enumerate(scores)}
    errors, seconds = [error] * len(scores), [1.0] * len(scores)
    return Trial(number, {}, state, marks, errors, seconds)


DEFAULTS = trial(0, 0.5, 0.6, 0.4)


def test_without_other_trials_the_defaults_stand():
    verdict = choose([DEFAULTS])
    assert verdict.best is DEFAULTS
    assert not verdict.is_better


def test_a_steady_gain_is_taken():
    better = trial(2, 0.53, 0.63, 0.43)
    verdict = choose([DEFAULTS, trial(1, 0.51, 0.61, 0.41), better])
    assert verdict.best is better
    assert verdict.gain == pytest.approx(0.03)
    assert verdict.is_better


def test_a_gain_that_varies_from_fold_to_fold_is_not():
    verdict = choose([DEFAULTS, trial(1, 0.60, 0.58, 0.42)])
    gains = [0.1, -0.02, 0.02]
    mean = sum(gains) / 3
    deviation = math.sqrt(sum((gain - mean) ** 2 for gain in gains) / 2)
    assert verdict.gain == pytest.approx(mean) and mean > 0
    assert verdict.error == pytest.approx(deviation / math.sqrt(3))
    assert not verdict.is_better


def test_folds_that_agree_by_chance_do_not_hide_that_their_pairs_differ():
    verdict = choose([DEFAULTS, trial(1, 0.51, 0.61, 0.41, error=0.02)])
    assert verdict.error == pytest.approx(0.02 / math.sqrt(3))
    assert not verdict.is_better


def test_a_single_fold_goes_by_its_pairs():
    alone = trial(0, 0.5)
    assert choose([alone, trial(1, 0.53, error=0.01)]).is_better
    assert not choose([alone, trial(1, 0.53, error=0.02)]).is_better


def test_what_was_not_measured_on_all_folds_does_not_count():
    unfinished = trial(1, 0.9, 0.9)
    stopped = trial(2, 0.9, 0.9, 0.9, state="stopped")
    assert choose([DEFAULTS, unfinished, stopped]).best is DEFAULTS


def test_a_loss_is_never_taken():
    verdict = choose([DEFAULTS, trial(1, 0.4, 0.5, 0.3, error=0.0)])
    assert verdict.gain < 0
    assert not verdict.is_better
