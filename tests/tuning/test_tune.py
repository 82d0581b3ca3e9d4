"""Data and a method in; settings, and a page of the search, out."""

import re
from dataclasses import replace

import numpy as np
import pytest

from fdch import methods
from fdch.data.pairs import PairedSet
from fdch.errors import LabelError, MissingExtra, RunError, SettingError
from fdch.methods._base import HashMethod
from fdch.methods._settings.assignments import search_space, setting_names
from fdch.methods.dch import DCH
from fdch.runs import preparation
from fdch.runs.pipeline import TrainingTask
from fdch.training.context import Context
from fdch.tuning import search, tune
from fdch.tuning.settings_file import SettingsFile
from fdch.tuning.tune import require_free_place, study_folder, tune_settings
from fdch.tuning.tuning_page import write_tuning_page

MINUTES = 60.0  # searches end by their number of trials
TINY = {
    "stage_one_epochs": "2",
    "stage_two_epochs": "4",
    "text_hidden": "16",
    "fusion_width": "16",
    "fusion_hidden": "16",
    "batch_size": "32",
}

# every method takes those of these that are among its settings
SMALL = TINY | {"epochs": "4", "anchors": "30", "atoms": "32", "components": "10"}


@pytest.fixture
def few_trials(monkeypatch):
    monkeypatch.setattr(search, "TRIALS_PER_SETTING", 2)


@pytest.fixture
def task(tmp_path, factor_pairs, write_features):
    source = write_features(tmp_path / "features.npz", factor_pairs(240))
    return TrainingTask(source, tmp_path / "settings.toml", method="dch", bits=8)


def save(found, task):
    file = found.to_file({"name": "features", "source": task.source})
    write_tuning_page(task.out.with_suffix(".html"), found, file)
    file.save(task.out)
    return file


def test_a_shallow_method_is_tuned_on_its_training_part_alone(
    task, few_trials, monkeypatch
):
    seen = set()
    fit = HashMethod.fit

    def watch(self, pairs, *args, **more):
        seen.update(pairs.ids)
        return fit(self, pairs, *args, **more)

    monkeypatch.setattr(HashMethod, "fit", watch)
    splits = []
    found, pairs = tune_settings(
        task, MINUTES, announce=lambda pairs, split: splits.append(split)
    )
    assert seen == {*splits[0].train, *splits[0].validation}
    assert (len(found.trials), found.held_out) == (7, 24)
    file = save(found, task)
    assert SettingsFile.read(task.out) == file
    assert file.data["fingerprint"] == pairs.fingerprint
    assert file.data["split"] == splits[0].fingerprint
    assert file.search["trials"] == 7
    assert study_folder(task.out).is_dir()


def test_networks_are_judged_while_they_learn(task, monkeypatch):
    monkeypatch.setattr(search, "TRIALS_PER_SETTING", 2 / 8)
    task = replace(task, method="fdch", settings=TINY)
    found, _ = tune_settings(task, MINUTES)
    defaults = found.trials[0]
    assert {0, 1, 2} <= defaults.marks.keys()
    first = found.trials[1].settings
    assert (first["image_dropout"], first["word_dropout"]) == (0.2, 0.2)
    file = save(found, task)
    # what was fixed is written down too: it is not the method's default
    assert file.settings["stage_two_epochs"] == 4
    page = task.out.with_suffix(".html").read_text()
    assert "both galleries" in page
    assert "stage_two_epochs" in page


# one method of each kind by default
IN_FULL = {"cmfh", "seph_km", "dcmh", "fdch"}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in IN_FULL else pytest.mark.slow)
        for name in methods.names()
    ],
)
def test_every_method_with_a_search_space_can_be_tuned(task, monkeypatch, name):
    space = search_space(methods.load(name))
    if not space:
        pytest.skip(f"{name} declares no search space")
    monkeypatch.setattr(search, "TRIALS_PER_SETTING", 2 / len(space))
    monkeypatch.setattr(search, "FOLDS", 1)
    known = setting_names(methods.load(name))
    small = {key: value for key, value in SMALL.items() if key in known}
    found, _ = tune_settings(replace(task, method=name, settings=small), MINUTES)
    assert {trial.state for trial in found.trials} <= {"done", "stopped"}
    assert len(found.trials) == 3


@pytest.mark.device
def test_networks_are_tuned_on_an_accelerator(task, monkeypatch):
    monkeypatch.setattr(search, "TRIALS_PER_SETTING", 1 / 8)
    task = replace(task, method="fdch", settings=TINY)
    found, _ = tune_settings(task, MINUTES, context=Context(device="cuda"))
    assert {trial.state for trial in found.trials} <= {"done", "stopped"}
    assert {0, 1, 2} <= found.trials[0].marks.keys()


def test_what_is_better_is_chosen_and_else_the_defaults(task, few_trials, monkeypatch):
    gain = 0.2

    def score(method, pairs, context):
        scores = np.linspace(0.2, 0.6, len(pairs))
        return scores + gain * (method.ridge != DCH().ridge)

    monkeypatch.setattr(search, "score_held_out", score)
    found, _ = tune_settings(task, MINUTES)
    assert found.verdict.is_better
    assert found.settings["ridge"] == found.chosen.settings["ridge"] != DCH().ridge
    assert re.match(r"Trial \d of 6 gains 0.2000 ± 0.0000", found.remark)
    gain = -0.2
    found, _ = tune_settings(
        replace(task, out=task.out.with_name("other.toml")), MINUTES
    )
    assert found.chosen is found.trials[0]
    assert found.settings == {}
    assert found.remark.startswith("The defaults are kept:")


