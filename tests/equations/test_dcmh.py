"""DCMH's loss against finite differences of the full formula, in float64.

Each network is a table of outputs, so that the gradient of a batch is the
gradient of the loss by its rows of F or G. The weights are not 1.
"""

import itertools

import numpy as np
import pytest

from fdch.methods.dcmh import DCMH
from fdch.training.alternating import AlternatingWeights

GAMMA, ETA = 1.3, 0.3
WEIGHTS = AlternatingWeights(GAMMA, ETA)
N, BITS = 9, 5


def likelihood(left, right, Y):
    """Σ_ij log(1 + e^Θ) − s Θ as two loops."""
    total = 0.0
    for x, y in zip(left, Y, strict=True):
        for x_, y_ in zip(right, Y, strict=True):
            theta = 0.5 * x @ x_
            total += np.logaddexp(0, theta) - float((y * y_).sum() > 0) * theta
    return total


def objective(F, G, toy):
    """J of the paper, with B fixed."""
    squares = ((toy["B"] - F) ** 2).sum() + ((toy["B"] - G) ** 2).sum()
    balance = (F.sum(axis=0) ** 2).sum() + (G.sum(axis=0) ** 2).sum()
    return likelihood(F, G, toy["Y"]) + GAMMA * squares + ETA * balance


def relative_error(found, expected):
    return np.abs(found - expected).max() / np.abs(expected).max()


@pytest.mark.parametrize("side", ["F", "G"])
@pytest.mark.parametrize("rows", [[0, 3, 7], list(range(N))])
def test_a_batch_gets_the_gradient_of_the_whole(
    toy, side, rows, numerical_gradient, table_stage, batch_gradient
):
    def full(X):
        return objective(**{"F": toy["F"], "G": toy["G"], side: X}, toy=toy)

    expected = numerical_gradient(full, toy[side])[rows] / (N * len(rows))
    assert (
        relative_error(batch_gradient(table_stage(toy, WEIGHTS), side, rows), expected)
        < 1e-6
    )


def test_the_gradient_is_the_formula(
    toy, numerical_gradient, table_stage, batch_gradient
):
    F, G, B, Y = toy["F"], toy["G"], toy["B"], toy["Y"]
    S = (Y @ Y.T > 0).astype(float)
    sigma = 1 / (1 + np.exp(-F @ G.T / 2))
    formula = 0.5 * (sigma - S) @ G + 2 * GAMMA * (F - B) + 2 * ETA * F.sum(axis=0)
    expected = numerical_gradient(lambda X: objective(X, G, toy), F)
    assert relative_error(formula, expected) < 1e-6
    found = batch_gradient(table_stage(toy, WEIGHTS), "F", list(range(N)))
    assert relative_error(found * N * N, formula) < 1e-9


def test_a_weight_per_term_is_that_weight_times_n_in_the_paper(
    toy, table_stage, batch_gradient
):
    one = batch_gradient(table_stage(toy, WEIGHTS, "per_term"), "G", [1, 2])
    other = batch_gradient(
        table_stage(toy, AlternatingWeights(GAMMA * N, ETA)), "G", [1, 2]
    )
    assert np.allclose(one, other)


def test_the_sign_of_the_sum_is_the_best_code(toy, table_stage):
    f, g = toy["F"][0], toy["G"][0]
    candidates = np.array(list(itertools.product([-1.0, 1.0], repeat=BITS)))
    costs = ((candidates - f) ** 2).sum(axis=1) + ((candidates - g) ** 2).sum(axis=1)
    assert np.array_equal(candidates[costs.argmin()], table_stage(toy, WEIGHTS).B[0])


def test_the_paper_preset_states_the_matlab_release():
    paper = DCMH(**DCMH.presets["paper"])
    plan = paper._schedule(paper.epochs, 40, 5000)
    assert (paper.quantization_weight, paper.balance_weight) == (1, 1)
    assert (plan.epochs, plan.batch_size, plan.weight_decay) == (500, 128, 5e-4)
    assert (plan.optimizer, paper.text_hidden, paper.reduction) == (
        "sgd",
        8192,
        "paper",
    )
    assert plan.rate(0) == 10**-1.5
    assert plan.rate(499) == pytest.approx(10**-3)
