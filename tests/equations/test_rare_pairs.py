"""What makes up for rare similar pairs, against plain loops in float64."""

import math

import numpy as np
import pytest
import torch
from torch.nn import functional

from fdch.objectives.neighbours import SCALE, neighbour_loss, neighbour_share
from fdch.objectives.pairwise import (
    half_products,
    log_odds,
    pairwise_loss,
    shares_label,
)
from fdch.training.two_stage import FusionWeights, ModalityWeights, Rarity

N, BITS, CLASSES = 9, 5, 4
PRIOR, NEIGHBOURS = 1.3, 0.7


@pytest.fixture
def toy():
    rng = np.random.default_rng(1)
    Y = (rng.random((N, CLASSES)) < 0.3).astype(float)
    Y[2] = 0  # an item without a label has no similar one, not even itself
    values = {name: rng.standard_normal((N, BITS)) for name in "FGH"}
    values |= {name: rng.standard_normal((CLASSES, BITS)) for name in ("W1", "W2")}
    B = np.where(rng.standard_normal((N, BITS)) >= 0, 1.0, -1.0)
    return values | {"B": B, "Y": Y}


def neighbours_by_loops(left, right, Y, other_Y):
    total = 0.0
    for x, y in zip(left, Y, strict=True):
        theta = [0.25 * 0.5 * float(x @ x_) for x_ in right]
        similar = [
            t for t, y_ in zip(theta, other_Y, strict=True) if (y * y_).sum() > 0
        ]
        if similar:
            total_mass = math.log(sum(math.exp(t) for t in theta))
            total -= sum(t - total_mass for t in similar) / len(similar)
    return total


def rarity_by_loops(Y):
    similar = sum((y * y_).sum() > 0 for y in Y for y_ in Y)
    dissimilar = len(Y) ** 2 - similar
    return min(1, max(math.log2(dissimilar / similar), BITS / 64))


def likelihood_by_loops(left, right, Y, other_Y, shift):
    total = 0.0
    for x, y in zip(left, Y, strict=True):
        for x_, y_ in zip(right, other_Y, strict=True):
            theta = 0.5 * x @ x_ + shift
            total += np.logaddexp(0, theta) - float((y * y_).sum() > 0) * theta
    return total


def odds_by_loops(Y):
    similar = sum(float((a * b).sum() > 0) for a in Y for b in Y)
    return math.log(similar / (len(Y) ** 2 - similar))


def test_neighbour_loss_is_the_mean_surprise_at_similar_items(toy):
    F, G, Y = (torch.tensor(toy[name]) for name in "FGY")
    found = neighbour_loss(half_products(F[:4], G), shares_label(Y[:4], Y))
    expected = neighbours_by_loops(toy["F"][:4], toy["G"], toy["Y"][:4], toy["Y"])
    assert found.item() == pytest.approx(expected, rel=1e-12)


def test_slopes_are_those_of_plain_torch(toy):
    """Both losses have their backward pass written out."""
    Y = torch.tensor(toy["Y"])
    S = shares_label(Y[:4], Y)
    similar = S.sum(dim=1)

    def likelihood(theta):
        shifted = theta - 1.7
        return (functional.softplus(shifted) - S * shifted).sum()

    def surprise(theta):
        near = (S * theta).sum(dim=1) / similar.clamp(min=1)
        scaled = torch.logsumexp(SCALE * theta, dim=1) - SCALE * near
        return scaled[similar > 0].sum()

    for found, expected in (
        (lambda theta: pairwise_loss(theta, S, -1.7), likelihood),
        (lambda theta: neighbour_loss(theta, S), surprise),
    ):
        slopes = []
        for loss in (found, expected):
            F = torch.tensor(toy["F"][:4], requires_grad=True)
            (3 * loss(half_products(F, torch.tensor(toy["G"])))).backward()
            slopes.append(F.grad)
        torch.testing.assert_close(slopes[0], slopes[1], rtol=1e-12, atol=1e-14)


def test_neighbours_stay_finite_for_large_outputs():
    theta = torch.tensor([[1e6, -1e6, 0.0]], requires_grad=True)
    loss = neighbour_loss(theta, torch.tensor([[0.0, 1.0, 0.0]]))
    (slope,) = torch.autograd.grad(loss, theta)
    assert loss.item() == pytest.approx(2e6 * 0.25)
    assert slope.tolist() == [[0.25, -0.25, 0.0]]


@pytest.mark.parametrize("loss", [pairwise_loss, neighbour_loss])
def test_second_derivatives_are_refused(loss):
    theta = torch.tensor([[1.0, 2.0]], requires_grad=True)
    total = loss(theta, torch.tensor([[0.0, 1.0]]))
    (slope,) = torch.autograd.grad(total**2, theta, create_graph=True)
    with pytest.raises(RuntimeError, match="differentiate twice"):
        slope.sum().backward()


