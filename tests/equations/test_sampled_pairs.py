"""A batch compared with a sample of all pairs gets the right gradient on average."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from fdch.methods.mith import MITH, BufferLoss
from fdch.objectives.neighbours import SCALE, neighbour_loss
from fdch.objectives.pairwise import half_products, shares_label
from fdch.training import batches
from fdch.training.alternating import AlternatingWeights
from fdch.training.batches import TrainingPairs
from fdch.training.two_stage import FusionWeights, ModalityWeights, Rarity

ROWS = [1, 4, 6]


def gradient(stage, loss, network):
    network.zero_grad()
    loss(torch.tensor(ROWS))[0].backward()
    return network.values.grad[ROWS].numpy().copy()


def require_unbiased(stage, loss, network):
    """Compare the exact gradient with the mean over all samples of one pair."""
    items = stage.items
    expected = gradient(stage, loss, network)
    found = []
    for row in range(items):
        stage.pairs.draw_others = lambda row=row: (torch.tensor([row]), float(items))
        found.append(gradient(stage, loss, network))
    np.testing.assert_allclose(np.mean(found, axis=0), expected, atol=1e-12)
    assert not np.allclose(found[0], expected)


def test_stage_one(toy, fusion_stage):
    weights = FusionWeights(0.3, 0.2, Rarity(prior=1.5))
    stage = fusion_stage({**toy, "H": toy["F"]}, weights)
    require_unbiased(stage, stage.loss, stage.network)


@pytest.mark.parametrize("side", ["image", "text"])
def test_stage_two(toy, modality_stage, side):
    stage = modality_stage(toy, ModalityWeights(3.0, 0.3, 0.2, 0.1, Rarity(prior=1.5)))
    loss, network = getattr(stage, f"{side}_loss"), getattr(stage, f"{side}_network")
    require_unbiased(stage, loss, network)


def test_networks_in_turn(toy, table_stage):
    stage = table_stage(toy, AlternatingWeights(0.3, 0.2, intra=0.7))
    require_unbiased(stage, stage.image_loss, stage.image_network)


def test_both_networks_at_once(toy, joint_stage):
    stage = joint_stage(toy, BufferLoss(MITH(), torch.tensor(toy["Y"])))
    require_unbiased(stage, stage.batch_loss, stage.image_network)


@pytest.fixture
def make_pairs():
    def make(items, pairwise):
        images = np.zeros((items, 2), np.float32)
        texts = csr_array((items, 3), dtype=np.float32)
        labels = np.ones((items, 1), np.uint8)
        device = torch.device("cpu")
        return TrainingPairs(images, texts, labels, device, pairwise=pairwise)

    return make


def test_every_pair_is_drawn_equally_often(make_pairs):
    torch.manual_seed(0)
    rows, scale = make_pairs(8, "sampled").draw_others()
    counts = np.bincount(rows, minlength=8)
    assert len(rows) * scale == 8
    assert abs(counts - 512).max() < 5 * np.sqrt(512)


@pytest.mark.parametrize(
    "items, pairwise, is_sampled",
    [(5, "auto", False), (6, "auto", True), (6, "exact", False), (5, "sampled", True)],
)
def test_large_data_is_sampled(make_pairs, monkeypatch, items, pairwise, is_sampled):
    monkeypatch.setattr(batches, "EXACT_UP_TO", 5)
    assert make_pairs(items, pairwise).is_sampled is is_sampled


def all_samples(items, count):
    """Every sample with repetition, and how probable it is."""
    samples = list(itertools.combinations_with_replacement(range(items), count))
    orders = [
        math.factorial(count) // math.prod(map(math.factorial, Counter(x).values()))
        for x in samples
    ]
    return torch.tensor(samples), torch.tensor(
        [each / items**count for each in orders], dtype=torch.float64
    )


@pytest.fixture
def classes():
    """Θ and S of four pairs with a label each: a class of one, and one of three."""
    H = torch.tensor(np.random.default_rng(2).standard_normal((4, 5)))
    Y = torch.eye(2, dtype=torch.float64)[[0, 1, 1, 1]]
    return half_products(H, H), shares_label(Y, Y)


@pytest.mark.parametrize("row", [0, 1])
def test_neighbours_have_an_unbiased_sum_and_an_unbiased_mean(classes, row):
    """The mean is that of the samples that hold a similar pair."""
    theta, S = (part[row] for part in classes)
    samples, probability = all_samples(len(theta), 3)
    drawn, similar = SCALE * theta[samples], S[samples]

    def find_terms(S):
        each = zip(theta[samples].split(1), S.split(1), strict=True)
        return torch.stack([neighbour_loss(*both, len(theta) / 3) for both in each])

    logarithms = find_terms(torch.ones_like(similar)) + drawn.mean(dim=1)
    expected = (SCALE * theta).exp().sum()
    assert (logarithms.exp() @ probability).item() == pytest.approx(expected.item())
    holds_any = similar.any(dim=1)
    means = (logarithms - find_terms(similar))[holds_any]
    found = means @ probability[holds_any] / probability[holds_any].sum()
    expected = (SCALE * theta * S).sum() / S.sum()
    assert found.item() == pytest.approx(expected.item())


def bias_of_neighbours(theta, S, count):
    """Return how far the mean slope of all samples is from the exact one.

    It is a share of how strongly an item with one similar item is drawn to it.
    """
    samples, probability = all_samples(len(theta), count)
    drawn = theta[samples].requires_grad_()
    neighbour_loss(drawn, S[samples], len(theta) / count).backward()
    mean = torch.zeros(len(theta), dtype=torch.float64)
    mean.index_add_(0, samples.flatten(), (drawn.grad * probability[:, None]).flatten())
    point = theta[None].clone().requires_grad_()
    neighbour_loss(point, S[None]).backward()
    return float((mean - point.grad).norm() / SCALE)


@pytest.mark.parametrize("row", [0, 1])
def test_what_bias_is_left_of_neighbours_falls_with_the_sample(classes, row):
    theta, S = (part[row] for part in classes)
    found = [bias_of_neighbours(theta, S, count) for count in (32, 64)]
    assert found[1] / found[0] == pytest.approx(0.5, abs=0.01)
    assert found[1] < 0.01


def test_the_logarithm_is_too_low_by_half_the_variance_of_the_sum():
    """For codes of 24 classes that is 0.1 with 128 pairs, and 0.003 with 4,096."""
    items, bits, generator = 20_001, 64, torch.Generator().manual_seed(0)
    centres = torch.randn(24, bits, generator=generator, dtype=torch.float64).sign()
    flips = 1 - 2 * (torch.rand(items, bits, generator=generator) < 0.1).double()
    H = centres[torch.arange(items) % 24] * flips
    theta = SCALE * half_products(H[:1], H)[0]
    half_variance = float(theta.exp().var() / theta.exp().mean() ** 2) / 2
    samples = torch.randint(items, (20_000, 128), generator=generator)
    found = theta[samples].logsumexp(dim=1).mean() + math.log(items / 128)
    bias = float(found - theta.logsumexp(dim=0))
    assert bias == pytest.approx(-half_variance / 128, rel=0.15)
    assert half_variance / batches.SAMPLE < 0.005
