"""Both networks in one pass, by losses that learn or remember on their own."""

import pytest
import torch
from torch import nn

from fdch.networks.head import ImageHead, fit_standardization
from fdch.networks.text import TextNetwork
from fdch.training.batches import TrainingPairs
from fdch.training.checkpoints import Checkpoints
from fdch.training.context import Context
from fdch.training.joint import JointStage
from fdch.training.loop import Schedule, train

BITS = 8
PLAN = Schedule(3, 64, 1e-2, 1e-3, 0.01, "adamw")


class Distance(nn.Module):
    """How far both sides of a pair lie apart."""

    def forward(self, outputs):
        loss = (outputs.F - outputs.G).square().sum()
        return loss, {"distance": loss.detach()}


class Learning(nn.Module):
    """How far both sides lie from a point that is learned."""

    def __init__(self):
        super().__init__()
        self.point = nn.Parameter(torch.ones(BITS))

    def forward(self, outputs):
        loss = (outputs.F + outputs.G - self.point).square().sum()
        return loss, {"point": loss.detach()}


class Remembering(nn.Module):
    """How far both sides lie from a point that follows them."""

    point: torch.Tensor

    def __init__(self):
        super().__init__()
        self.register_buffer("point", torch.ones(BITS))

    def forward(self, outputs):
        loss = (outputs.F + outputs.G - self.point).square().sum()
        self.point.lerp_(outputs.image_buffer.mean(dim=0), 0.5)
        return loss, {"point": loss.detach()}


@pytest.fixture(scope="module")
def data(factor_pairs):
    pairs = factor_pairs(160, noise=0.3)
    return TrainingPairs(
        pairs.images.values, pairs.texts.matrix, pairs.labels, torch.device("cpu")
    )


def stage(data, loss, dropout=0.3):
    generator = torch.Generator().manual_seed(0)
    features = data.images(torch.arange(data.items))
    image = ImageHead(features.shape[1], BITS, dropout=dropout, generator=generator)
    fit_standardization(image, features.numpy())
    text = TextNetwork(90, BITS, hidden=64, word_dropout=dropout, generator=generator)
    return JointStage(data, image, text, loss())


def snapshot(stage):
    return {key: value.detach().clone() for key, value in stage.tensors().items()}


def changed(before, after):
    return {key for key in before if not torch.equal(before[key], after[key])}


def test_it_begins_with_the_outputs_of_a_first_pass(data):
    made = stage(data, Distance)
    with torch.no_grad():
        raw = made.image_network(data.images(torch.arange(data.items)))
    assert torch.allclose(made.F, torch.tanh(raw))
    assert made.G.shape == (data.items, BITS)


def test_a_batch_refreshes_its_own_rows_alone(data):
    made = stage(data, Distance)
    for buffer in (made.F, made.G):
        buffer.zero_()
    made.batch_loss(torch.arange(20))
    for buffer in (made.F, made.G):
        assert buffer.any(dim=1).nonzero().flatten().tolist() == list(range(20))


@pytest.mark.parametrize(
    ("loss", "own"), [(Distance, set()), (Learning, {"loss"}), (Remembering, {"loss"})]
)
def test_networks_buffers_and_what_the_loss_holds_change(data, loss, own):
    made = stage(data, loss)
    before = snapshot(made)
    train(made, PLAN, 0, Context())
    roles = {name.split(".")[0] for name in changed(before, snapshot(made))}
    assert roles == {"image", "text", "F", "G"} | own


def test_only_a_loss_with_parameters_has_an_optimizer(data):
    for loss, learns in ((Distance, False), (Learning, True), (Remembering, False)):
        made = stage(data, loss)
        (sweep,) = made.sweeps()
        assert (made.loss in sweep.networks) == learns


def test_figures_are_those_of_both_sides(data):
    assert set(stage(data, Distance).end_epoch()) == {
        "mean |F|",
        "imbalance F",
        "mean |G|",
        "imbalance G",
    }


class Stop(Exception):
    """The user's interruption."""


@pytest.mark.parametrize("loss", [Distance, Learning, Remembering])
@pytest.mark.parametrize("epochs", [1, 2])
def test_resumed_training_ends_as_uninterrupted(tmp_path, data, loss, epochs):
    whole = stage(data, loss)
    train(whole, PLAN, 3, Context())

    def stop(update):
        if update.done > epochs:
            raise Stop

    kept = Checkpoints(tmp_path / "kept", "task", seconds=0)
    with pytest.raises(Stop):
        train(stage(data, loss), PLAN, 3, Context(stop, checkpoints=kept))
    resumed = stage(data, loss)
    train(resumed, PLAN, 3, Context(checkpoints=kept))
    assert not changed(snapshot(whole), snapshot(resumed))