def test_log_odds_come_from_the_share_of_similar_pairs(toy):
    assert log_odds(torch.tensor(toy["Y"])) == pytest.approx(odds_by_loops(toy["Y"]))
    assert log_odds(torch.tensor([[1.0, 0], [0, 1]])) == 0  # half of all pairs


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_log_odds_stay_finite_where_all_pairs_or_none_are_similar(value):
    assert math.isfinite(log_odds(torch.full((5, 2), value)))


def test_log_odds_of_many_items_are_taken_from_some():
    Y = torch.eye(4).repeat(1500, 1)
    assert log_odds(Y) == pytest.approx(math.log(1 / 3), abs=0.01)


def test_a_shift_moves_every_inner_product(toy):
    F, G, Y = (torch.tensor(toy[name]) for name in "FGY")
    found = pairwise_loss(half_products(F, G), shares_label(Y, Y), shift=-1.7)
    expected = likelihood_by_loops(toy["F"], toy["G"], toy["Y"], toy["Y"], -1.7)
    assert found.item() == pytest.approx(expected, rel=1e-12)


def test_many_classes_prefer_orthogonal_codes_only_with_the_prior():
    """Without it, two groups of classes on opposite sides cost less."""
    Y = torch.eye(8, dtype=torch.float64).repeat(2, 1)
    hadamard = torch.ones(1, 1, dtype=torch.float64)
    for _ in range(3):
        hadamard = torch.cat(
            [torch.cat([hadamard, hadamard], 1), torch.cat([hadamard, -hadamard], 1)]
        )
    apart = hadamard.repeat(2, 1)  # each class its own orthogonal code
    two_groups = torch.ones(16, 8, dtype=torch.float64)
    two_groups[Y[:, 4:].any(dim=1)] = -1
    S, shift = shares_label(Y, Y), log_odds(Y)
    costs = {
        name: [float(pairwise_loss(half_products(H, H), S, by)) for by in (0.0, shift)]
        for name, H in (("apart", apart), ("two groups", two_groups))
    }
    assert costs["apart"][1] < costs["two groups"][1] / 2
    gain = [costs["two groups"][i] / costs["apart"][i] for i in (0, 1)]
    assert gain[1] > 1.5 * gain[0]
    surprise = [neighbour_loss(half_products(H, H), S) for H in (apart, two_groups)]
    assert surprise[0] < surprise[1]


def test_stage_one_adds_both_with_the_pairwise_terms_factor(toy, fusion_stage):
    weights = FusionWeights(0.4, 0.2, Rarity(PRIOR, NEIGHBOURS))
    stage = fusion_stage(toy, weights, "per_term")
    rows, Y, H = [0, 2, 5], toy["Y"], toy["H"]
    shift = PRIOR * odds_by_loops(Y)
    loss, _ = stage.loss(torch.tensor(rows))
    pairs = 2 * likelihood_by_loops(H[rows], H, Y[rows], Y, shift)
    pairs += 0.2 * (H.sum(axis=0) ** 2).sum()
    items = 0.4 * ((toy["B"][rows] - H[rows]) ** 2).sum()
    weight = NEIGHBOURS * rarity_by_loops(Y)
    items += 2 * weight * neighbours_by_loops(H[rows], H, Y[rows], Y)
    expected = pairs / (N * len(rows)) + items / len(rows)
    assert loss.item() == pytest.approx(expected, rel=1e-12)


def test_stage_two_weighs_both_as_its_pairwise_term(toy, modality_stage):
    weights = ModalityWeights(0.8, 0.0, 0.0, 0.0, Rarity(PRIOR, NEIGHBOURS))
    stage = modality_stage(toy, weights, "per_term")
    rows, Y = [1, 2, 8], toy["Y"]
    shift = PRIOR * odds_by_loops(Y)
    loss, terms = stage.text_loss(torch.tensor(rows))
    pairs = likelihood_by_loops(toy["G"][rows], toy["F"], Y[rows], Y, shift)
    items = neighbours_by_loops(toy["G"][rows], toy["F"], Y[rows], Y)
    weight = NEIGHBOURS * rarity_by_loops(Y)
    expected = 0.8 * (pairs / (N * len(rows)) + weight * items / len(rows))
    assert loss.item() == pytest.approx(expected, rel=1e-12)
    assert "text neighbours" in terms


def test_without_a_pairwise_term_stage_two_has_no_neighbours(toy, modality_stage):
    weights = ModalityWeights(0.0, 1.0, 0.0, 0.0, Rarity(PRIOR, NEIGHBOURS))
    _, terms = modality_stage(toy, weights).image_loss(torch.tensor([1, 2]))
    assert "image neighbours" not in terms


def test_short_codes_have_neighbours_where_similar_pairs_are_rare():
    shares = [0.05, 1 / 3, 0.4, 0.5, 0.7]
    odds = [math.log(share / (1 - share)) for share in shares]
    found = [neighbour_share(each, 16) for each in odds]
    assert found == pytest.approx([1, 1, math.log2(1.5), 0.25, 0.25])
    assert {neighbour_share(each, bits) for each in odds for bits in (64, 128)} == {1}
