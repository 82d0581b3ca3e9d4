"""Sections 1 and 2 of the loss, against finite differences in float64.

Plain transcriptions of the full formulas stand on the left; the weights are not
1, because with weights of 1 some misprints of the paper cannot be seen.
"""

import numpy as np
import pytest
import torch

from fdch.objectives.balance import balance_loss
from fdch.objectives.classification import classification_loss, fit_label_map
from fdch.objectives.pairwise import pairwise_loss, shares_label
from fdch.objectives.quantization import binary, quantization_loss

LAMBDA, ETA, GAMMA, BETA, ALPHA = 0.7, 0.3, 1.3, 0.6, 0.2
N, BITS, CLASSES = 9, 5, 4


@pytest.fixture
def toy():
    rng = np.random.default_rng(0)
    Y = (rng.random((N, CLASSES)) < 0.4).astype(float)
    Y[Y.sum(axis=1) == 0, 0] = 1
    values = {name: rng.standard_normal((N, BITS)) for name in "FGH"}
    values |= {name: rng.standard_normal((CLASSES, BITS)) for name in ("W1", "W2")}
    B = np.where(rng.standard_normal((N, BITS)) >= 0, 1.0, -1.0)
    return values | {"B": B, "Y": Y}


def likelihood(left, right, Y):
    """Σ_ij log(1 + e^Θ) − s Θ as two loops."""
    total = 0.0
    for i in range(N):
        for j in range(N):
            theta = 0.5 * left[i] @ right[j]
            s = float((Y[i] * Y[j]).sum() > 0)
            total += np.logaddexp(0, theta) - s * theta
    return total


def stage_one(H, toy):
    return (
        likelihood(H, H, toy["Y"])
        + LAMBDA * ((toy["B"] - H) ** 2).sum()
        + ETA * (H.sum(axis=0) ** 2).sum()
    )


def stage_two(F, G, W1, W2, toy):
    Y, B = toy["Y"], toy["B"]
    return (
        likelihood(F, G, Y)
        + GAMMA * (((B - F) ** 2).sum() + ((B - G) ** 2).sum())
        + BETA
        * (
            ((F - Y @ W1) ** 2).sum()
            + ((G - Y @ W2) ** 2).sum()
            + (W1**2).sum()
            + (W2**2).sum()
        )
        + ALPHA * ((F.sum(axis=0) ** 2).sum() + (G.sum(axis=0) ** 2).sum())
    )


def finite_differences(function, X, step=1e-6):
    gradient = np.zeros_like(X)
    for place in np.ndindex(X.shape):
        nudge = np.zeros_like(X)
        nudge[place] = step
        gradient[place] = (function(X + nudge) - function(X - nudge)) / (2 * step)
    return gradient


def relative_error(found, expected):
    return np.abs(found - expected).max() / np.abs(expected).max()


def tensors(toy):
    return {name: torch.tensor(value) for name, value in toy.items()}


def batch_gradient(loss, values, rows):
    """Autograd's gradient on the rows of a batch, everything else detached."""
    batch = values[rows].clone().requires_grad_()
    loss(batch).backward()
    return batch.grad.numpy()


@pytest.mark.parametrize("rows", [[0, 3, 7], list(range(N))])
def test_stage_one_batch_gradient_is_the_full_formulas(toy, rows):
    expected = finite_differences(lambda H: stage_one(H, toy), toy["H"])[rows]
    t = tensors(toy)
    rest = t["H"].sum(dim=0) - t["H"][rows].sum(dim=0)

    def loss(H):
        S = shares_label(t["Y"][rows], t["Y"])
        return (
            2 * pairwise_loss(H, t["H"], S)
            + LAMBDA * quantization_loss(H, t["B"][rows])
            + ETA * balance_loss(H, rest)
        )

    assert relative_error(batch_gradient(loss, t["H"], rows), expected) < 1e-6


def test_stage_one_without_the_doubling_is_wrong(toy):
    t = tensors(toy)
    expected = finite_differences(lambda H: likelihood(H, H, toy["Y"]), toy["H"])
    S = shares_label(t["Y"], t["Y"])
    once = batch_gradient(lambda H: pairwise_loss(H, t["H"], S), t["H"], range(N))
    assert relative_error(once, expected) > 0.1
    assert relative_error(2 * once, expected) < 1e-6


@pytest.mark.parametrize("side", ["F", "G"])
@pytest.mark.parametrize("rows", [[1, 2, 8], list(range(N))])
def test_stage_two_batch_gradient_is_the_full_formulas(toy, side, rows):
    other, W = ("G", "W1") if side == "F" else ("F", "W2")

    def full(X):
        values = {"F": toy["F"], "G": toy["G"], side: X}
        return stage_two(values["F"], values["G"], toy["W1"], toy["W2"], toy)

    expected = finite_differences(full, toy[side])[rows]
    t = tensors(toy)
    rest = t[side].sum(dim=0) - t[side][rows].sum(dim=0)

    def loss(X):
        return (
            pairwise_loss(X, t[other], shares_label(t["Y"][rows], t["Y"]))
            + GAMMA * quantization_loss(X, t["B"][rows])
            + BETA * classification_loss(X, t["Y"][rows], t[W])
            + ALPHA * balance_loss(X, rest)
        )

    assert relative_error(batch_gradient(loss, t[side], rows), expected) < 1e-6


def test_label_map_has_zero_gradient_and_the_printed_one_has_not(toy):
    W = fit_label_map(torch.tensor(toy["Y"]), torch.tensor(toy["F"])).numpy()

    def by_map(X):
        return stage_two(toy["F"], toy["G"], X, toy["W2"], toy)

    assert np.abs(finite_differences(by_map, W)).max() < 1e-6
    assert np.abs(finite_differences(by_map, BETA * W)).max() > 1


def test_sign_is_the_best_code_of_all(toy):
    H = toy["H"][:1]
    candidates = np.array(np.meshgrid(*[[-1.0, 1.0]] * BITS)).reshape(BITS, -1).T
    costs = ((candidates - H) ** 2).sum(axis=1)
    assert np.array_equal(candidates[costs.argmin()], binary(torch.tensor(H))[0])


def test_zero_output_becomes_plus_one():
    assert binary(torch.tensor([[0.0, -0.0, -1e-9]])).tolist() == [[1, 1, -1]]


def test_pairwise_loss_stays_finite_for_large_outputs():
    F = torch.full((1, 4), 1e4)
    assert torch.isfinite(pairwise_loss(F, -F, torch.ones(1, 1)))


def test_similarity_is_one_where_a_label_is_shared():
    Y = torch.tensor([[1.0, 1, 0], [0, 1, 1], [0, 0, 1], [0, 0, 0]])
    assert shares_label(Y, Y).tolist() == [
        [1, 1, 0, 0],
        [1, 1, 1, 0],
        [0, 1, 1, 0],
        [0, 0, 0, 0],
    ]
