"""The two stages: what each changes, what it leaves alone, where it ends."""

import numpy as np
import pytest
import torch

from fdch.codes import binarize
from fdch.evaluation import evaluate_codes
from fdch.networks.fusion import FusionNetwork, PairNetwork
from fdch.networks.head import ImageHead, fit_standardization
from fdch.networks.text import TextNetwork
from fdch.objectives.classification import fit_label_map
from fdch.objectives.quantization import binary
from fdch.objectives.reduction import WeightedSum
from fdch.training.batches import TrainingPairs
from fdch.training.checkpoints import Checkpoints
from fdch.training.context import Context
from fdch.training.loop import Schedule, output_figures, train
from fdch.training.two_stage import (
    FusionStage,
    FusionWeights,
    ModalityStage,
    ModalityWeights,
)

BITS = 8
PLAN = Schedule(12, 40, 1e-2, 1e-3, 0.01, "adamw")


@pytest.fixture(scope="module")
def data(factor_pairs):
    return training_pairs(factor_pairs(160, noise=0.3))


def training_pairs(pairs):
    return TrainingPairs(
        pairs.images.values, pairs.texts.matrix, pairs.labels, torch.device("cpu")
    )


def networks(data, outputs, seed=0, dropout=0.0):
    generator = torch.Generator().manual_seed(seed)
    features = data.images(torch.arange(data.items))
    image = ImageHead(features.shape[1], outputs, dropout=dropout, generator=generator)
    fit_standardization(image, features.numpy())
    text = TextNetwork(
        data._texts.shape[1],
        outputs,
        hidden=64,
        word_dropout=dropout,
        generator=generator,
    )
    return image, text


def fusion_stage(data, dropout=0.0):
    image, text = networks(data, 32, dropout=dropout)
    fusion = FusionNetwork(
        32, BITS, hidden=64, generator=torch.Generator().manual_seed(1)
    )
    network = PairNetwork(image, text, fusion)
    add = WeightedSum("per_term", data.items)
    return FusionStage(data, network, FusionWeights(0.05, 0.01), add)


def modality_stage(data, B=None, dropout=0.0, **weights):
    chosen = {"pairwise": 1.0, "imitation": 0.1, "classification": 0.1, "balance": 0.01}
    image, text = networks(data, BITS, dropout=dropout)
    if B is None:
        draws = torch.randn(
            data.items, BITS, generator=torch.Generator().manual_seed(7)
        )
        B = binary(draws)
    add = WeightedSum("per_term", data.items)
    weighted = ModalityWeights(**(chosen | weights))
    return ModalityStage(data, image, text, B, weighted, add)


def snapshot(stage):
    return {key: value.detach().clone() for key, value in stage.tensors().items()}


def changed(before, after):
    return {key for key in before if not torch.equal(before[key], after[key])}


class Stop(Exception):
    """The user's interruption."""


@pytest.mark.parametrize("make", [fusion_stage, modality_stage])
@pytest.mark.parametrize("epochs", [1, 3])
def test_a_resumed_stage_ends_as_an_uninterrupted_one(tmp_path, data, make, epochs):
    plan = Schedule(4, 64, 1e-2, 1e-3, 0.01, "adamw")
    whole = make(data, dropout=0.3)
    train(whole, plan, 3, Context())

    def stop(update):
        if update.done > epochs:
            raise Stop

    kept = Checkpoints(tmp_path / "kept", "task", seconds=0)
    with pytest.raises(Stop):
        train(make(data, dropout=0.3), plan, 3, Context(stop, checkpoints=kept))
    resumed = make(data, dropout=0.3)
    train(resumed, plan, 3, Context(checkpoints=kept))
    assert not changed(snapshot(whole), snapshot(resumed))


def test_stage_one_begins_with_the_codes_of_its_first_outputs(data):
    stage = fusion_stage(data)
    rows = torch.arange(data.items)
    with torch.no_grad():
        H = stage.network(data.images(rows), data.texts(rows))
    assert torch.allclose(stage.H, H, atol=1e-6)
    assert torch.equal(stage.B, binary(stage.H))


def test_a_batch_of_stage_one_writes_its_rows_of_H_and_nothing_else(data):
    stage = fusion_stage(data, dropout=0.3)
    stage.network.train()
    before = snapshot(stage)
    rows = torch.tensor([3, 11, 5])
    with torch.random.fork_rng():
        torch.manual_seed(0)
        stage.loss(rows)
    after = snapshot(stage)
    assert changed(before, after) == {"H"}
    moved = (before["H"] != after["H"]).any(dim=1).nonzero().flatten()
    assert moved.tolist() == [3, 5, 11]


def test_stage_one_updates_B_only_between_epochs(data):
    stage = fusion_stage(data)
    stage.H.neg_().sub_(0.01)
    before = stage.B.clone()
    stage.loss(torch.arange(10))
    assert torch.equal(stage.B, before)
    stage.end_epoch()
    assert torch.equal(stage.B, binary(stage.H))
    assert not torch.equal(stage.B, before)


