"""First weights: their spread, and where the random numbers come from."""

import math

import pytest
import torch
from torch import nn

from fdch.networks.fusion import FusionNetwork
from fdch.networks.head import ImageHead
from fdch.networks.image import load
from fdch.networks.initialization import convolution, initialize, linear
from fdch.networks.text import TextNetwork, WordLayer


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize(
    ("layer", "fan_in"),
    [
        (linear(300, 200), 300),
        (convolution(30, 200, 3, bias=True), 270),
        (WordLayer(300, 200), 300),
    ],
    ids=["linear", "convolution", "words"],
)
def test_spread_follows_the_number_of_inputs(layer, fan_in):
    initialize(layer, "normal", seeded())
    assert layer.weight.std().item() == pytest.approx(0.01, rel=0.05)
    assert layer.bias.std().item() == pytest.approx(0.01, rel=0.2)
    initialize(layer, "he", seeded())
    assert layer.weight.std().item() == pytest.approx(math.sqrt(2 / fan_in), rel=0.05)
    assert not layer.bias.any()
    initialize(layer, "torch", seeded())
    bound = 1 / math.sqrt(fan_in)
    assert 0.95 * bound < layer.weight.abs().max().item() <= bound
    assert 0.5 * bound < layer.bias.abs().max().item() <= bound


def test_grouped_convolutions_count_the_inputs_of_one_group():
    layer = convolution(64, 64, 5, groups=64)
    initialize(layer, "he", seeded())
    assert layer.weight.std().item() == pytest.approx(math.sqrt(2 / 25), rel=0.1)


def test_same_seed_gives_same_weights_and_another_seed_others():
    layers = [linear(4, 3) for _ in range(3)]
    for layer, seed in zip(layers, [1, 1, 2], strict=True):
        initialize(layer, "he", seeded(seed))
    assert torch.equal(layers[0].weight, layers[1].weight)
    assert not torch.equal(layers[0].weight, layers[2].weight)


def test_layers_of_one_module_differ():
    module = nn.Sequential(linear(4, 4), linear(4, 4))
    initialize(module, "normal", seeded())
    first, _, second, _ = module.parameters()
    assert not torch.equal(first, second)


def test_norm_layers_are_left_alone():
    norm = nn.GroupNorm(1, 16)
    initialize(nn.Sequential(convolution(3, 16, 3), norm), "normal", seeded())
    assert torch.equal(norm.weight, torch.ones(16))


def test_no_network_touches_the_global_generator():
    before = torch.random.get_rng_state()
    TextNetwork(5, 2, hidden=4, word_dropout=0.5)
    ImageHead(5, 2, dropout=0.5)
    FusionNetwork(5, 2, hidden=4)
    load("small")
    load("efficientnet_lite0")
    assert torch.equal(torch.random.get_rng_state(), before)
