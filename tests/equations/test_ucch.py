"""UCCH's equations against loops, gradients by finite differences."""

import numpy as np
import pytest
import torch

from fdch.errors import SettingError
from fdch.methods.ucch import UCCH, MemoryLoss
from fdch.training.joint import JointOutputs

SETTINGS = UCCH(key_share=0.6, temperature=0.4, momentum=0.3, margin=0.5, shift=0.2)
ROWS, N, BITS = [1, 2, 5, 6], 9, 5


def unit(H):
    return H / np.linalg.norm(H, axis=1, keepdims=True)


def keys_of(V):
    return unit(np.where(V >= 0, 1.0, -1.0))


def contrastive(H, V, rows):
    """Eq. 3 and 4 as a mean: −log P(i | h_i) with all other keys as negatives."""
    keys, total = keys_of(V), 0.0
    for i, h in zip(rows, H, strict=True):
        scores = [np.exp(h @ k / SETTINGS.temperature) for k in keys]
        total -= np.log(scores[i] / sum(scores))
    return total / len(rows)


def ranking(H, K):
    """Eq. 8 and 14, one direction, κ = 1."""
    m, epsilon, total = SETTINGS.margin, SETTINGS.shift, 0.0
    for i, h in enumerate(H):
        own, sums = h @ K[i], 0.0
        for k in K:
            sums += np.exp(h @ k if own - h @ k <= m else h @ k - epsilon)
        total += m + np.log(sums) - own
    return total / len(H)


def objective(F, G, V, rows=ROWS):
    """Eq. 15 of a batch, of outputs before the tanh."""
    H, K = unit(np.tanh(F)), unit(np.tanh(G))
    beta = SETTINGS.key_share
    keys = contrastive(H, V, rows) + contrastive(K, V, rows)
    return beta * keys + (1 - beta) * (ranking(H, K) + ranking(K, H))


@pytest.fixture
def made(toy, joint_stage):
    loss = MemoryLoss(SETTINGS, N, BITS)
    loss.V += torch.randn(N, BITS, generator=torch.Generator().manual_seed(1))
    return joint_stage(toy, loss)


def test_the_loss_is_the_printed_one(toy, made):
    V = made.loss.V.numpy().copy()
    loss, terms = made.batch_loss(torch.tensor(ROWS))
    expected = objective(toy["F"][ROWS], toy["G"][ROWS], V)
    assert loss.item() == pytest.approx(expected)
    assert sum(terms.values()).item() == pytest.approx(expected)


def test_both_networks_get_its_gradient(toy, made, numerical_gradient):
    V = made.loss.V.numpy().copy()
    F, G = toy["F"][ROWS], toy["G"][ROWS]
    made.batch_loss(torch.tensor(ROWS))[0].backward()
    for network, expected in (
        (made.image_network, numerical_gradient(lambda X: objective(X, G, V), F)),
        (made.text_network, numerical_gradient(lambda X: objective(F, X, V), G)),
    ):
        np.testing.assert_allclose(network.values.grad[ROWS], expected, atol=1e-7)


def test_the_bank_follows_with_momentum_after_the_batch(toy, made):
    V = made.loss.V.numpy().copy()
    made.batch_loss(torch.tensor(ROWS))
    for i in range(N):
        if i in ROWS:
            h, k = (unit(np.tanh(toy[side][[i]]))[0] for side in "FG")
            V[i] = 0.3 * V[i] + 0.7 * (h + k) / 2
    np.testing.assert_allclose(made.loss.V, V)
    assert not made.loss.V.requires_grad


def test_the_bank_belongs_to_checkpoints_and_learns_nothing_itself(made):
    (sweep,) = made.sweeps()
    assert sweep.networks == [made.image_network, made.text_network]
    assert made.tensors()["loss.V"] is made.loss.V


def test_as_many_negatives_are_drawn_as_requested_less_the_pairs_own_key():
    # all keys are alike, so that the loss is the logarithm of their number
    loss = MemoryLoss(UCCH(negatives=3, key_share=0.5), 50, 4)
    outputs = JointOutputs(torch.tensor([7]), *torch.ones(2, 1, 4), *torch.ones(2, 1))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        losses = [2 * loss(outputs)[1]["image keys"].item() for _ in range(60)]
    assert max(losses) == pytest.approx(np.log(4))
    assert min(losses) == pytest.approx(np.log(3))
    assert np.mean(np.isclose(losses, np.log(4))) > 0.8


@pytest.mark.parametrize(
    "wrong",
    [
        {"temperature": 0.0},
        {"negatives": 0},
        {"shift": 0.0},
        {"margin": -0.1},
        {"key_share": 1.0},
        {"momentum": 1.0},
    ],
)
def test_settings_outside_their_range_are_refused(wrong):
    with pytest.raises(SettingError, match=next(iter(wrong))):
        UCCH(**wrong).check()
