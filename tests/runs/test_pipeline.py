"""Data and settings in; a trained run out."""

import json
from dataclasses import replace

import pytest

from fdch.data.pairs import PairedSet
from fdch.data.split_drawing import SplitSizes
from fdch.data.splits import Split
from fdch.errors import DataError, RunError, SettingError
from fdch.progress import Update
from fdch.runs.method_scores import evaluate_run
from fdch.runs.pipeline import TrainingTask, train_run
from fdch.runs.run import open_run
from fdch.runs.run_files import CHECKPOINTS, DESCRIPTION
from fdch.training.context import Context
from fdch.training.inputs import Inputs


class Stop(Exception):
    """The user's interruption."""


def stop_at(task, epoch):
    def progress(update):
        if (update.task, update.done) == (task, epoch):
            raise Stop

    return progress


def test_a_run_is_trained_saved_and_scored(task):
    run = train_run(task)
    assert not (task.out / CHECKPOINTS).exists()
    facts = open_run(task.out).facts
    assert (facts["train"], facts["validation"]) == (108, 12)
    assert facts["data"]["source"] == task.source
    assert facts["data"]["pairs"] == 240
    assert facts["device"] == str(Context().torch_device())
    assert facts["labels"] == [f"label{i}" for i in range(6)]
    assert run.method.trained_on == 108
    assert run.calibration is not None
    assert run.calibration.pairs == 12
    assert run.calibration.trained == 108
    assert set(run.calibration.models) == {"image", "text", "pair"}
    found = evaluate_run(run)
    assert (len(found.query), len(found.database)) == (24, 216)
    for gallery in ("modality", "unified"):
        for held in found.reliability[gallery].values():
            assert abs(held.gap) < 0.3
            assert sum(results for *_, results in held.curve) == 24 * 10
    for gallery in ("modality", "unified"):
        for part in found.scores.scores[gallery].values():
            assert part.map > part.chance + 0.1
    assert found.scores.protocol.split == facts["split"]
    assert found.scores.protocol.train == 108


def test_a_run_may_learn_from_every_pair(task, tmp_path, factor_pairs, write_features):
    run = train_run(replace(task, use_all=True))
    assert (run.facts["train"], run.facts["validation"]) == (216, 24)
    assert not run.split().query and run.calibration is not None
    assert run.facts["validation_map"]
    for source in (None, task.source):
        with pytest.raises(
            RunError, match=r"--query-pairs 0, .* no test queries\. Score it with"
        ):
            evaluate_run(run, source)
    other = write_features(tmp_path / "other.npz", factor_pairs(60, seed=9))
    assert len(evaluate_run(run, other).query) == 6


def test_the_same_seed_gives_the_same_run(task, trained, tmp_path):
    again = train_run(replace(task, out=tmp_path / "again"))
    other = train_run(replace(task, out=tmp_path / "other", seed=1))
    assert trained.fingerprint == again.fingerprint != other.fingerprint
    assert trained.facts["split"] == again.facts["split"] != other.facts["split"]


@pytest.mark.parametrize("stage", ["stage 1", "stage 2"])
def test_killed_training_goes_on_to_the_same_run(
    task, trained, tmp_path, stage, monkeypatch
):
    monkeypatch.setattr("fdch.training.checkpoints.Checkpoints.due", lambda *_: True)
    killed = replace(task, out=tmp_path / "killed")
    with pytest.raises(Stop):
        train_run(killed, context=Context(stop_at(stage, 3)))
    assert not (killed.out / DESCRIPTION).exists()
    with pytest.raises(RunError, match="Add --resume"):
        train_run(killed)
    updates: list[Update] = []
    resumed = train_run(killed, resume=True, context=Context(updates.append))
    epochs = [
        (update.task, update.done) for update in updates if update.unit == "epoch"
    ]
    assert epochs[0] == (stage, 3)
    assert resumed.fingerprint == trained.fingerprint
    assert not (killed.out / CHECKPOINTS).exists()


def test_unfinished_training_of_other_settings_is_refused(task, monkeypatch):
    monkeypatch.setattr("fdch.training.checkpoints.Checkpoints.due", lambda *_: True)
    with pytest.raises(Stop):
        train_run(task, context=Context(stop_at("stage 1", 3)))
    with pytest.raises(RunError, match="belongs to other data or settings"):
        train_run(replace(task, seed=5), resume=True)


