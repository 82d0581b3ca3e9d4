"""FDCH and its variants as methods: order, sharing, resuming, settings."""

from typing import Any

import numpy as np
import pytest
import torch

from fdch.codes import binarize
from fdch.data.pairs import PairedSet
from fdch.data.splits import Split
from fdch.errors import DataError, NotFitted, SettingError
from fdch.evaluation import evaluate_codes
from fdch.methods.fdch import FDCH
from fdch.methods.fdch_i import FDCHI
from fdch.methods.fdch_ii import FDCHII
from fdch.networks.head import ImageHead, Standardization
from fdch.networks.text import TextNetwork
from fdch.progress import Update, silent
from fdch.runs.run import open_run, save_run
from fdch.training.checkpoints import Checkpoints
from fdch.training.context import Context
from fdch.training.inputs import Inputs

SMALL: dict[str, Any] = {
    "bits": 16,
    "fusion_width": 32,
    "image_hidden": 0,
    "text_hidden": 64,
    "fusion_hidden": 48,
    "stage_one_epochs": 3,
    "stage_two_epochs": 3,
    "batch_size": 40,
    "learning_rate": 1e-2,
    "final_learning_rate": 1e-3,
}


@pytest.fixture(scope="module")
def pairs(factor_pairs):
    return factor_pairs(120)


@pytest.fixture(scope="module")
def fitted(pairs):
    return FDCH(**SMALL).fit(pairs)


def test_plain_lists_and_arrays_are_encoded(sentence_pairs):
    pairs = sentence_pairs(60)
    method = FDCH(**SMALL).fit(pairs)
    texts, features = list(pairs.texts.values), pairs.images.values
    assert method.encode_texts(texts) == method.encode_texts(pairs.texts)
    assert method.encode_images(features) == method.encode_images(pairs.images)
    assert method.encode_images(features.tolist()) == method.encode_images(features)
    with pytest.raises(DataError, match="list of one"):
        method.encode_texts("a dog")


def test_fit_takes_a_device_and_shows_progress(pairs, fitted, capsys):
    updates: list[Update] = []
    method = FDCH(**SMALL).fit(pairs, device="cpu", progress=updates.append)
    assert {update.task for update in updates} == {"stage 1", "stage 2"}
    assert_same(method, fitted)
    FDCH(**SMALL).fit(pairs, progress=True)
    shown = capsys.readouterr()
    assert "stage 1" in shown.err and "stage 2" in shown.err
    assert not shown.out
    with pytest.raises(SettingError, match="nowhere"):
        FDCH(**SMALL).fit(pairs, device="nowhere")
    wrong: Any = "yes"
    with pytest.raises(SettingError, match="function that takes an Update; got 'yes'"):
        FDCH(**SMALL).fit(pairs, progress=wrong)


def assert_same(one, other, ignore=()):
    one, other = one.state(), other.state()
    assert one.keys() == other.keys()
    for key, value in one.items():
        if not key.startswith(ignore or "\0"):
            assert np.array_equal(value, other[key]), key


class Stop(Exception):
    """The user's interruption."""


def stop_after(task, epochs):
    def progress(update):
        if update.task == task and update.done > epochs:
            raise Stop

    return progress


def test_a_judge_encodes_after_each_epoch_of_stage_two_and_changes_nothing(
    pairs, fitted
):
    method, seen = FDCH(**SMALL), []

    def judge(done, total):
        codes = method.encode_images(pairs.images)
        seen.append((done, total, codes))

    assert_same(method.fit(pairs, context=Context(judge=judge)), fitted)
    assert [(done, total) for done, total, _ in seen] == [(1, 3), (2, 3), (3, 3)]
    assert seen[0][2] != seen[-1][2] == fitted.encode_images(pairs.images)


def test_a_method_whose_training_a_judge_ended_is_not_fitted(pairs):
    def judge(done, total):
        raise Stop

    method = FDCH(**SMALL)
    with pytest.raises(Stop):
        method.fit(pairs, context=Context(judge=judge))
    with pytest.raises(NotFitted):
        method.encode_images(pairs.images)


def test_the_epoch_scale_counts_for_given_and_usual_epochs(pairs):
    half = FDCH(epoch_scale=0.5)
    assert half._schedule(None, 40, 4500).epochs == 20
    assert half._schedule(4, 25, 4500).epochs == 2
    assert FDCH(epoch_scale=0.01)._schedule(4, 25, 4500).epochs == 1
    updates: list[Update] = []
    small = FDCH(**SMALL, epoch_scale=2.0)
    small.fit(pairs, context=Context(updates.append))
    assert {(update.task, update.total) for update in updates} == {
        ("stage 1", 6),
        ("stage 2", 6),
    }


