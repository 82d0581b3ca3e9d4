"""PRDH's loss against finite differences of the full formula, in float64."""

import numpy as np
import pytest
import torch

from fdch.methods.prdh import PRDH
from fdch.training.alternating import AlternatingWeights

GAMMA, ETA, INTRA, LAMBDA = 1.3, 0.3, 0.7, 0.6
WEIGHTS = AlternatingWeights(GAMMA, ETA, INTRA, LAMBDA)
N = 9


def likelihood(left, right, Y):
    """Σ_ij log(1 + e^Θ) − s Θ."""
    theta = left @ right.T / 2
    return (np.logaddexp(0, theta) - (Y @ Y.T > 0) * theta).sum()


def decorrelation(batch):
    """½ Σ_i≠j C_ij² with the covariance of the batch."""
    C = np.cov(batch.T, bias=True)
    return ((C**2).sum() - (np.diag(C) ** 2).sum()) / 2


def objective(F, G, toy, rows):
    """J of the paper: sums divided by n·b, the decorrelation of a batch as it is."""
    Y, B = toy["Y"], toy["B"]
    within = likelihood(F, F, Y) + likelihood(G, G, Y)
    squares = ((B - F) ** 2).sum() + ((B - G) ** 2).sum()
    balance = (F.sum(axis=0) ** 2).sum() + (G.sum(axis=0) ** 2).sum()
    sums = likelihood(F, G, Y) + INTRA * within + GAMMA * squares + ETA * balance
    apart = decorrelation(F[rows]) + decorrelation(G[rows])
    return sums / (N * len(rows)) + LAMBDA * apart


def relative_error(found, expected):
    return np.abs(found - expected).max() / np.abs(expected).max()


@pytest.mark.parametrize("side", ["F", "G"])
@pytest.mark.parametrize("rows", [[0, 3, 7], list(range(N))])
def test_a_batch_gets_the_gradient_of_the_whole(
    toy, side, rows, numerical_gradient, table_stage, batch_gradient
):
    def full(X):
        return objective(**{"F": toy["F"], "G": toy["G"], side: X}, toy=toy, rows=rows)

    expected = numerical_gradient(full, toy[side])[rows]
    assert (
        relative_error(batch_gradient(table_stage(toy, WEIGHTS), side, rows), expected)
        < 1e-6
    )


def test_the_gradient_is_the_formula(toy, table_stage, batch_gradient):
    F, G, B, Y = toy["F"], toy["G"], toy["B"], toy["Y"]
    S = (Y @ Y.T > 0).astype(float)

    def pull(other, factor):
        return factor * (1 / (1 + np.exp(-F @ other.T / 2)) - S) @ other

    centred = F - F.mean(axis=0)
    C = centred.T @ centred / N
    np.fill_diagonal(C, 0)
    sums = (
        pull(G, 0.5)
        + INTRA * pull(F, 1)
        + 2 * GAMMA * (F - B)
        + 2 * ETA * F.sum(axis=0)
    )
    formula = sums / N**2 + LAMBDA * (2 / N) * centred @ C
    found = batch_gradient(table_stage(toy, WEIGHTS), "F", list(range(N)))
    assert relative_error(found, formula) < 1e-9


def test_pairs_within_a_modality_count_twice_for_a_batch(
    toy, numerical_gradient, table_stage
):
    rows = [2, 5]
    expected = numerical_gradient(lambda X: likelihood(X, X, toy["Y"]), toy["F"])[rows]
    stage = table_stage(toy, WEIGHTS)
    terms = stage.image_loss(torch.tensor(rows))[1]
    S = toy["Y"][rows] @ toy["Y"].T > 0
    theta = toy["F"][rows] @ toy["F"].T / 2
    once = (np.logaddexp(0, theta) - S * theta).sum()
    assert terms["image intra"].item() == pytest.approx(2 * INTRA * once / (N * 2))
    sigma = 1 / (1 + np.exp(-theta))
    assert relative_error(0.5 * (sigma - S) @ toy["F"], expected) > 0.1
    assert relative_error((sigma - S) @ toy["F"], expected) < 1e-6


def test_the_paper_preset_states_weights_of_one_and_the_schedule_of_dcmh():
    paper = PRDH(**PRDH.presets["paper"])
    weights = paper._weights()
    assert weights == AlternatingWeights(1, 1, 1, 1)
    assert paper._schedule(paper.epochs, 40, 5000).rate(0) == 10**-1.5
    assert (paper.epochs, paper.batch_size) == (500, 128)
