"""Data and settings in; a trained run, codes and scores out."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from fdch.data.pairs import PairedSet
from fdch.data.splits import Split, SplitSizes
from fdch.errors import DamagedRun, DataError, RunError, SettingError
from fdch.experiment import (
    TrainingTask,
    evaluate,
    evaluate_run,
    read_parts,
    train_run,
    validate,
)
from fdch.progress import Update
from fdch.runs import CHECKPOINTS, DESCRIPTION, open_run
from fdch.training.context import Context

QUICK = {
    "fusion_width": "24",
    "text_hidden": "48",
    "fusion_hidden": "32",
    "stage_one_epochs": "5",
    "stage_two_epochs": "5",
    "batch_size": "40",
    "learning_rate": "2e-2",
}


def write_features(path, pairs):
    np.savez(
        path,
        image=pairs.images.values,
        text=pairs.texts.matrix.toarray(),
        labels=pairs.labels,
    )
    return str(path)


@pytest.fixture
def task(tmp_path, factor_pairs):
    source = write_features(tmp_path / "features.npz", factor_pairs(240))
    return TrainingTask(source, tmp_path / "run", bits=16, settings=QUICK)


@pytest.fixture(scope="module")
def original(tmp_path_factory, factor_pairs):
    """The folder of a run that was trained once."""
    folder = tmp_path_factory.mktemp("original")
    source = write_features(folder / "features.npz", factor_pairs(240))
    train_run(TrainingTask(source, folder / "run", bits=16, settings=QUICK))
    return folder


@pytest.fixture
def trained(original, task):
    """The run of the task, trained from equal data in another place."""
    shutil.copytree(original / "run", task.out)
    path = task.out / DESCRIPTION
    facts = json.loads(path.read_text())
    facts["data"]["source"] = task.source
    path.write_text(json.dumps(facts))
    return open_run(task.out)


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
    assert facts["labels"] == [f"label{i}" for i in range(6)]
    assert run.method.trained_on == 108
    found = evaluate_run(run)
    assert (len(found.query), len(found.database)) == (24, 216)
    for gallery in ("modality", "unified"):
        for part in found.scores.scores[gallery].values():
            assert part.map > part.chance + 0.1
    assert found.scores.protocol.split == facts["split"]
    assert found.scores.protocol.train == 108


def test_the_same_seed_gives_the_same_run(task, trained, tmp_path):
    again = train_run(replace(task, out=tmp_path / "again"))
    other = train_run(replace(task, out=tmp_path / "other", seed=1))
    assert trained.fingerprint == again.fingerprint != other.fingerprint
    assert trained.facts["split"] == again.facts["split"] != other.facts["split"]


@pytest.mark.parametrize("stage", ["stage 1", "stage 2"])
def test_killed_training_goes_on_to_the_same_run(
    task, trained, tmp_path, stage, monkeypatch
):
    monkeypatch.setattr("fdch.training.checkpoints.Checkpoints.due", lambda _: True)
    killed = replace(task, out=tmp_path / "killed")
    with pytest.raises(Stop):
        train_run(killed, context=Context(stop_at(stage, 3)))
    assert not (killed.out / DESCRIPTION).exists()
    with pytest.raises(RunError, match="Add --resume"):
        train_run(killed)
    told: list[Update] = []
    resumed = train_run(killed, resume=True, context=Context(told.append))
    epochs = [(update.task, update.done) for update in told if update.unit == "epoch"]
    assert epochs[0] == (stage, 3)
    assert resumed.fingerprint == trained.fingerprint
    assert not (killed.out / CHECKPOINTS).exists()


def test_unfinished_training_of_other_settings_is_refused(task, monkeypatch):
    monkeypatch.setattr("fdch.training.checkpoints.Checkpoints.due", lambda _: True)
    with pytest.raises(Stop):
        train_run(task, context=Context(stop_at("stage 1", 3)))
    with pytest.raises(RunError, match="belongs to other data or settings"):
        train_run(replace(task, seed=5), resume=True)


def test_a_finished_run_is_not_trained_again(task, trained):
    with pytest.raises(RunError, match="already holds a trained run"):
        train_run(task)
    told: list[Update] = []
    again = train_run(task, resume=True, context=Context(told.append))
    assert not told
    assert again.fingerprint == trained.fingerprint


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"bits": 8}, "bits is 16, not 8"),
        ({"seed": 2}, "seed is 0, not 2"),
        ({"settings": QUICK | {"batch_size": "30"}}, "batch_size is 40, not 30"),
        ({"method": "fdch_i"}, "method is fdch, not fdch_i"),
    ],
)
def test_a_finished_run_of_other_settings_is_not_given_for_these(
    task, trained, changes, named
):
    with pytest.raises(RunError, match=f"trained otherwise.*{named}"):
        train_run(replace(task, **changes), resume=True)


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
    _, parts, found = read_parts(chosen)
    assert found == split
    assert (len(parts.query), len(parts.train), len(parts.validation)) == (10, 80, 20)


def test_sizes_are_drawn_as_asked(task):
    sizes = SplitSizes(query=30, train=60, validation=5)
    _, parts, _ = read_parts(replace(task, sizes=sizes))
    assert (len(parts.query), len(parts.train), len(parts.validation)) == (30, 55, 5)


def test_a_split_of_other_data_is_refused(task, tmp_path, factor_pairs):
    other = write_features(tmp_path / "other.npz", factor_pairs(240, seed=5))
    Split.draw(PairedSet.read(other)).save(tmp_path / "split.json")
    with pytest.raises(DataError, match="the split was drawn from data"):
        train_run(replace(task, split=tmp_path / "split.json"))


def test_variants_take_over_a_first_stage(task, trained, tmp_path):
    told: list[Update] = []
    variant = replace(task, method="fdch_i", out=tmp_path / "i", stage_one=task.out)
    sharing = train_run(variant, context=Context(told.append))
    assert {update.task for update in told if update.unit == "epoch"} == {"stage 2"}
    alone = train_run(replace(variant, out=tmp_path / "alone", stage_one=None))
    assert sharing.fingerprint == alone.fingerprint


def test_methods_without_a_first_stage_take_none(task, trained, tmp_path):
    other = TrainingTask(
        task.source, tmp_path / "scm", "scm_seq", bits=4, stage_one=task.out
    )
    with pytest.raises(SettingError, match="only fdch, fdch_i and fdch_ii have"):
        train_run(other)


def test_a_run_is_scored_on_other_data_of_the_same_kind(
    task, trained, tmp_path, factor_pairs
):
    other = write_features(tmp_path / "other.npz", factor_pairs(100, seed=5))
    found = evaluate_run(trained, other)
    assert (len(found.query), len(found.database)) == (10, 90)
    assert found.scores.protocol.data == PairedSet.read(other).fingerprint


def test_changed_data_is_told(task, trained, factor_pairs):
    write_features(task.source, factor_pairs(240, seed=5))
    with pytest.raises(RunError, match="has changed since"):
        evaluate_run(trained)


def test_a_run_is_usable_after_its_data_is_gone(task, trained, tmp_path, factor_pairs):
    pairs = PairedSet.read(task.source)
    before = trained.method.encode_pairs(pairs)
    (tmp_path / "features.npz").unlink()
    opened = open_run(task.out)
    assert opened.method.encode_pairs(pairs) == before
    with pytest.raises(DataError, match=r"features\.npz"):
        evaluate_run(opened)


@pytest.mark.parametrize(
    "damage",
    [
        {"data": 3},
        {"data": {}},
        {"data": {"source": 7, "fingerprint": "a"}},
        {"train": "many"},
    ],
)
def test_damaged_facts_of_a_run_are_told(task, trained, damage):
    path = task.out / DESCRIPTION
    path.write_text(json.dumps(json.loads(path.read_text()) | damage))
    with pytest.raises(DamagedRun, match=r"run\.json"):
        evaluate_run(open_run(task.out))


def test_galleries_and_cutoff_are_followed(task, trained):
    found = evaluate_run(trained, galleries=["unified"], cutoff=10).scores
    assert set(found.scores) == {"unified"}
    assert found.protocol.cutoff == 10


def test_a_fitted_method_is_scored_directly(task, trained):
    pairs = PairedSet.read(task.source)
    scores = evaluate(trained.method, pairs[:40], pairs[40:])
    assert (scores.protocol.queries, scores.protocol.database) == (40, 200)
    assert scores.method == "fdch"
    same = evaluate(trained.method, pairs[:40], pairs[40:])
    assert scores.to_json() == same.to_json()


def test_validation_averages_both_halves(task, trained):
    pairs = PairedSet.read(task.source)[:60]
    found = validate(trained.method, pairs)
    one = evaluate(trained.method, pairs[0::2], pairs[1::2]).scores["modality"]
    two = evaluate(trained.method, pairs[1::2], pairs[0::2]).scores["modality"]
    for direction, value in found["modality"].items():
        assert value == pytest.approx((one[direction].map + two[direction].map) / 2)
    assert validate(trained.method, pairs[:0]) == {}


def test_progress_tells_of_every_epoch_with_its_terms(task):
    told: list[Update] = []
    train_run(task, context=Context(told.append))
    epochs = [update for update in told if update.unit == "epoch"]
    assert [(u.task, u.done) for u in epochs] == [
        (stage, epoch) for stage in ("stage 1", "stage 2") for epoch in range(1, 6)
    ]
    assert {"pairwise", "quantization", "balance", "mean |H|"} <= set(epochs[0].values)
    assert {"image pairwise", "text imitation", "mean |F|"} <= set(epochs[-1].values)