@pytest.mark.parametrize("stage", ["stage 1", "stage 2"])
@pytest.mark.parametrize("epochs", [0, 1, 2])
def test_resumed_training_ends_as_uninterrupted(tmp_path, pairs, fitted, stage, epochs):
    kept = Checkpoints(tmp_path / "kept", "task", seconds=0)
    with pytest.raises(Stop):
        FDCH(**SMALL).fit(
            pairs, context=Context(stop_after(stage, epochs), "cpu", kept)
        )
    updates: list[Update] = []
    resumed = FDCH(**SMALL).fit(pairs, context=Context(updates.append, "cpu", kept))
    assert_same(resumed, fitted)
    done = [(update.task, update.done) for update in updates]
    assert done[0] == (stage, epochs + 1)
    assert done[-1] == ("stage 2", 3)


def test_an_interrupted_fit_leaves_nothing_to_encode_with(pairs):
    method = FDCH(**SMALL).fit(pairs)
    with pytest.raises(Stop):
        method.fit(pairs, context=Context(stop_after("stage 2", 1)))
    with pytest.raises(NotFitted):
        method.encode_images(pairs.images)


def test_a_label_weight_of_zero_is_the_first_variant(pairs):
    one = FDCH(**SMALL, label_weight=0.0).fit(pairs)
    assert_same(FDCHI(**SMALL).fit(pairs), one)


def test_a_pairwise_weight_of_zero_is_the_second_variant(pairs):
    one = FDCH(**SMALL, pairwise_weight=0.0).fit(pairs)
    assert_same(FDCHII(**SMALL).fit(pairs), one)


def test_variants_share_stage_one_and_differ_in_stage_two(pairs, fitted):
    variant = FDCHII(**SMALL).fit(pairs)
    assert_same(variant, fitted, ignore=("image.", "text."))
    codes = variant.encode_images(pairs.images)
    assert codes != fitted.encode_images(pairs.images)
    assert variant.encode_pairs(pairs) == fitted.encode_pairs(pairs)


def test_a_shared_stage_one_gives_the_same_result_as_running_it(pairs, fitted):
    updates: list[Update] = []
    sharing = FDCHI(**SMALL)
    sharing.share_stage_one(fitted)
    sharing.fit(pairs, context=Context(updates.append))
    assert {update.task for update in updates} == {"stage 2"}
    assert_same(sharing, FDCHI(**SMALL).fit(pairs))


def test_a_stage_one_is_shared_from_disk(tmp_path, pairs, fitted, split):
    save_run(tmp_path / "run", fitted, split)
    sharing = FDCHI(**SMALL)
    source = open_run(tmp_path / "run").method
    assert isinstance(source, FDCH)
    sharing.share_stage_one(source)
    assert_same(sharing.fit(pairs), FDCHI(**SMALL).fit(pairs))


@pytest.fixture
def split(pairs):
    return Split.draw(pairs)


def test_sharing_lasts_for_one_fit(pairs, fitted):
    updates: list[Update] = []
    method = FDCH(**SMALL)
    method.share_stage_one(fitted)
    method.fit(pairs)
    method.fit(pairs, context=Context(updates.append))
    assert updates[0].task == "stage 1"


def test_sharing_does_not_tie_the_two_methods_together(pairs, fitted):
    before = {key: value.copy() for key, value in fitted.state().items()}
    method = FDCH(**SMALL)
    method.share_stage_one(fitted)
    method.fit(pairs)
    for parameter in method._networks["pair"].parameters():
        torch.nn.init.zeros_(parameter)
    after = fitted.state()
    assert all(np.array_equal(before[key], after[key]) for key in before)


@pytest.mark.parametrize("change", [{"seed": 1}, {"fusion_width": 16}, {"bits": 8}])
def test_a_stage_one_of_other_settings_is_refused(pairs, fitted, change):
    other = FDCHI(**(SMALL | change))
    other.share_stage_one(fitted)
    with pytest.raises(SettingError, match="other pairs or with other settings"):
        other.fit(pairs)


def test_a_stage_one_of_other_pairs_is_refused(pairs, fitted):
    other = FDCHI(**SMALL)
    other.share_stage_one(fitted)
    with pytest.raises(SettingError, match="other pairs or with other settings"):
        other.fit(pairs[:100])


def test_a_stage_one_is_known_by_its_weights_and_not_by_their_place(
    pairs, tmp_path, monkeypatch
):
    # ready features stand in for those of a network with such weights
    ready = Inputs.fit(pairs)
    monkeypatch.setattr(Inputs, "fit", lambda *_: ready)
    one, moved = tmp_path / "one.mat", tmp_path / "moved.mat"
    one.write_bytes(b"one")
    source = FDCH(**SMALL, image_weights=str(one)).fit(pairs)
    one.rename(moved)
    one.write_bytes(b"two")
    other = FDCHI(**SMALL, image_weights=str(one))
    other.share_stage_one(source)
    with pytest.raises(SettingError, match="other pairs or with other settings"):
        other.fit(pairs)
    same = FDCHI(**SMALL, image_weights=str(moved))
    same.share_stage_one(source)
    assert same.fit(pairs).encode_pairs(pairs) == source.encode_pairs(pairs)


