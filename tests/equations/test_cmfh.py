"""CMFH: its steps against the objective written out, with weights that differ."""

import numpy as np
import pytest

from fdch.errors import SettingError
from fdch.methods.cmfh import CMFH, Factorization, Weights
from fdch.training.closed_form import centre
from fdch.training.context import PLAIN, Context

STEP = 1e-5  # of a difference
LAMBDA, MU, GAMMA = 0.3, 1.7, 0.6
N, BITS, WIDTHS = 9, 3, (5, 12)


@pytest.fixture
def toy():
    rng = np.random.default_rng(0)
    views = [rng.standard_normal((N, width)) for width in WIDTHS]
    image, text = (X - X.mean(axis=0) for X in views)
    V = rng.random((N, BITS))
    return Factorization((image, text), Weights(LAMBDA, MU, GAMMA), V)


def objective(views, V, U, P):
    """The sum as the paper writes it."""
    total = GAMMA * (V**2).sum()
    for weight, X, basis, predictor in zip(
        (LAMBDA, 1 - LAMBDA), views, U, P, strict=True
    ):
        total += weight * ((X - V @ basis) ** 2).sum()
        total += MU * ((V - X @ predictor) ** 2).sum()
        total += GAMMA * ((basis**2).sum() + (predictor**2).sum())
    return total


def test_bases_have_no_gradient_given_the_factor(toy, numerical_gradient):
    toy.improve()
    toy._step_bases()
    for t in (0, 1):

        def value(U, t=t):
            both = [U if s == t else toy.U[s] for s in (0, 1)]
            return objective(toy.views, toy.V, both, toy.P)

        assert np.abs(numerical_gradient(value, toy.U[t], STEP)).max() < 1e-7


def test_factor_has_no_gradient_given_bases_and_predictors(toy, numerical_gradient):
    toy.improve()
    V = sum(X @ E for X, E in zip(toy.views, toy.shares(), strict=True))
    gradient = numerical_gradient(
        lambda V: objective(toy.views, V, toy.U, toy.P), V, STEP
    )
    assert np.abs(gradient).max() < 1e-7


def test_predictors_have_no_gradient_given_the_factor(toy, numerical_gradient):
    toy.improve()
    for t in (0, 1):

        def value(P, t=t):
            both = [P if s == t else toy.P[s] for s in (0, 1)]
            return objective(toy.views, toy.V, toy.U, both)

        assert np.abs(numerical_gradient(value, toy.P[t], STEP)).max() < 1e-7


def test_objective_is_the_sum_written_out(toy):
    for _ in range(3):
        toy.improve()
        expected = objective(toy.views, toy.V, toy.U, toy.P)
        assert toy.objective() == pytest.approx(expected, rel=1e-10)


def test_objective_never_rises(toy):
    values = [toy.objective()]
    for _ in range(200):
        toy.improve()
        values.append(toy.objective())
    assert (np.diff(values) <= 1e-9 * values[0]).all()
    assert values[-1] < 0.9 * values[1]


@pytest.fixture
def pairs(factor_pairs):
    return factor_pairs(120)


def objectives_of(method, pairs):
    values = []
    method.fit(
        pairs,
        context=Context(
            progress=lambda update: values.append(update.values["objective"])
        ),
    )
    return values


def test_learning_ends_once_the_objective_hardly_falls(pairs):
    values = objectives_of(CMFH(bits=4, tolerance=1e-3), pairs)
    drops = -np.diff(values) / values[1:]
    assert drops[-1] <= 1e-3 < drops[:-1].min()
    assert len(values) < 500


def test_learning_ends_at_the_cap_where_it_comes_first(pairs):
    assert len(objectives_of(CMFH(bits=4, tolerance=0, max_iterations=7), pairs)) == 7


def test_both_starts_end_at_the_same_objective(pairs):
    ends = [
        objectives_of(
            CMFH(bits=4, tolerance=1e-9, max_iterations=5000, start=start), pairs
        )[-1]
        for start in ("regressed", "release")
    ]
    assert ends[0] == pytest.approx(ends[1], rel=1e-3)


def test_release_start_draws_predictors_between_zero_and_one(pairs):
    values = objectives_of(CMFH(bits=4, **CMFH.presets["release"]), pairs)
    assert len(values) == 25
    assert values[0] > 10 * values[-1]


def test_unified_outputs_are_the_factor_that_bases_and_predictors_give(pairs):
    method = CMFH(bits=4, image_weight=LAMBDA, max_iterations=10).fit(pairs)
    image, _ = centre(pairs.images.values)
    text, _ = centre(pairs.texts.matrix)
    found = method._factorize((image, text), PLAIN)
    mu, gamma = method.prediction_weight, method.penalty_weight
    system, target = (2 * mu + gamma) * np.eye(4), np.zeros((4, len(pairs)))
    for weight, X, U, P in zip(
        (LAMBDA, 1 - LAMBDA), (image, text), found.U, found.P, strict=True
    ):
        system += weight * U @ U.T
        target += weight * U @ X.T + mu * (X @ P).T
    H = method.pair_outputs(pairs.images.values, pairs.texts.matrix)
    expected = np.linalg.solve(system, target).T
    np.testing.assert_allclose(H, expected, rtol=1e-4, atol=1e-6)
    assert np.abs(H.mean(axis=0)).max() < 1e-6


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"image_weight": 1.0}, "between 0 and 1; got 1.0"),
        ({"penalty_weight": 0.0}, "must be positive: penalty_weight=0.0"),
        ({"max_iterations": 0}, "must be positive: max_iterations=0"),
        ({"tolerance": -1.0}, "tolerance must be 0 or more"),
    ],
)
def test_settings_outside_their_range_are_refused(settings, message, pairs):
    with pytest.raises(SettingError, match=message):
        CMFH(**settings).fit(pairs)
