"""A captured step teaches what the same step teaches without a graph."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from fdch.networks.head import ImageHead
from fdch.networks.text import TextNetwork
from fdch.objectives.reduction import WeightedSum
from fdch.progress import Update
from fdch.training.batches import TrainingPairs
from fdch.training.context import Context
from fdch.training.loop import Schedule, train
from fdch.training.two_stage import ModalityStage, ModalityWeights, Rarity

ITEMS, WIDTH, WORDS, BITS = 50, 12, 40, 8
SCHEDULE = Schedule(4, 16, 1e-2, 1e-3, 0.1, "adamw")


def learn(device, is_captured):
    """Train small networks; return F, G and what was reported."""
    rng = np.random.default_rng(0)
    labels = (rng.random((ITEMS, 3)) < 0.5).astype(np.uint8)
    pairs = TrainingPairs(
        rng.standard_normal((ITEMS, WIDTH)).astype(np.float32),
        csr_array((rng.random((ITEMS, WORDS)) < 0.1).astype(np.float32)),
        labels,
        device,
    )
    stage = ModalityStage(
        pairs,
        ImageHead(WIDTH, BITS, hidden=16).to(device),
        TextNetwork(WORDS, BITS, hidden=16, word_dropout=0.3).to(device),
        torch.sign(torch.from_numpy(rng.standard_normal((ITEMS, BITS))).float()).to(
            device
        ),
        ModalityWeights(1.0, 0.1, 0.1, 0.01, Rarity(1.0, 1.0)),
        WeightedSum("per_term", ITEMS),
    )
    stage.stays_on_device = is_captured
    reports: list[Update] = []
    train(stage, SCHEDULE, 0, Context(progress=reports.append, device=str(device)))
    return stage.F.cpu(), stage.G.cpu(), [dict(report.values) for report in reports]


@pytest.mark.device
def test_a_graph_replays_what_the_step_does():
    plain, captured = (learn(torch.device("cuda"), is_it) for is_it in (False, True))
    for expected, found in zip(plain[:2], captured[:2], strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    assert captured[2] == [pytest.approx(figures, rel=1e-3) for figures in plain[2]]


def test_without_an_accelerator_nothing_is_captured():
    plain, captured = (learn(torch.device("cpu"), is_it) for is_it in (False, True))
    assert captured[2] == plain[2]
