"""MITH's losses against loops, gradients by finite differences."""

import numpy as np
import pytest
import torch

from fdch.errors import SettingError
from fdch.methods.mith import MITH, BufferLoss

SETTINGS = MITH(
    intra_weight=0.4, contrastive_weight=0.3, quantization_weight=0.7, temperature=0.2
)
ROWS, N = [0, 3, 7], 9


def likelihood(batch, others, Y, rows):
    """Σ log(1 + e^Θ) − s Θ of a batch against all pairs, as two loops."""
    total = 0.0
    for i, x in zip(rows, batch, strict=True):
        for j, x_ in enumerate(others):
            theta = 0.5 * x @ x_
            total += np.logaddexp(0, theta) - float((Y[i] * Y[j]).any()) * theta
    return total


def contrastive(H, K):
    """InfoNCE between normalised outputs, both directions."""
    H, K = (X / np.linalg.norm(X, axis=1, keepdims=True) for X in (H, K))
    total = 0.0
    for one, other in ((H, K), (K, H)):
        for i, h in enumerate(one):
            scores = [np.exp(h @ k / SETTINGS.temperature) for k in other]
            total -= np.log(scores[i] / sum(scores))
    return total / (2 * len(H))


def objective(F, G, toy, B):
    """The loss of a batch of outputs before the tanh, its rows fresh in the buffer."""
    all_H, all_K = np.tanh(toy["F"]), np.tanh(toy["G"])
    H, K, Y = np.tanh(F), np.tanh(G), toy["Y"]
    inter = likelihood(H, all_K, Y, ROWS) + likelihood(K, all_H, Y, ROWS)
    intra = likelihood(H, all_H, Y, ROWS) + likelihood(K, all_K, Y, ROWS)
    squares = ((H - B) ** 2).sum() + ((K - B) ** 2).sum()
    return (
        (inter + SETTINGS.intra_weight * intra) / (N * len(ROWS))
        + SETTINGS.quantization_weight * squares / len(ROWS)
        + SETTINGS.contrastive_weight * contrastive(H, K)
    )


@pytest.fixture
def made(toy, joint_stage):
    return joint_stage(toy, BufferLoss(SETTINGS, torch.tensor(toy["Y"])))


@pytest.fixture
def B(toy):
    """The sign of image plus text, of outputs after the tanh."""
    return np.where(np.tanh(toy["F"]) + np.tanh(toy["G"]) >= 0, 1.0, -1.0)[ROWS]


def test_the_loss_is_the_printed_one(toy, made, B):
    loss, terms = made.batch_loss(torch.tensor(ROWS))
    expected = objective(toy["F"][ROWS], toy["G"][ROWS], toy, B)
    assert loss.item() == pytest.approx(expected)
    assert sum(terms.values()).item() == pytest.approx(expected)


def test_both_networks_get_its_gradient(toy, made, B, numerical_gradient):
    F, G = toy["F"][ROWS], toy["G"][ROWS]
    made.batch_loss(torch.tensor(ROWS))[0].backward()
    by_F = numerical_gradient(lambda X: objective(X, G, toy, B), F)
    by_G = numerical_gradient(lambda X: objective(F, X, toy, B), G)
    np.testing.assert_allclose(made.image_network.values.grad[ROWS], by_F, atol=1e-7)
    np.testing.assert_allclose(made.text_network.values.grad[ROWS], by_G, atol=1e-7)


def test_a_temperature_of_zero_is_refused():
    with pytest.raises(SettingError, match="temperature=0"):
        MITH(temperature=0.0).check()