def test_unfinished_training_with_other_weights_is_refused(task, monkeypatch):
    monkeypatch.setattr("fdch.training.checkpoints.Checkpoints.due", lambda *_: True)
    # ready features stand in for those of a network with such weights
    data, split = task.prepare()
    ready = Inputs.fit(split.parts(data.pairs).train)
    monkeypatch.setattr(Inputs, "fit", lambda *_: ready)
    weights = task.out.parent / "weights.mat"
    weights.write_bytes(b"one")
    settings = {**task.settings, "image_weights": str(weights)}
    weighted = replace(task, settings=settings)
    with pytest.raises(Stop):
        train_run(weighted, context=Context(stop_at("stage 1", 3)))
    weights.write_bytes(b"two")
    with pytest.raises(RunError, match="belongs to other data or settings"):
        train_run(weighted, resume=True)
    moved = weights.with_name("moved.mat")
    moved.write_bytes(b"one")
    settings["image_weights"] = str(moved)
    train_run(weighted, resume=True)
    weights.write_bytes(b"two")
    settings["image_weights"] = str(weights)
    with pytest.raises(RunError, match="trained otherwise: image_weights is"):
        train_run(weighted, resume=True)


def test_what_the_caller_says_of_the_work_reaches_the_method(task, monkeypatch):
    updates = []

    def fit(self, pairs, validation, *, context):
        updates.append(context)
        raise Stop

    monkeypatch.setattr("fdch.methods.fdch.FDCH.fit", fit)
    context = Context(device="cpu", remember=False)
    with pytest.raises(Stop):
        train_run(task, context=context)
    assert replace(updates[0], checkpoints=None) == context
    assert updates[0].checkpoints is not None


def test_a_finished_run_is_not_trained_again(task, trained):
    with pytest.raises(RunError, match="already holds a trained run"):
        train_run(task)
    updates: list[Update] = []
    again = train_run(task, resume=True, context=Context(updates.append))
    assert not updates
    assert again.fingerprint == trained.fingerprint


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"bits": 8}, "bits is 16, not 8"),
        ({"seed": 2}, "seed is 0, not 2"),
        ({"settings": {"batch_size": "30"}}, "batch_size is 40, not 30"),
        ({"method": "fdch_i"}, "method is fdch, not fdch_i"),
    ],
)
def test_a_finished_run_of_other_settings_is_not_given_for_these(
    task, trained, changes, named
):
    with pytest.raises(RunError, match=f"trained otherwise.*{named}"):
        train_run(replace(task, **changes), resume=True)


def test_a_finished_run_of_other_data_is_not_given_for_these(
    task, trained, tmp_path, factor_pairs, write_features
):
    other = write_features(tmp_path / "other.npz", factor_pairs(240, seed=5))
    known = trained.facts["data"]["fingerprint"]
    with pytest.raises(RunError, match=f"trained otherwise: data is {known}, not"):
        train_run(replace(task, source=other), resume=True)
    with pytest.raises(DataError, match="nowhere"):
        train_run(replace(task, source="nowhere.npz"), resume=True)


def test_a_finished_run_of_another_split_is_not_given_for_this(task, trained, tmp_path):
    sizes = SplitSizes(query=30, train=60)
    named = f"trained otherwise: split is {trained.facts['split']}, not"
    with pytest.raises(RunError, match=named):
        train_run(replace(task, sizes=sizes), resume=True)
    Split.draw(PairedSet.read(task.source), 0, sizes).save(tmp_path / "split.json")
    with pytest.raises(RunError, match=named):
        train_run(replace(task, split=tmp_path / "split.json"), resume=True)
    own = replace(task, split=task.out / "split.json")
    assert train_run(own, resume=True).fingerprint == trained.fingerprint


def test_settings_are_checked_before_data_is_read(task):
    wrong = replace(task, source="nowhere.npz", settings={"epoch": "3"})
    with pytest.raises(SettingError, match="unknown setting 'epoch'"):
        train_run(wrong)
    assert not task.out.exists()


