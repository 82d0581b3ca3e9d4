"""The other half of a pair before all others."""

import math

import pytest
import torch

from fdch.objectives.ranking import ranking_loss


def test_items_beyond_the_margin_count_less():
    F = torch.eye(2)
    # own cosine 1, the other's 0: beyond a margin of 0.5, so lowered by 0.3
    one_way = 0.5 + math.log(math.exp(1) + math.exp(-0.3)) - 1
    assert ranking_loss(F, F, 0.5, 0.3).item() == pytest.approx(2 * one_way)


def test_items_within_the_margin_count_as_they_are():
    F = torch.eye(2)
    one_way = 2.0 + math.log(math.exp(1) + 1) - 1
    assert ranking_loss(F, F, 2.0, 0.3).item() == pytest.approx(2 * one_way)


def test_it_bounds_the_hinge_on_the_hardest_item():
    generator = torch.Generator().manual_seed(0)
    F, G = torch.randn(2, 6, 4, generator=generator)
    M = torch.nn.functional.cosine_similarity(F[:, None], G[None], dim=2)
    hardest = M.masked_fill(torch.eye(6, dtype=torch.bool), -torch.inf)
    hinge = sum(
        (0.2 + hardest.amax(dim=way) - M.diagonal()).relu().mean() for way in (0, 1)
    )
    assert ranking_loss(F, G, 0.2, 1.0) > hinge


def test_matched_pairs_cost_less_than_exchanged_ones():
    F = torch.tensor([[1.0, 0.1], [-1.0, 0.2]])
    assert ranking_loss(F, F, 0.2, 0.1) < ranking_loss(F, F.flip(0), 0.2, 0.1)