def test_settings_of_stage_two_may_differ(pairs, fitted):
    other = FDCH(**(SMALL | {"stage_two_epochs": 1}), imitation_weight=3.0)
    other.share_stage_one(fitted)
    assert other.fit(pairs).encode_pairs(pairs) == fitted.encode_pairs(pairs)


def test_an_unfitted_source_is_refused(pairs):
    with pytest.raises(NotFitted):
        FDCHI(**SMALL).share_stage_one(FDCH(**SMALL))


def test_easy_training_pairs_are_ranked_nearly_perfectly(factor_pairs):
    pairs = factor_pairs(240, noise=0.3)
    easy = pairs[pairs.labels.sum(axis=1) == 1]
    settings = SMALL | {"stage_one_epochs": 12, "stage_two_epochs": 15}
    method = FDCH(**settings).fit(easy)
    codes = method.encode_pairs(easy)
    assert evaluate_codes(codes, codes, easy.labels, easy.labels).map > 0.97
    images, texts = method.encode_images(easy.images), method.encode_texts(easy.texts)
    assert evaluate_codes(images, texts, easy.labels, easy.labels).map > 0.9
    assert evaluate_codes(images, codes, easy.labels, easy.labels).map > 0.9


def test_outputs_are_real_and_their_signs_are_the_codes(pairs, fitted):
    inputs = fitted.inputs
    F = fitted.image_outputs(inputs.images(pairs.images, Context()))
    assert F.shape == (120, 16)
    assert F.dtype == np.float32
    assert binarize(F) == fitted.encode_images(pairs.images)


def test_standardisation_can_be_left_out(pairs):
    def means(method):
        return [
            module.mean
            for role in ("pair", "image")
            for module in method._networks[role].modules()
            if isinstance(module, Standardization)
        ]

    quick = SMALL | {"stage_one_epochs": 1, "stage_two_epochs": 1}
    plain = FDCH(**quick, standardize=False).fit(pairs)
    assert all(not mean.any() for mean in means(plain))
    scaled = means(FDCH(**quick).fit(pairs))
    expected = torch.from_numpy(pairs.images.values.mean(axis=0, dtype=np.float64))
    assert len(scaled) == 2
    assert all(torch.allclose(mean, expected.float()) for mean in scaled)


def test_the_paper_preset_states_the_printed_recipe():
    paper = FDCH(**FDCH.presets["paper"])
    ones = ("quantization", "balance", "imitation", "label", "modality_balance")
    assert {getattr(paper, f"{name}_weight") for name in ones} == {1.0}
    first, second = (
        paper._schedule(epochs, 25, 5000)
        for epochs in (paper.stage_one_epochs, paper.stage_two_epochs)
    )
    assert first == second
    assert first.epochs == 500
    assert first.rate(0) == 10**-1.5
    assert first.rate(499) == pytest.approx(10**-3)
    assert (first.optimizer, first.batch_size) == ("sgd", 128)
    assert (paper.text_hidden, paper.reduction) == (8192, "paper")


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        (
            {"fusion_width": 0, "learning_rate": -1},
            "positive: learning_rate=-1, fusion_width=0",
        ),
        ({"stage_one_epochs": 0}, "must be positive: stage_one_epochs=0"),
        (
            {"image_dropout": 1.0, "word_dropout": -0.1},
            "below 1: image_dropout=1.0, word_dropout=-0.1",
        ),
        (
            {"weight_decay": -1.0, "label_weight": -2.0},
            "negative: weight_decay=-1.0, label_weight=-2.0",
        ),
        ({"bits": 0}, "bits must be positive"),
    ],
)
def test_settings_outside_their_range_are_refused_before_work(pairs, settings, named):
    with pytest.raises(SettingError, match=named):
        FDCH(**(SMALL | settings)).fit(pairs)


@pytest.mark.parametrize("items", [2, 30, 39])
def test_fewer_pairs_than_a_batch_are_one_batch(pairs, caplog, items):
    few = pairs[:items]
    fitted = FDCH(**SMALL).fit(few)
    updates = f"{items} training pairs are fewer than one batch of 40; each step takes"
    assert updates in caplog.text
    whole = FDCH(**(SMALL | {"batch_size": items})).fit(few)
    assert_same(fitted, whole, ignore=("stage_one_task",))


def test_one_pair_is_refused(pairs):
    with pytest.raises(DataError, match="needs at least 2"):
        FDCH(**SMALL).fit(pairs[:1])


