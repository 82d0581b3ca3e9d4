"""Dropout from a generator of its own."""

import copy

import pytest
import torch

from fdch.errors import SettingError
from fdch.networks.dropout import Dropout


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def test_drops_the_asked_share_and_keeps_the_mean():
    dropped = Dropout(0.3, seeded())(torch.ones(100, 100))
    assert (dropped == 0).float().mean().item() == pytest.approx(0.3, abs=0.02)
    assert dropped.mean().item() == pytest.approx(1, abs=0.03)


def test_without_rescaling_kept_entries_stay_as_they_are():
    dropped = Dropout(0.3, seeded(), rescaled=False)(torch.ones(1000))
    assert set(dropped.tolist()) == {0.0, 1.0}


def test_does_nothing_when_evaluating_or_at_rate_zero():
    values = torch.randn(50, generator=seeded())
    assert torch.equal(Dropout(0.9).eval()(values), values)
    assert torch.equal(Dropout(0.0)(values), values)


def test_seed_decides_the_draws_and_two_draws_differ():
    values = torch.ones(1000)
    one, same, other = (Dropout(0.5, seeded(seed)) for seed in (1, 1, 2))
    first = one(values)
    assert torch.equal(first, same(values))
    assert not torch.equal(first, other(values))
    assert not torch.equal(first, one(values))


def test_gradient_flows_through_kept_entries_only():
    values = torch.ones(100, requires_grad=True)
    dropped = Dropout(0.5, seeded())(values)
    (gradient,) = torch.autograd.grad(dropped.sum(), values)
    assert torch.equal(gradient, dropped.detach())


def test_copies_go_on_independently():
    layer = Dropout(0.5, seeded())
    layer(torch.ones(10))
    twin = copy.deepcopy(layer)
    assert torch.equal(layer(torch.ones(1000)), twin(torch.ones(1000)))


@pytest.mark.parametrize("rate", [-0.1, 1.0, float("nan")])
def test_refuses_rates_outside_zero_to_one(rate):
    with pytest.raises(SettingError, match="dropout rate"):
        Dropout(rate)