def test_fixed_settings_are_not_searched(task, few_trials):
    found, _ = tune_settings(replace(task, settings={"ridge": "5"}), MINUTES)
    assert "ridge" not in found.task.space
    assert all("ridge" not in trial.settings for trial in found.trials)
    assert found.settings["ridge"] == 5


def test_pictures_become_features_once(few_trials, tmp_path, monkeypatch):
    extracted = []

    def extract(pairs, context):
        extracted.append(len(pairs))
        return preparation.extract(pairs, context)

    monkeypatch.setattr(tune, "extract", extract)
    task = TrainingTask("scenes:60", tmp_path / "s.toml", method="cmfh", bits=8)
    found, _ = tune_settings(task, MINUTES)
    assert extracted == [30]
    assert len(found.trials) == 7


def test_a_method_without_a_search_space_says_so(task, monkeypatch):
    monkeypatch.setattr(DCH, "search_space", {})
    with pytest.raises(
        SettingError, match=r"nothing to tune in dch: its file declares"
    ):
        tune_settings(task, MINUTES)
    monkeypatch.undo()
    every = {"ridge": "1", "classifier_weight": "1", "prediction_weight": "1"}
    with pytest.raises(SettingError, match=r"nothing to tune in dch: all .* is fixed"):
        tune_settings(replace(task, settings=every), MINUTES)
    assert not study_folder(task.out).exists()


def test_pairs_without_labels_cannot_be_tuned_on(task, tmp_path, factor_pairs):
    pairs = factor_pairs(60)
    texts = pairs.texts.matrix.toarray()
    source = tmp_path / "bare.npz"
    np.savez(source, image=pairs.images.values, text=texts, labels=0 * pairs.labels)
    with pytest.raises(LabelError, match="has a label; settings are compared by"):
        tune_settings(replace(task, source=str(source), method="cmfh"), MINUTES)


def test_a_search_on_other_data_is_refused(
    task, few_trials, tmp_path, factor_pairs, write_features
):
    tune_settings(task, MINUTES)
    other = write_features(tmp_path / "other.npz", factor_pairs(240, seed=1))
    with pytest.raises(RunError, match="belongs to a search on other data"):
        tune_settings(replace(task, source=other), MINUTES)
    with pytest.raises(RunError, match="belongs to a search on other data"):
        tune_settings(replace(task, bits=16), MINUTES)


@pytest.mark.parametrize("name", ["settings.toml", "settings.html"])
def test_what_is_there_is_not_written_over(task, name):
    require_free_place(task.out, resume=False)
    task.out.with_name(name).touch()
    with pytest.raises(RunError, match=rf"{name}' already exists. Add --resume"):
        require_free_place(task.out, resume=False)
    require_free_place(task.out, resume=True)


@pytest.mark.parametrize("package", ["optuna", "matplotlib", "jinja2"])
def test_a_missing_package_is_reported_before_any_work(task, monkeypatch, package):
    monkeypatch.setattr(tune, "find_spec", lambda name: name != package)
    with pytest.raises(MissingExtra, match=r"tuning needs .* 'fdch\[tune\]'"):
        tune_settings(task, MINUTES)


def test_the_page_shows_every_trial_and_loads_nothing(task, few_trials):
    found, _ = tune_settings(task, MINUTES)
    save(found, task)
    page = task.out.with_suffix(".html").read_text()
    assert page.count("<tr") > len(found.trials) + len(found.task.space)
    assert page.count("<svg") == len(found.task.space)
    assert not re.search(r"(src|href)=\"(?!data:|#)", page)
    assert "default-src 'none'" in page
    assert found.remark in page


def test_a_page_of_failed_unfinished_and_preset_trials_is_whole(
    task, few_trials, tmp_path
):
    task = replace(task, settings={"preset": "release"})  # a weight of 0
    found, _ = tune_settings(task, MINUTES)
    trials = list(found.trials)
    trials[1].state, trials[1].reason = "failed", "<b>it diverged</b>"
    trials[2].state, trials[2].marks, trials[2].seconds = "running", {}, []
    save(replace(found, trials=tuple(trials)), task)
    page = task.out.with_suffix(".html").read_text()
    assert "&lt;b&gt;it diverged" in page
    assert "running" in page


def test_warnings_are_gathered_and_not_repeated(task, few_trials, caplog):
    found, _ = tune_settings(
        replace(task, method="dcmh", settings={"epochs": "1"}), MINUTES
    )
    assert len(found.warnings) == 1
    assert "fewer than one batch" in found.warnings[0]
    assert not caplog.records


def test_data_is_read_as_for_training(task, few_trials):
    found, pairs = tune_settings(task, MINUTES)
    assert isinstance(pairs, PairedSet)
    assert len(found.pairs) == 120
