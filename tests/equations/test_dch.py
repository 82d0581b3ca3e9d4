"""DCH: zero gradients of its closed steps, and no better code by its discrete one."""

from itertools import pairwise, product

import numpy as np
import pytest

from fdch.errors import SettingError
from fdch.methods._settings.assignments import configure
from fdch.methods.dch import (
    DCH,
    View,
    coordinate_descent,
    fit_classifier,
    relaxed_codes,
)
from fdch.training.closed_form import signs

LAMBDA, MU, DELTA = 0.7, 0.3, 0.4
N, BITS, CLASSES = 7, 5, 3


@pytest.fixture
def toy():
    rng = np.random.default_rng(0)
    Y = (rng.random((N, CLASSES)) < 0.5).astype(float)
    B = signs(rng.standard_normal((N, BITS)))
    X1, X2 = rng.standard_normal((N, 4)), rng.standard_normal((N, 9))
    return Y, B, (X1 - X1.mean(axis=0), X2 - X2.mean(axis=0))


def objective(Y, B, W, P, X):
    total = ((Y - B @ W) ** 2).sum() + LAMBDA * (W**2).sum()
    for rows, weights in zip(X, P, strict=True):
        total += MU * ((B - rows @ weights) ** 2).sum()
        total += MU * DELTA * (weights**2).sum()
    return total


def solved(Y, B, X):
    """Give the W-step and the P-steps for codes B."""
    P = [View.fit(rows, DELTA).hash_function(B).W for rows in X]
    return fit_classifier(B, Y, LAMBDA), P


def test_classifier_and_hash_functions_have_no_gradient(toy, numerical_gradient):
    Y, B, X = toy
    W, P = solved(Y, B, X)

    def of_classifier(W):
        return objective(Y, B, W, P, X)

    assert np.abs(numerical_gradient(of_classifier, W)).max() < 1e-6
    for view in (0, 1):

        def of_weights(weights, view=view):
            given = [weights if i == view else P[i] for i in (0, 1)]
            return objective(Y, B, W, given, X)

        assert np.abs(numerical_gradient(of_weights, P[view])).max() < 1e-6


def test_predictions_are_those_of_the_hash_functions(toy):
    _, B, X = toy
    for rows in X:
        view = View.fit(rows, DELTA)
        expected = rows @ view.hash_function(B).W
        np.testing.assert_allclose(view.predict(B), expected, atol=1e-9)


def test_each_bit_is_the_best_of_all_candidates_given_the_others(toy):
    Y, B, X = toy
    W, P = solved(Y, B, X)
    Q = Y @ W.T + MU * sum(rows @ weights for rows, weights in zip(X, P, strict=True))
    found = coordinate_descent(B, Q, W)
    best = objective(Y, found, W, P, X)
    assert best <= objective(Y, B, W, P, X)
    for bit in range(BITS):
        for candidate in product((-1.0, 1.0), repeat=N):
            other = found.copy()
            other[:, bit] = candidate
            assert best <= objective(Y, other, W, P, X) + 1e-9


def test_every_round_of_dcc_lowers_the_objective():
    rng = np.random.default_rng(1)
    Y = (rng.random((80, 6)) < 0.3).astype(float)
    X = [Y @ rng.standard_normal((6, d)) + rng.standard_normal((80, d)) for d in (9, 7)]
    X = [rows - rows.mean(axis=0) for rows in X]
    B = signs(rng.standard_normal((80, 8)))
    seen = []
    for _ in range(6):
        W, P = solved(Y, B, X)
        seen.append(objective(Y, B, W, P, X))
        predicted = sum(rows @ weights for rows, weights in zip(X, P, strict=True))
        B = coordinate_descent(B, Y @ W.T + MU * predicted, W, sweeps=2)
        seen.append(objective(Y, B, W, P, X))
    assert all(later <= earlier + 1e-9 for earlier, later in pairwise(seen))
    assert seen[-1] < 0.9 * seen[0]


def test_a_stable_code_is_left_as_it_is(toy):
    Y, B, X = toy
    W, _ = solved(Y, B, X)
    found = coordinate_descent(B, Y @ W.T, W, sweeps=50)
    np.testing.assert_array_equal(coordinate_descent(found, Y @ W.T, W, 1), found)


def test_the_relaxed_step_is_the_sign_of_least_squares(toy, numerical_gradient):
    Y, B, X = toy
    W, _ = solved(Y, B, X)
    solution = np.linalg.solve(W @ W.T + DELTA * np.eye(BITS), W @ Y.T).T
    np.testing.assert_array_equal(relaxed_codes(Y, W, DELTA), signs(solution))

    def squares(H):
        return ((Y - H @ W) ** 2).sum() + DELTA * (H**2).sum()

    assert np.abs(numerical_gradient(squares, solution)).max() < 1e-6


def test_without_predictions_equal_labels_have_equal_codes(factor_pairs):
    pairs = factor_pairs(90)
    seen = []

    class Watched(DCH):
        def _codes(self, labels, views, context):
            seen.append(super()._codes(labels, views, context))
            return seen[-1]

    Watched(bits=12, bstep="relaxed").fit(pairs)
    distinct = len(np.unique(pairs.labels, axis=0))
    together = np.hstack([pairs.labels, seen[0]])
    assert len(np.unique(together, axis=0)) == distinct


def test_the_release_is_a_preset():
    made = configure(DCH, {"preset": "release"})
    assert isinstance(made, DCH)
    assert (made.bstep, made.prediction_weight, made.iterations) == ("relaxed", 0, 5)
    assert (made.classifier_weight, made.ridge) == (1, 0.01)


@pytest.mark.parametrize("bstep", ["dcc", "relaxed"])
@pytest.mark.parametrize("bits", [8, 40])
def test_no_bit_is_constant_on_the_training_pairs(bstep, bits, factor_pairs):
    pairs = factor_pairs(150)
    method = DCH(bits=bits, bstep=bstep).fit(pairs)
    for codes in (method.encode_images(pairs.images), method.encode_texts(pairs.texts)):
        assert np.abs(codes.signs().mean(axis=0)).max() < 1


def test_settings_outside_their_range_are_refused(factor_pairs):
    with pytest.raises(SettingError, match="must be positive: ridge=0, iterations=0"):
        DCH(ridge=0, iterations=0).check()
    with pytest.raises(SettingError, match="prediction_weight must be 0 or more"):
        DCH(prediction_weight=-1).check()
