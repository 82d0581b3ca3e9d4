"""Cells are run once, resumed where they stopped, and never mixed up."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from fdch.evaluation import code_health
from fdch.methods._base import HashMethod
from fdch.reproduction import laboratory as module
from fdch.reproduction.cells import RUN
from fdch.reproduction.laboratory import Laboratory
from fdch.reproduction.study import Cell, Study
from fdch.runs.extraction import takes_features
from fdch.runs.files import is_finished
from fdch.runs.run import open_run
from fdch.runs.scoring import evaluate_run
from fdch.training.checkpoints import Checkpoints

FDCH, VARIANT = Cell("fdch", 16, 0), Cell("fdch_i", 16, 0)
SHALLOW = Cell("cmfh", 16, 0)


@pytest.fixture
def laboratory(study):
    return Laboratory(study)


def figures_of(laboratory, cell):
    return laboratory.record(cell)[0].figures


def scores_of(laboratory, cell):
    return (laboratory.study.folder(cell) / "scores.json").read_text()


def test_a_cell_is_done_once_it_has_run(laboratory):
    assert not laboratory.is_done(SHALLOW)
    record = laboratory.run(SHALLOW)
    assert laboratory.is_done(SHALLOW)
    assert record.scores.protocol.split == laboratory.split(0).fingerprint
    assert record.scores.protocol.data == laboratory.pairs.fingerprint
    assert record.figures["encoded_pairs"] == 120
    assert record.figures["training_seconds"] >= 0
    assert record.figures["encoding_seconds"] >= 0


def test_all_methods_and_lengths_of_a_seed_have_one_split(laboratory):
    cells = [SHALLOW, Cell("scm_seq", 8, 0), Cell("scm_seq", 8, 1)]
    splits = [laboratory.task(cell)["split"] for cell in cells]
    assert splits[0] == splits[1] != splits[2]


def test_another_setting_makes_another_cell(laboratory):
    laboratory.run(SHALLOW)
    changed = replace(laboratory.study, settings={"cmfh": {"max_iterations": "3"}})
    other = Laboratory(changed)
    record, trouble = other.record(SHALLOW)
    assert record is None
    assert "made anew" in trouble
    other.run(SHALLOW)
    assert other.is_done(SHALLOW)
    assert not laboratory.is_done(SHALLOW)


def test_a_cell_of_an_older_format_is_run_again_with_a_note(laboratory, monkeypatch):
    monkeypatch.setattr(module, "CELL_FORMAT", 1)
    laboratory.run(SHALLOW)
    assert laboratory.is_done(SHALLOW)
    monkeypatch.undo()
    record, trouble = laboratory.record(SHALLOW)
    assert record is None
    assert "made with other data, settings or version of fdch" in trouble
    assert laboratory.run(SHALLOW).state == "done"


def test_scores_of_another_cell_do_not_count(laboratory):
    laboratory.run(SHALLOW)
    laboratory.run(Cell("cmfh", 8, 0))
    folder = laboratory.study.folder(SHALLOW)
    for name in ("scores.json", "queries.safetensors"):
        shutil.copy(laboratory.study.folder(Cell("cmfh", 8, 0)) / name, folder)
    record, trouble = laboratory.record(SHALLOW)
    assert record is None
    assert "another cell" in trouble


def test_a_cell_that_cannot_be_run_keeps_the_reason(laboratory):
    cell = Cell("scm_orth", 16, 0)
    assert laboratory.run(cell).state == "failed"
    record, _ = laboratory.record(cell)
    assert "too few for 16 bits" in record.reason
    assert not laboratory.is_done(cell)


def test_a_bug_in_one_method_is_its_own_failure(laboratory, monkeypatch, caplog):
    def broken(*_, **__):
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(HashMethod, "fit", broken)
    assert laboratory.run(SHALLOW).reason == "ZeroDivisionError: oh"
    assert "fault of the program" in caplog.text


def test_warnings_are_kept_with_the_scores(source, tmp_path):
    laboratory = Laboratory(Study(source, tmp_path))
    record = laboratory.run(Cell("scm_orth", 8, 0))
    assert len(record.figures["warnings"]) == 1
    assert "filled" in record.figures["warnings"][0]


def test_variants_take_over_the_first_stage_and_nothing_is_left(laboratory):
    job = (FDCH, VARIANT, Cell("fdch_ii", 16, 0))
    assert tuple(laboratory.run_job(job)) == job
    taken = [figures_of(laboratory, cell)["stage_one_from"] for cell in job]
    assert taken == [None, "fdch-16-0", "fdch-16-0"]
    assert not any((laboratory.study.folder(cell) / RUN).exists() for cell in job)


def test_a_first_stage_taken_over_gives_the_same_scores(laboratory, source, tmp_path):
    list(laboratory.run_job((FDCH, VARIANT)))
    alone = Laboratory(replace(laboratory.study, out=tmp_path / "alone"))
    list(alone.run_job((VARIANT,)))
    assert figures_of(alone, VARIANT)["stage_one_from"] is None
    assert scores_of(alone, VARIANT) == scores_of(laboratory, VARIANT)


def test_a_first_stage_survives_an_interruption_between_variants(laboratory):
    running = laboratory.run_job((FDCH, VARIANT))
    assert next(running) == FDCH
    running.close()
    again = Laboratory(laboratory.study)
    assert tuple(again.run_job((VARIANT,))) == (VARIANT,)
    assert figures_of(again, VARIANT)["stage_one_from"] == "fdch-16-0"
    assert not (laboratory.study.folder(FDCH) / RUN).exists()


def test_a_variant_with_a_first_stage_of_its_own_learns_it(study):
    settings = {**study.settings, "fdch_i": {**study.settings["fdch_i"]}}
    settings["fdch_i"]["fusion_width"] = "8"
    laboratory = Laboratory(replace(study, settings=settings))
    list(laboratory.run_job((FDCH, VARIANT)))
    assert figures_of(laboratory, VARIANT)["stage_one_from"] is None


def test_training_goes_on_from_its_checkpoint(laboratory, monkeypatch, tmp_path):
    save, saved = Checkpoints.save, []

    def save_and_stop(self, *args):
        save(self, *args)
        saved.append(args[0])
        if len(saved) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(Checkpoints, "save", save_and_stop)
    with pytest.raises(KeyboardInterrupt):
        laboratory.run(FDCH)
    assert saved == ["stage 1"]
    record = laboratory.run(FDCH)
    assert record.figures["resumed"]
    assert saved == ["stage 1", "stage 2"]
    whole = Laboratory(replace(laboratory.study, out=tmp_path / "whole"))
    whole.run(FDCH)
    assert scores_of(whole, FDCH) == scores_of(laboratory, FDCH)


def test_checkpoints_of_another_task_are_dropped(laboratory, monkeypatch):
    def stop(self, *_):
        self.folder.mkdir(parents=True)
        (self.folder / "stage 1.safetensors").write_bytes(b"unfinished")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoints, "save", stop)
        with pytest.raises(KeyboardInterrupt):
            laboratory.run(FDCH)
    settings = {"fdch": {**laboratory.study.settings["fdch"], "stage_one_epochs": "1"}}
    other = Laboratory(replace(laboratory.study, settings=settings))
    record = other.run(FDCH)
    assert record.state == "done"
    assert not record.figures["resumed"]


def test_a_kept_run_can_be_evaluated(study):
    laboratory = Laboratory(replace(study, keep_runs=True))
    list(laboratory.run_job((FDCH,)))
    run = open_run(study.folder(FDCH) / RUN)
    scores = evaluate_run(run).scores
    assert json.loads(scores_of(laboratory, FDCH)) == scores.to_json()


def test_a_run_kept_from_pictures_encodes_pictures(tmp_path):
    study = Study("scenes:60", tmp_path, keep_runs=True)
    laboratory = Laboratory(study)
    cell = Cell("scm_seq", 8, 0)
    list(laboratory.run_job((cell,)))
    run = open_run(study.folder(cell) / RUN)
    codes = run.method.encode_images(laboratory.pairs.images)
    assert code_health(codes).items == 60
    assert evaluate_run(run).scores.to_json() == json.loads(scores_of(laboratory, cell))


def test_a_network_of_its_own_choice_sees_the_pictures(tmp_path):
    study = Study("scenes:60", tmp_path, {"scm_seq": {"image_network": "small"}})
    laboratory = Laboratory(study)
    method = study.method(Cell("scm_seq", 8, 0))
    assert not takes_features(method, laboratory.pairs)
    assert takes_features(study.method(SHALLOW), laboratory.pairs)


def test_a_run_that_is_not_kept_is_not_written(laboratory):
    laboratory.run(SHALLOW)
    assert not is_finished(laboratory.study.folder(SHALLOW) / RUN)
    assert np.isfinite(laboratory.record(SHALLOW)[0].scores.chance)
