"""DSPH's loss against loops over its sums, gradients by finite differences."""

import numpy as np
import pytest
import torch

from fdch.methods.dsph import DSPH, ProxyLoss
from fdch.objectives.proxies import packing_threshold

ALPHA, ROWS, BITS = 0.7, [0, 3, 4, 7, 8], 5


def cosine(x, y):
    return x @ y / np.sqrt((x @ x) * (y @ y))


def proxies_term(H, Y, P, tau):
    """Means of 1 − cos over labels, and of max(0, cos − τ) over the others."""
    near, far = [], []
    for h, y in zip(H, Y, strict=True):
        for label, p in enumerate(P):
            if y[label]:
                near.append(1 - cosine(h, p))
            else:
                far.append(max(0, cosine(h, p) - tau))
    return np.mean(near) + np.mean(far)


def unrelated_term(left, right, Y, tau):
    """The mean of max(0, cos − τ) over pairs without a common label."""
    found = []
    for x, y in zip(left, Y, strict=True):
        for x_, y_ in zip(right, Y, strict=True):
            if not (y * y_).any():
                found.append(max(0, cosine(x, x_) - tau))
    return np.mean(found)


def objective(F, G, P, Y):
    """The whole loss of a batch, of outputs before the tanh."""
    tau = packing_threshold(BITS, len(P))
    H, K = np.tanh(F), np.tanh(G)
    pairs = sum(unrelated_term(*sides, Y, tau) for sides in ((H, H), (K, K), (H, K)))
    return proxies_term(H, Y, P, tau) + proxies_term(K, Y, P, tau) + ALPHA * pairs


@pytest.fixture
def made(toy, joint_stage):
    generator = torch.Generator().manual_seed(0)
    loss = ProxyLoss(torch.tensor(toy["Y"]), BITS, ALPHA, generator)
    return joint_stage(toy, loss)


def test_the_loss_is_the_printed_one(toy, made):
    P, Y = made.loss.P.detach().numpy(), toy["Y"][ROWS]
    loss, terms = made.batch_loss(torch.tensor(ROWS))
    expected = objective(toy["F"][ROWS], toy["G"][ROWS], P, Y)
    assert loss.item() == pytest.approx(expected)
    assert sum(terms.values()).item() == pytest.approx(expected)


def test_both_networks_and_the_proxies_get_its_gradient(toy, made, numerical_gradient):
    P, Y = made.loss.P.detach().numpy().copy(), toy["Y"][ROWS]
    point = {"F": toy["F"][ROWS], "G": toy["G"][ROWS], "P": P}
    made.batch_loss(torch.tensor(ROWS))[0].backward()
    found = {
        "F": made.image_network.values.grad[ROWS],
        "G": made.text_network.values.grad[ROWS],
        "P": made.loss.P.grad,
    }
    for name, at in point.items():
        expected = numerical_gradient(
            lambda x, name=name: objective(**{**point, name: x}, Y=Y), at
        )
        np.testing.assert_allclose(found[name], expected, atol=1e-7)


def test_proxies_learn_with_the_networks_and_belong_to_checkpoints(made):
    (sweep,) = made.sweeps()
    assert sweep.networks == [made.image_network, made.text_network, made.loss]
    assert made.tensors()["loss.P"] is made.loss.P


def test_the_saved_method_has_no_proxies(factor_pairs):
    fitted = DSPH(bits=8, epochs=1, text_hidden=8, batch_size=20).fit(factor_pairs(40))
    assert {name.split(".")[0] for name in fitted.state()} == {
        "inputs",
        "image",
        "text",
    }
