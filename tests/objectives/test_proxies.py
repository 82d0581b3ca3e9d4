"""Proxies of labels: near their items, apart from the others; and how far."""

import numpy as np
import pytest
import torch

from fdch.objectives.proxies import packing_threshold, proxy_loss, unrelated_loss

PROXIES = torch.eye(3)[:2]  # two labels, three bits


def test_an_item_on_its_proxy_costs_nothing():
    F = torch.tensor([[2.0, 0.0, 0.0], [0.0, 0.5, 0.0]])
    assert proxy_loss(F, torch.eye(2), PROXIES, 0.0).item() == 0


def test_an_item_on_the_other_proxy_costs_both_ways():
    F = torch.tensor([[0.0, 1.0, 0.0]])
    Y = torch.tensor([[1.0, 0.0]])
    assert proxy_loss(F, Y, PROXIES, 0.25).item() == pytest.approx(1 + 0.75)


def test_all_items_and_their_labels_count_alike():
    # cosines 1 and 0 of the first item, 0 of the second: the mean of 0, 1 and 1
    F = torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    Y = torch.tensor([[1.0, 1.0], [1.0, 0.0]])
    assert proxy_loss(F, Y, PROXIES, 0.0).item() == pytest.approx(2 / 3)


def test_a_batch_that_has_every_label_or_none_is_finite():
    F = torch.tensor([[1.0, 1.0, 0.0]])
    for Y in (torch.ones(1, 2), torch.zeros(1, 2)):
        assert torch.isfinite(proxy_loss(F, Y, PROXIES, 0.0))


def test_pairs_that_share_a_label_may_be_near():
    F = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    assert unrelated_loss(F, F, torch.ones(2, 2), 0.5).item() == 0
    assert unrelated_loss(F, F, torch.eye(2), 0.25).item() == pytest.approx(0.75)


def test_distances_of_known_best_codes_give_the_threshold():
    # [16, 5, 8], [7, 3, 4] and [24, 12, 8] exist and none is better
    assert packing_threshold(16, 32) == 0
    assert packing_threshold(7, 8) == pytest.approx(1 - 8 / 7)
    assert packing_threshold(24, 4096) == pytest.approx(1 - 16 / 24)


def test_two_labels_may_have_opposite_codes_and_so_may_one():
    assert packing_threshold(8, 2) == packing_threshold(8, 1) == -1


def test_more_labels_than_codes_leave_no_distance():
    assert packing_threshold(2, 16) == 1


def test_more_labels_never_lie_further_apart():
    thresholds = [packing_threshold(32, labels) for labels in range(1, 300)]
    assert np.all(np.diff(thresholds) >= 0)