def test_a_saved_split_is_used(task, tmp_path):
    pairs = PairedSet.read(task.source)
    split = Split.draw(pairs, 77, SplitSizes(query=10, train=100, validation=20))
    split.save(tmp_path / "split.json")
    chosen = replace(task, split=tmp_path / "split.json")
    data, found = chosen.prepare()
    assert found == split
    parts = found.parts(data.pairs)
    assert (len(parts.query), len(parts.train), len(parts.validation)) == (10, 80, 20)


def test_sizes_are_drawn_as_requested(task):
    sizes = SplitSizes(query=30, train=60, validation=5)
    data, split = replace(task, sizes=sizes).prepare()
    parts = split.parts(data.pairs)
    assert (len(parts.query), len(parts.train), len(parts.validation)) == (30, 55, 5)


def test_a_split_of_other_data_is_refused(task, tmp_path, factor_pairs, write_features):
    other = write_features(tmp_path / "other.npz", factor_pairs(240, seed=5))
    Split.draw(PairedSet.read(other)).save(tmp_path / "split.json")
    with pytest.raises(DataError, match="the split was drawn from data"):
        train_run(replace(task, split=tmp_path / "split.json"))


def test_variants_take_over_a_first_stage(task, trained, tmp_path):
    updates: list[Update] = []
    variant = replace(task, method="fdch_i", out=tmp_path / "i", stage_one=task.out)
    sharing = train_run(variant, context=Context(updates.append))
    assert {update.task for update in updates if update.unit == "epoch"} == {"stage 2"}
    alone = train_run(replace(variant, out=tmp_path / "alone", stage_one=None))
    assert sharing.fingerprint == alone.fingerprint


def test_methods_without_a_first_stage_take_none(task, trained, tmp_path):
    other = TrainingTask(
        task.source, tmp_path / "scm", "scm_seq", bits=4, stage_one=task.out
    )
    with pytest.raises(SettingError, match="only fdch, fdch_i and fdch_ii have"):
        train_run(other)


def test_progress_reports_every_epoch_with_its_terms(task):
    updates: list[Update] = []
    train_run(task, context=Context(updates.append))
    epochs = [update for update in updates if update.unit == "epoch"]
    assert [(u.task, u.done) for u in epochs] == [
        (stage, epoch)
        for stage, last in (("stage 1", 5), ("stage 2", 10))
        for epoch in range(1, last + 1)
    ]
    assert {"pairwise", "quantization", "balance", "mean |H|"} <= set(epochs[0].values)
    assert {"image pairwise", "text imitation", "mean |F|"} <= set(epochs[-1].values)


@pytest.mark.parametrize(
    ("given", "chosen"), [("auto", "float32"), ("bfloat16", None), ("float32", None)]
)
def test_the_precision_of_fine_tuning_is_in_the_run(tmp_path, given, chosen):
    small = {"image_network": "small", "finetune": "true", "precision": given}
    small |= {"stage_one_epochs": "1", "stage_two_epochs": "1", "text_hidden": "8"}
    task = TrainingTask("scenes:60", tmp_path / "run", "fdch", 8, 0, small)
    train_run(task, context=Context(device="cpu"))
    facts = json.loads((task.out / DESCRIPTION).read_text())
    assert facts["settings"]["precision"] == given
    assert facts["chosen"].get("precision") == chosen


@pytest.mark.integration
def test_both_precisions_learn_alike(tmp_path):
    small = {"image_network": "small", "finetune": "true", "text_hidden": "8"}
    small |= {"stage_one_epochs": "4", "stage_two_epochs": "4"}
    figures, losses = ("mean |", "imbalance "), {}
    for precision in ("bfloat16", "float32"):
        reports: list[Update] = []
        settings = small | {"precision": precision}
        task = TrainingTask("scenes:60", tmp_path / precision, "fdch", 8, 0, settings)
        train_run(task, context=Context(reports.append, "cpu"))
        epochs = [each.values for each in reports if each.unit == "epoch"]
        losses[precision] = [
            sum(x for name, x in values.items() if not name.startswith(figures))
            for values in epochs
        ]
    assert losses["bfloat16"] == pytest.approx(losses["float32"], rel=0.02)
    assert losses["bfloat16"] != losses["float32"]
