"""A batch compared with a sample of all pairs gets the right gradient on average."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from fdch.methods.mith import MITH, BufferLoss
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