def test_a_full_batch_is_not_reported(pairs, caplog):
    FDCH(**SMALL).fit(pairs[:40])
    assert not caplog.text


def test_an_unknown_device_is_refused_before_work(pairs):
    updates: list[Update] = []
    with pytest.raises(SettingError, match=r"device 'abacus' .*known are auto, cpu"):
        FDCH(**SMALL).fit(pairs, context=Context(updates.append, "abacus"))
    assert not updates


@pytest.fixture(scope="module")
def scenes():
    return PairedSet.read("scenes:60")


def finetuned(network, scenes, progress=silent, **changes):
    settings = SMALL | {"stage_one_epochs": 1, "stage_two_epochs": 1, "batch_size": 30}
    method = FDCH(
        **(settings | changes), image_network=network, finetune=True, word_dropout=0.0
    )
    return method.fit(scenes, context=Context(progress))


def assert_saves_and_encodes(method, scenes, folder):
    save_run(folder, method, Split.draw(scenes))
    opened = open_run(folder).method
    some = scenes[:5]
    assert opened.encode_images(some.images) == method.encode_images(some.images)
    assert opened.encode_texts(some.texts) == method.encode_texts(some.texts)
    assert opened.encode_pairs(some) == method.encode_pairs(some)
    assert_same(opened, method)


def test_a_network_is_trained_from_nothing_with_the_codes(scenes, tmp_path):
    method = finetuned("small", scenes)
    untrained = method._build(method.inputs, method._generator())
    name = "network.layers.0.weight"
    before = untrained["image"].state_dict()[name]
    after = method._networks["image"].state_dict()[name].cpu()
    assert not torch.equal(before, after)
    assert_saves_and_encodes(method, scenes, tmp_path / "run")


@pytest.mark.slow
def test_a_pretrained_network_is_fine_tuned_from_frozen_stages(scenes, tmp_path):
    updates: list[Update] = []
    some = scenes[:30]
    method = finetuned("efficientnet_lite0", some, updates.append, tuning_epochs=2)
    epochs = [(u.task, u.total) for u in updates if u.unit == "epoch" and u.done == 1]
    assert epochs == [
        ("stage 1", 1),
        ("stage 1 tuned", 2),
        ("stage 2", 1),
        ("stage 2 tuned", 2),
    ]
    standardization = method._networks["image"].head.standardization
    frozen = method.inputs.features(some.images, Context())
    roots = np.sqrt(frozen + standardization.floor.numpy())
    np.testing.assert_allclose(standardization.mean, roots.mean(axis=0), rtol=1e-4)
    assert_saves_and_encodes(method, scenes, tmp_path / "run")


@pytest.mark.slow
def test_without_a_warm_start_all_epochs_train_the_image_network(scenes):
    updates: list[Update] = []
    finetuned("efficientnet_lite0", scenes[:30], updates.append, warm_start=False)
    tasks = {update.task for update in updates if update.unit == "epoch"}
    assert tasks == {"stage 1", "stage 2"}


def test_dropout_is_chosen_by_the_data_unless_it_is_set(pairs):
    chosen = FDCH(**SMALL).fit(pairs).chosen
    assert set(chosen) == {"text_features", "image_dropout", "word_dropout"}
    for side in ("image_dropout", "word_dropout"):
        assert 0.2 <= float(chosen[side]) <= 0.5
    half = FDCH(**SMALL, word_dropout=0.1).fit(pairs)
    assert set(half.chosen) == {"text_features", "image_dropout"}
    image, text = half._networks["image"], half._networks["text"]
    assert isinstance(image, ImageHead) and isinstance(text, TextNetwork)
    assert text.dropout.rate == 0.1
    assert image.dropout.p == half.chosen["image_dropout"]
    assert half.image_dropout is None


@pytest.mark.slow
def test_resumed_fine_tuning_ends_as_uninterrupted(scenes, tmp_path):
    settings = SMALL | {"stage_one_epochs": 2, "stage_two_epochs": 2}
    kept = Checkpoints(tmp_path / "kept", "task", seconds=0)

    def fit(progress, checkpoints):
        method = FDCH(**settings, image_network="small", finetune=True)
        return method.fit(scenes, context=Context(progress, "cpu", checkpoints))

    with pytest.raises(Stop):
        fit(stop_after("stage 2", 1), kept)
    resumed = fit(lambda update: None, kept)
    assert_same(resumed, fit(lambda update: None, None))


@pytest.mark.parametrize(("items", "epochs"), [(4500, 25), (20_000, 25), (900, 113)])
def test_small_data_gets_as_many_steps_as_large(items, epochs):
    assert FDCH()._schedule(None, 25, items).epochs == epochs
    assert FDCH()._schedule(7, 25, items).epochs == 7