def test_stage_one_teaches_all_three_networks(data):
    stage = fusion_stage(data)
    before = snapshot(stage)
    train(stage, PLAN, 0, Context())
    moved = changed(before, snapshot(stage))
    for part in ("image.output", "text.words", "text.output", "fusion.hidden"):
        assert f"network.{part}.weight" in moved
    assert not any("standardization" in name for name in moved)


def test_frozen_codes_are_those_of_the_final_weights(data):
    stage = fusion_stage(data, dropout=0.3)
    train(stage, PLAN, 0, Context())
    B = stage.unified_codes()
    rows = torch.arange(data.items)
    with torch.no_grad():
        H = stage.network(data.images(rows), data.texts(rows))
    assert torch.equal(B, binary(H))
    assert B is not stage.B


def test_stage_one_ranks_easy_training_pairs_nearly_perfectly(factor_pairs):
    pairs = factor_pairs(240, noise=0.3)
    data = training_pairs(pairs[pairs.labels.sum(axis=1) == 1])
    stage = fusion_stage(data)
    train(stage, PLAN, 0, Context())
    codes = binarize(stage.unified_codes().numpy())
    labels = data.labels.numpy().astype(np.uint8)
    assert evaluate_codes(codes, codes, labels, labels).map > 0.95


def test_the_image_sweep_changes_the_image_network_and_F_alone(data):
    stage = modality_stage(data)
    before = snapshot(stage)
    B = stage.B.clone()
    image_sweep, text_sweep = stage.sweeps()
    assert image_sweep.networks == [stage.image_network]
    assert text_sweep.networks == [stage.text_network]
    run_sweep(image_sweep)
    moved = changed(before, snapshot(stage))
    assert moved == {"F", "image.output.weight", "image.output.bias"}
    assert torch.equal(stage.B, B)


def test_the_text_sweep_changes_the_text_network_and_G_alone(data):
    stage = modality_stage(data)
    before = snapshot(stage)
    run_sweep(stage.sweeps()[1])
    moved = changed(before, snapshot(stage))
    parts = {f"text.{p}.{k}" for p in ("words", "output") for k in ("weight", "bias")}
    assert moved == {"G"} | parts


def run_sweep(sweep):
    """Two steps on one batch, of one sweep alone."""
    (network,) = sweep.networks
    optimizer = PLAN.build_optimizer(network)
    for _ in range(2):
        loss, _ = sweep.loss(torch.arange(20))
        loss.backward()
        optimizer.step()


def test_label_maps_are_refitted_at_the_end_of_an_epoch(data):
    stage = modality_stage(data)
    stage.F.add_(1)
    stage.G.sub_(1)
    assert not torch.allclose(stage.W1, fit_label_map(data.labels, stage.F))
    stage.end_epoch()
    assert torch.equal(stage.W1, fit_label_map(data.labels, stage.F))
    assert torch.equal(stage.W2, fit_label_map(data.labels, stage.G))


def test_labels_are_factored_once(data, monkeypatch):
    factored: list[torch.Tensor] = []
    cholesky = torch.linalg.cholesky

    def counted(gram):
        factored.append(gram)
        return cholesky(gram)

    monkeypatch.setattr(torch.linalg, "cholesky", counted)
    stage = modality_stage(data)
    for _ in range(3):
        stage.end_epoch()
    assert len(factored) == 1


def test_stage_two_never_changes_B_nor_the_networks_of_stage_one(data):
    first = fusion_stage(data)
    train(first, PLAN, 0, Context())
    B = first.unified_codes()
    before, frozen = snapshot(first), B.clone()
    train(modality_stage(data, B), PLAN, 0, Context())
    assert torch.equal(B, frozen)
    assert not changed(before, snapshot(first))


def test_imitation_alone_makes_training_codes_agree_with_B(data):
    first = fusion_stage(data)
    train(first, PLAN, 0, Context())
    B = first.unified_codes()
    stage = modality_stage(
        data, B, pairwise=0.0, imitation=1.0, classification=0.0, balance=0.0
    )
    train(stage, Schedule(40, 40, 1e-2, 1e-3, 0.0, "adamw"), 0, Context())
    for outputs in (stage.F, stage.G):
        assert (binary(outputs) == B).float().mean() > 0.95


@pytest.mark.parametrize("weight", ["pairwise", "classification"])
def test_a_term_of_weight_zero_is_left_out(data, weight):
    stage = modality_stage(data, **{weight: 0.0})
    _, terms = stage.image_loss(torch.arange(10))
    assert f"image {weight}" not in terms
    assert len(terms) == 3


def test_terms_are_named_after_their_side(data):
    _, terms = modality_stage(data).text_loss(torch.arange(10))
    names = ("balance", "imitation", "pairwise", "classification")
    assert set(terms) == {f"text {name}" for name in names}


def test_figures_show_networks_that_do_not_move_and_constant_bits():
    figures = output_figures({"H": torch.tensor([[0.5, -1.0], [0.5, 1.0]])})
    assert figures == {"mean |H|": 0.75, "imbalance H": 0.5}
