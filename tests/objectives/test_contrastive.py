"""InfoNCE between halves of pairs, and keys distinguished from others."""

import math

import pytest
import torch

from fdch.objectives.contrastive import contrastive_loss, key_loss

NONE = torch.zeros(1, 2, dtype=torch.bool)


def test_pairs_that_all_look_alike_cost_the_logarithm_of_their_number():
    F = torch.ones(4, 3)
    assert contrastive_loss(F, F, 0.1).item() == pytest.approx(math.log(4))


def test_both_directions_count_alike():
    F = torch.tensor([[1.0, 0.0], [0.6, 0.8]])
    G = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    rows = [math.log(2), math.log(2)]
    columns = [math.log(1 + math.exp(-0.8)), math.log(1 + math.exp(0.8))]
    expected = (sum(rows) / 2 + sum(columns) / 2) / 2
    assert contrastive_loss(F, G, 0.5).item() == pytest.approx(expected)
    assert contrastive_loss(G, F, 0.5).item() == pytest.approx(expected)


def test_lengths_of_outputs_do_not_count():
    F = torch.randn(5, 4, generator=torch.Generator().manual_seed(0))
    assert torch.allclose(contrastive_loss(F, 7 * F, 0.2), contrastive_loss(F, F, 0.2))


def test_a_low_temperature_stays_finite():
    F = torch.tensor([[1.0, 0.0], [-1.0, 0.0]])
    assert contrastive_loss(F, -F, 1e-3).item() == pytest.approx(2000)


def test_a_key_among_strangers_is_a_softmax():
    F = torch.tensor([[1.0, 0.0]])
    others = torch.tensor([[0.0, 1.0], [-1.0, 0.0]])
    expected = -math.log(math.exp(2) / (math.exp(2) + 1 + math.exp(-2)))
    assert key_loss(F, F, others, NONE, 0.5).item() == pytest.approx(expected)


def test_an_items_own_key_is_not_held_against_it():
    F = torch.tensor([[1.0, 0.0]])
    others = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    own = torch.tensor([[True, False]])
    expected = key_loss(F, F, others[1:], NONE[:, 1:], 0.5)
    assert torch.allclose(key_loss(F, F, others, own, 0.5), expected)


def test_a_pair_without_others_costs_nothing_and_has_a_gradient():
    F = torch.tensor([[1.0, 0.5]], requires_grad=True)
    loss = key_loss(F, F.detach(), F.detach(), torch.tensor([[True]]), 0.5)
    loss.backward()
    assert loss.item() == 0
    assert F.grad is not None
    assert torch.isfinite(F.grad).all()
