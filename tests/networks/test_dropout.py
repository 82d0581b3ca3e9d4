"""Dropout of words."""

import pytest
import torch

from fdch.errors import SettingError
from fdch.networks.dropout import WordDropout


def test_about_the_asked_share_is_dropped_and_the_rest_kept_as_it_is():
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
