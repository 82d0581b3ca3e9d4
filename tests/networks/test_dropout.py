"""Dropout of features and of words."""

import pytest
import torch

from fdch.errors import SettingError
from fdch.networks.dropout import Dropout, WordDropout, draw_mask


def test_about_the_requested_share_is_dropped_and_the_rest_unchanged():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        dropped = WordDropout(0.3)(torch.ones(100, 100))
    assert set(dropped.unique().tolist()) == {0.0, 1.0}
    assert 0.68 < float(dropped.mean()) < 0.72


def test_nothing_is_dropped_in_evaluation_or_at_rate_zero():
    values = torch.arange(6.0)
    assert torch.equal(WordDropout(0.9).eval()(values), values)
    assert torch.equal(WordDropout(0.0)(values), values)


@pytest.mark.parametrize("rate", [-0.1, 1.0, 2.0])
def test_a_rate_outside_its_range_is_refused(rate):
    with pytest.raises(SettingError, match="from 0 to below 1"):
        WordDropout(rate)


@pytest.mark.parametrize("rate", [0.0, 0.2, 0.5, 0.97])
def test_a_mask_drops_the_share_in_every_place(rate):
    """Four entries come from one random number; each is as likely as the others."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        kept = draw_mask((20_000, 7), rate).float()
    error = 5 * (rate * (1 - rate) / 20_000) ** 0.5
    assert kept.mean(dim=0).tolist() == pytest.approx([1 - rate] * 7, abs=error)
    if rate:
        together = torch.corrcoef(kept.T)
        assert (together - torch.eye(7)).abs().max() < 0.04


def test_features_kept_are_scaled_up_forward_and_backward():
    values = torch.full((40, 5), 3.0, requires_grad=True)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        dropped = Dropout(0.25)(values)
        torch.manual_seed(0)
        assert torch.equal(dropped, Dropout(0.25)(values))
        assert not torch.equal(dropped, Dropout(0.25)(values))
    assert set(dropped.unique().tolist()) == {0.0, 4.0}
    (slope,) = torch.autograd.grad(dropped.sum(), values)
    assert torch.equal(slope, dropped.detach() / 3)


def test_features_pass_unchanged_in_evaluation():
    values = torch.ones(3, 4)
    assert torch.equal(Dropout(0.5).eval()(values), values)
