"""Batches go through a group of processes and back without a change."""

import numpy as np
import pytest
import torch
import torch.distributed as dist
from scipy.sparse import csr_array
from torch import nn

from fdch.networks.head import ImageHead
from fdch.networks.share import Share, compute_share
from fdch.networks.text import TextNetwork
from fdch.objectives.quantization import quantization_loss
from fdch.training.batches import TrainingPairs
from fdch.training.context import Context
from fdch.training.devices import processes
from fdch.training.devices.shared_batches import gather_rows, own_share, share_bounds
from fdch.training.joint import JointStage
from fdch.training.loop import Schedule, train

ITEMS, WIDTH, WORDS, BITS = 23, 6, 40, 4
BACKENDS = [
    ("cpu", "gloo"),
    pytest.param("cuda", "nccl", marks=pytest.mark.device),
]


class Centre(nn.Module):
    """A loss that learns a point near all outputs."""

    def __init__(self):
        super().__init__()
        self.point = nn.Parameter(torch.ones(BITS))

    def forward(self, outputs):
        both = torch.cat([outputs.F, outputs.G])
        loss = quantization_loss(both, self.point.expand_as(both)) / len(both)
        return loss, {"distance": loss.detach()}


@pytest.fixture
def join_alone(monkeypatch):
    """A function that makes this process a group of one."""

    def join(backend):
        group = processes.Group(0, 1, dist.HashStore())  # type: ignore[attr-defined]
        processes._connect(group, backend, processes.TIMEOUT)
        monkeypatch.setattr(processes, "_group", group)

    yield join
    if dist.is_initialized():
        dist.destroy_process_group()


def learn(device):
    """Train small networks with dropout and a loss of their own; return all tensors."""
    rng = np.random.default_rng(0)
    pairs = TrainingPairs(
        rng.standard_normal((ITEMS, WIDTH)).astype(np.float32),
        csr_array((rng.random((ITEMS, WORDS)) < 0.05).astype(np.float32)),
        (rng.random((ITEMS, 3)) < 0.5).astype(np.uint8),
        torch.device(device),
    )
    stage = JointStage(
        pairs,
        ImageHead(WIDTH, BITS, hidden=8, dropout=0.4).to(device),
        TextNetwork(WORDS, BITS, hidden=8, word_dropout=0.3).to(device),
        Centre().to(device),
    )
    stage.stays_on_device = False
    train(stage, Schedule(2, 8, 1e-2, 1e-3, 0.1, "adamw"), 0, Context(device=device))
    return {name: tensor.detach().cpu() for name, tensor in stage.tensors().items()}


@pytest.mark.parametrize(("device", "backend"), BACKENDS)
def test_a_group_of_one_learns_what_a_process_without_a_group_learns(
    join_alone, device, backend
):
    expected = learn(device)
    join_alone(backend)
    assert own_share(8) == Share(8, slice(0, 8))
    torch.testing.assert_close(learn(device), expected)


@pytest.mark.parametrize(("items", "count"), [(128, 2), (37, 2), (11, 3), (3, 3)])
def test_shares_cover_a_batch_and_differ_by_one_row_at_most(items, count):
    bounds = share_bounds(items, count)
    sizes = np.diff(bounds)
    assert (bounds[0], bounds[-1]) == (0, items)
    assert sizes.min() >= 1
    assert sizes.max() - sizes.min() <= 1


def test_a_batch_of_fewer_rows_than_processes_is_not_shared(monkeypatch):
    group = processes.Group(1, 3, None)
    monkeypatch.setattr(processes, "_group", group)
    assert own_share(2) is None
    assert own_share(3) == Share(3, slice(1, 2))


def test_without_a_group_outputs_stay_as_they_are():
    outputs = torch.ones(2, BITS)
    assert own_share(2) is None
    assert gather_rows(outputs) is outputs
    with compute_share(Share(4, slice(0, 2))):
        assert gather_rows(outputs) is outputs
