"""Features to outputs, and fine-tuning beneath them."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from fdch.networks._base import FeatureNetwork
from fdch.networks.head import FineTunedNetwork, ImageHead, Standardization
from fdch.networks.image import load


def features(rows=50, width=5, seed=0):
    values = np.random.default_rng(seed).normal(3, 2, size=(rows, width))
    return values.astype(np.float32)


def test_fitted_features_have_mean_zero_and_deviation_one():
    values = features()
    scaled = Standardization(5).fit(values)(torch.from_numpy(values)).numpy()
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(scaled.std(axis=0), 1, rtol=1e-5)


@pytest.mark.parametrize("constant", [0.0, 0.1, -3e5])
def test_a_constant_feature_becomes_zero_not_nan(constant):
    values = features()
    values[:, 2] = constant
    scaled = Standardization(5).fit(values)(torch.from_numpy(values))
    assert scaled[:, 2].abs().max() < 0.1
    assert torch.isfinite(scaled).all()


def test_only_constant_features_stay_finite():
    scaled = Standardization(2).fit(np.ones((4, 2), np.float32))(torch.ones(4, 2))
    assert not scaled.any()


def test_unfitted_standardisation_changes_nothing():
    values = torch.from_numpy(features())
    assert torch.equal(Standardization(5)(values), values)


def test_standardisation_travels_with_the_state():
    values = features()
    head, other = ImageHead(5, 3), ImageHead(5, 3)
    head.standardization.fit(values)
    other.load_state_dict(head.state_dict())
    given = torch.from_numpy(values)
    assert torch.equal(head(given), other(given))


def test_head_is_linear_in_standardised_features():
    values = features()
    head = ImageHead(5, 3, generator=torch.Generator().manual_seed(1))
    head.standardization.fit(values)
    scaled = (values - values.mean(axis=0)) / values.std(axis=0)
    weight, bias = (part.detach().numpy() for part in head.output.parameters())
    outputs = head(torch.from_numpy(values)).detach().numpy()
    np.testing.assert_allclose(outputs, scaled @ weight.T + bias, atol=1e-5)


def test_dropout_acts_only_while_training():
    head = ImageHead(5, 3, dropout=0.5)
    values = torch.from_numpy(features())
    assert not torch.equal(head.train()(values), head.eval()(values))
    assert torch.equal(head(values), head(values))


def test_a_batch_of_one_keeps_its_axis():
    assert ImageHead(5, 1)(torch.zeros(1, 5)).shape == (1, 1)


class NormedNetwork(FeatureNetwork):
    name, size, width = "normed", 4, 3

    def __init__(self):
        super().__init__()
        self.norm: Any = nn.BatchNorm2d(3)

    def forward(self, pixels):
        return self.norm(self.planes(pixels)).mean(dim=(2, 3))


def test_fine_tuning_moves_network_and_head():
    network = load("small")
    module = FineTunedNetwork(network, ImageHead(network.width, 2)).train()
    pixels = torch.randint(0, 256, (2, 64, 64, 3), dtype=torch.uint8)
    module(pixels).square().sum().backward()
    for part in module.parameters():
        assert part.grad is not None and part.grad.any()


def test_batch_norm_keeps_its_statistics_while_fine_tuning():
    network, head = NormedNetwork(), ImageHead(3, 2, dropout=0.5)
    module = FineTunedNetwork(network, head).train()
    assert head.dropout.training
    assert not network.norm.training
    module(torch.full((2, 4, 4, 3), 200, dtype=torch.uint8)).sum().backward()
    assert torch.equal(network.norm.running_mean, torch.zeros(3))
    assert network.norm.weight.grad is not None


def test_the_root_of_features_that_are_never_negative_is_standardised():
    values = np.abs(features())
    scaled = Standardization(5).fit(values)(torch.from_numpy(values)).numpy()
    roots = np.sqrt(values + 1e-3 * values.mean())
    expected = (roots - roots.mean(axis=0)) / roots.std(axis=0)
    np.testing.assert_allclose(scaled, expected, atol=1e-4)


def test_features_with_negative_values_keep_their_shape():
    layer = Standardization(5).fit(features())
    assert layer.floor == 0


@pytest.mark.parametrize("sign", [1, -1])
def test_standardisation_has_a_finite_slope_at_zero(sign):
    values = np.abs(features())
    values[0, 0] = -1 if sign < 0 else 0
    layer = Standardization(5).fit(values)
    given = torch.zeros(2, 5, requires_grad=True)
    layer(given).sum().backward()
    assert given.grad is not None
    assert torch.isfinite(given.grad).all()


def test_a_new_value_below_zero_counts_as_zero_under_the_root():
    values = np.abs(features())
    layer = Standardization(5).fit(values)
    below, zero = layer(torch.full((1, 5), -3.0)), layer(torch.zeros(1, 5))
    assert torch.equal(below, zero)


def test_a_hidden_layer_lies_between_features_and_outputs():
    head = ImageHead(5, 3, hidden=7, generator=torch.Generator().manual_seed(1)).eval()
    values = torch.from_numpy(features())
    assert head.hidden is not None
    hidden = torch.relu(values @ head.hidden.weight.T + head.hidden.bias)
    expected = hidden @ head.output.weight.T + head.output.bias
    torch.testing.assert_close(head(values), expected)
    assert ImageHead(5, 3).hidden is None


def test_hidden_units_are_dropped_while_training():
    head = ImageHead(4, 1, hidden=2000, dropout=0.5)
    assert head.hidden is not None
    head.output.weight.data.fill_(1.0)
    head.output.bias.data.zero_()
    head.hidden.weight.data.zero_()
    head.hidden.bias.data.fill_(1.0)
    values = torch.zeros(1, 4)
    assert head.eval()(values).item() == 2000
    with torch.random.fork_rng():
        torch.manual_seed(0)
        assert head.train()(values).item() % 2 == 0
        assert head(values).item() != head(values).item()
