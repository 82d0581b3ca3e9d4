"""Networks and codes in turn: the order, and what each step changes."""

import pytest
import torch

from fdch.networks.head import ImageHead, fit_standardization
from fdch.networks.text import TextNetwork
from fdch.objectives.quantization import binary
from fdch.objectives.reduction import WeightedSum
from fdch.training.alternating import AlternatingStage, AlternatingWeights
from fdch.training.batches import TrainingPairs
from fdch.training.checkpoints import Checkpoints
from fdch.training.context import Context
from fdch.training.loop import Schedule, train

BITS = 8
PLAN = Schedule(8, 40, 1e-2, 1e-3, 0.01, "adamw")
ALL = AlternatingWeights(0.05, 0.01, intra=1.0, decorrelation=0.02)


@pytest.fixture(scope="module")
def data(factor_pairs):
    pairs = factor_pairs(160, noise=0.3)
    return TrainingPairs(
        pairs.images.values, pairs.texts.matrix, pairs.labels, torch.device("cpu")
    )


def stage(data, weights=ALL, dropout=0.0):
    generator = torch.Generator().manual_seed(0)
    features = data.images(torch.arange(data.items))
    image = ImageHead(features.shape[1], BITS, dropout=dropout, generator=generator)
    fit_standardization(image, features.numpy())
    text = TextNetwork(90, BITS, hidden=64, word_dropout=dropout, generator=generator)
    add = WeightedSum("per_term", data.items)
    return AlternatingStage(data, image, text, weights, add)


def snapshot(stage):
    return {key: value.detach().clone() for key, value in stage.tensors().items()}


def changed(before, after):
    return {key for key in before if not torch.equal(before[key], after[key])}


def test_it_begins_with_the_code_of_a_first_pass(data):
    made = stage(data)
    assert made.F.abs().sum() > 0
    assert torch.equal(made.B, binary(made.F + made.G))


def test_texts_are_taught_before_images(data):
    made = stage(data)
    assert [sweep.networks for sweep in made.sweeps()] == [
        [made.text_network],
        [made.image_network],
    ]


@pytest.mark.parametrize(
    ("sweep", "buffer", "role"), [(0, "G", "text"), (1, "F", "image")]
)
def test_a_sweep_changes_its_own_network_and_buffer_alone(data, sweep, buffer, role):
    made = stage(data)
    before = snapshot(made)
    loss = made.sweeps()[sweep].loss
    optimizer = PLAN.build_optimizer(made.sweeps()[sweep].networks[0])
    for _ in range(2):
        loss(torch.arange(20))[0].backward()
        optimizer.step()
    moved = changed(before, snapshot(made))
    assert buffer in moved
    assert {name.split(".")[0] for name in moved} == {buffer, role}
    rows = (before[buffer] != made.tensors()[buffer]).any(dim=1).nonzero().flatten()
    assert rows.tolist() == list(range(20))


def test_the_code_follows_at_the_end_of_an_epoch(data):
    made = stage(data)
    made.F.neg_()
    made.G.neg_()
    before = made.B.clone()
    made.image_loss(torch.arange(5))
    assert torch.equal(made.B, before)
    figures = made.end_epoch()
    assert torch.equal(made.B, binary(made.F + made.G))
    assert not torch.equal(made.B, before)
    assert set(figures) == {"mean |F|", "imbalance F", "mean |G|", "imbalance G"}


def test_terms_are_named_after_their_side(data):
    _, terms = stage(data).text_loss(torch.arange(10))
    names = ("pairwise", "intra", "balance", "quantization", "decorrelation")
    assert set(terms) == {f"text {name}" for name in names}


def test_terms_of_weight_zero_are_left_out(data):
    _, terms = stage(data, AlternatingWeights(1.0, 1.0)).image_loss(torch.arange(10))
    assert set(terms) == {"image pairwise", "image balance", "image quantization"}


def test_training_brings_both_sides_to_one_code(data):
    made = stage(data)
    before = (binary(made.F) == binary(made.G)).float().mean()
    train(made, PLAN, 0, Context())
    after = (binary(made.F) == binary(made.G)).float().mean()
    assert before < 0.7
    assert after > 0.85


class Stop(Exception):
    """The user's interruption."""


@pytest.mark.parametrize("epochs", [1, 2])
def test_resumed_training_ends_as_uninterrupted(tmp_path, data, epochs):
    plan = Schedule(3, 64, 1e-2, 1e-3, 0.01, "adamw")
    whole = stage(data, dropout=0.3)
    train(whole, plan, 3, Context())

    def stop(update):
        if update.done > epochs:
            raise Stop

    kept = Checkpoints(tmp_path / "kept", "task", seconds=0)
    with pytest.raises(Stop):
        train(stage(data, dropout=0.3), plan, 3, Context(stop, checkpoints=kept))
    resumed = stage(data, dropout=0.3)
    train(resumed, plan, 3, Context(checkpoints=kept))
    assert not changed(snapshot(whole), snapshot(resumed))
