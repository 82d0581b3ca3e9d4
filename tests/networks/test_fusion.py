"""The fusion network against its formula."""

import numpy as np
import torch

from fdch.networks.fusion import FusionNetwork


def network(**settings):
    generator = torch.Generator().manual_seed(0)
    return FusionNetwork(6, 4, hidden=10, generator=generator, **settings)


def test_equals_the_formula_written_as_loops():
    net = network(initialization="he").double()
    rng = np.random.default_rng(0)
    f, g = rng.normal(size=(2, 5, 6))
    W1, b1, W2, b2 = (parameter.detach().numpy() for parameter in net.parameters())
    H = np.empty((5, 4))
    for i in range(5):
        Z = [np.tanh(f[i, j] + g[i, j]) for j in range(6)]
        hidden = [max(0.0, sum(W1[u] * Z) + b1[u]) for u in range(10)]
        for bit in range(4):
            H[i, bit] = sum(W2[bit] * hidden) + b2[bit]
    outputs = net(torch.from_numpy(f), torch.from_numpy(g)).detach().numpy()
    np.testing.assert_allclose(outputs, H)


def test_modalities_are_added_so_their_order_does_not_matter():
    f, g = torch.randn(2, 3, 6, generator=torch.Generator().manual_seed(1))
    net = network()
    assert torch.equal(net(f, g), net(g, f))


def test_small_first_weights_give_outputs_near_zero():
    f, g = torch.randn(2, 3, 6, generator=torch.Generator().manual_seed(1))
    assert network(initialization="normal")(f, g).abs().max() < 0.05


def test_defaults_are_the_papers_widths():
    net = FusionNetwork(2500, 16)
    assert net.hidden.weight.shape == (4096, 2500)
    assert net.output.weight.shape == (16, 4096)
