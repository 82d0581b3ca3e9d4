"""Cells are run once, resumed where they stopped, and never mixed up."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from fdch.evaluation import code_health
from fdch.methods._base import HashMethod
from fdch.reproduction import grid_runner as module
from fdch.reproduction.cell_records import RUN
from fdch.reproduction.grid_runner import GridRunner
from fdch.reproduction.study import Cell, Study
from fdch.runs.method_scores import evaluate_run
from fdch.runs.pipeline import TrainingTask, train_run
from fdch.runs.preparation import takes_features
from fdch.runs.run import open_run
from fdch.runs.run_files import is_finished
from fdch.training.checkpoints import Checkpoints

FDCH, VARIANT = Cell("fdch", 16, 0), Cell("fdch_i", 16, 0)
SHALLOW = Cell("cmfh", 16, 0)


@pytest.fixture
def runner(study):
    return GridRunner(study)


def run_all(runner, cells):
    for cell in cells:
        runner.run(cell)


def figures_of(runner, cell):
    return runner.record(cell)[0].figures


def scores_of(runner, cell):
    return (runner.study.folder(cell) / "scores.json").read_text()


def test_a_cell_is_done_once_it_has_run(runner):
    assert not runner.is_done(SHALLOW)
    record = runner.run(SHALLOW)
    assert runner.is_done(SHALLOW)
    assert record.scores.protocol.split == runner.split(0).fingerprint
    assert record.scores.protocol.data == runner.pairs.fingerprint
    assert record.figures["encoded_pairs"] == 120
    assert record.figures["training_seconds"] >= 0
    assert record.figures["encoding_seconds"] >= 0


def test_all_methods_and_lengths_of_a_seed_have_one_split(runner):
    cells = [SHALLOW, Cell("scm_seq", 8, 0), Cell("scm_seq", 8, 1)]
    splits = [runner.task(cell)["split"] for cell in cells]
    assert splits[0] == splits[1] != splits[2]


def test_another_setting_makes_another_cell(runner):
    runner.run(SHALLOW)
    changed = replace(runner.study, settings={"cmfh": {"max_iterations": "3"}})
    other = GridRunner(changed)
    record, trouble = other.record(SHALLOW)
    assert record is None
    assert "run again" in trouble
    other.run(SHALLOW)
    assert other.is_done(SHALLOW)
    assert not runner.is_done(SHALLOW)


def test_a_cell_of_an_older_format_is_run_again_with_a_note(runner, monkeypatch):
    monkeypatch.setattr(module, "CELL_FORMAT", 1)
    runner.run(SHALLOW)
    assert runner.is_done(SHALLOW)
    monkeypatch.undo()
    record, trouble = runner.record(SHALLOW)
    assert record is None
    assert "made with other data, settings or version of fdch" in trouble
    assert runner.run(SHALLOW).state == "done"


def test_scores_of_another_cell_do_not_count(runner):
    runner.run(SHALLOW)
    runner.run(Cell("cmfh", 8, 0))
    folder = runner.study.folder(SHALLOW)
    for name in ("scores.json", "queries.safetensors"):
        shutil.copy(runner.study.folder(Cell("cmfh", 8, 0)) / name, folder)
    record, trouble = runner.record(SHALLOW)
    assert record is None
    assert "another cell" in trouble


def test_a_cell_that_cannot_be_run_keeps_the_reason(runner):
    cell = Cell("scm_orth", 16, 0)
    assert runner.run(cell).state == "failed"
    record, _ = runner.record(cell)
    assert "too few for 16 bits" in record.reason
    assert not runner.is_done(cell)


def test_a_bug_in_one_method_is_its_own_failure(runner, monkeypatch, caplog):
    def broken(*_, **__):
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(HashMethod, "fit", broken)
    assert runner.run(SHALLOW).reason == "ZeroDivisionError: oh"
    assert "fault of the program" in caplog.text


def test_warnings_are_kept_with_the_scores(source, tmp_path):
    runner = GridRunner(Study(source, tmp_path))
    record = runner.run(Cell("scm_orth", 8, 0))
    assert len(record.figures["warnings"]) == 1
    assert "filled" in record.figures["warnings"][0]


def test_variants_take_over_the_first_stage_and_nothing_is_left(runner):
    job = (FDCH, VARIANT, Cell("fdch_ii", 16, 0))
    run_all(runner, job)
    taken = [figures_of(runner, cell)["stage_one_from"] for cell in job]
    assert taken == [None, "fdch-16-0", "fdch-16-0"]
    assert not any((runner.study.folder(cell) / RUN).exists() for cell in job)


def test_a_first_stage_taken_over_gives_the_same_scores(runner, source, tmp_path):
    run_all(runner, [FDCH, VARIANT])
    alone = GridRunner(replace(runner.study, out=tmp_path / "alone"))
    run_all(alone, [VARIANT])
    assert figures_of(alone, VARIANT)["stage_one_from"] is None
    assert scores_of(alone, VARIANT) == scores_of(runner, VARIANT)


def test_a_variant_with_a_first_stage_of_its_own_learns_it(study):
    settings = {**study.settings, "fdch_i": {**study.settings["fdch_i"]}}
    settings["fdch_i"]["fusion_width"] = "8"
    runner = GridRunner(replace(study, settings=settings))
    run_all(runner, [FDCH, VARIANT])
    assert figures_of(runner, VARIANT)["stage_one_from"] is None


def test_training_goes_on_from_its_checkpoint(runner, monkeypatch, tmp_path):
    save, saved = Checkpoints.save, []

    def save_and_stop(self, *args):
        save(self, *args)
        saved.append(args[0])
        if len(saved) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(Checkpoints, "save", save_and_stop)
    with pytest.raises(KeyboardInterrupt):
        runner.run(FDCH)
    assert saved == ["stage 1"]
    record = runner.run(FDCH)
    assert record.figures["resumed"]
    assert saved == ["stage 1", "stage 2"]
    whole = GridRunner(replace(runner.study, out=tmp_path / "whole"))
    whole.run(FDCH)
    assert scores_of(whole, FDCH) == scores_of(runner, FDCH)


def test_checkpoints_of_another_task_are_dropped(runner, monkeypatch):
    def stop(self, *_):
        self.folder.mkdir(parents=True)
        (self.folder / "stage 1.safetensors").write_bytes(b"unfinished")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoints, "save", stop)
        with pytest.raises(KeyboardInterrupt):
            runner.run(FDCH)
    settings = {"fdch": {**runner.study.settings["fdch"], "stage_one_epochs": "1"}}
    other = GridRunner(replace(runner.study, settings=settings))
    record = other.run(FDCH)
    assert record.state == "done"
    assert not record.figures["resumed"]


def test_a_kept_run_can_be_evaluated(study):
    runner = GridRunner(replace(study, keep_runs=True))
    run_all(runner, [FDCH])
    run = open_run(study.folder(FDCH) / RUN)
    scores = evaluate_run(run).scores
    assert json.loads(scores_of(runner, FDCH)) == scores.to_json()


def test_a_kept_run_is_the_one_that_training_makes(study, tmp_path):
    runner = GridRunner(replace(study, keep_runs=True))
    run_all(runner, [FDCH])
    kept = open_run(study.folder(FDCH) / RUN)
    task = TrainingTask(
        study.source, tmp_path / "trained", "fdch", 16, 0, study.settings["fdch"]
    )
    trained = train_run(task)
    assert kept.fingerprint == trained.fingerprint
    assert kept.facts["files"] == trained.facts["files"]
    assert kept.facts.keys() == trained.facts.keys()
    assert kept.facts["validation_scores"] == trained.facts["validation_scores"]


def test_a_run_kept_from_pictures_encodes_pictures(tmp_path):
    study = Study("scenes:60", tmp_path, keep_runs=True)
    runner = GridRunner(study)
    cell = Cell("scm_seq", 8, 0)
    run_all(runner, [cell])
    run = open_run(study.folder(cell) / RUN)
    codes = run.method.encode_images(runner.pairs.images)
    assert code_health(codes).items == 60
    assert evaluate_run(run).scores.to_json() == json.loads(scores_of(runner, cell))


def test_a_network_of_its_own_choice_sees_the_pictures(tmp_path):
    study = Study("scenes:60", tmp_path, {"scm_seq": {"image_network": "small"}})
    runner = GridRunner(study)
    method = study.method(Cell("scm_seq", 8, 0))
    assert not takes_features(method, runner.pairs)
    assert takes_features(study.method(SHALLOW), runner.pairs)


def test_a_run_that_is_not_kept_is_not_written(runner):
    runner.run(SHALLOW)
    assert not is_finished(runner.study.folder(SHALLOW) / RUN)
    assert np.isfinite(runner.record(SHALLOW)[0].scores.chance)
