"""Training: what it says, what it leaves, how it goes on."""

import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from fdch.cli.shared.progress_lines import ProgressPrinter
from fdch.runs.run import open_run
from fdch.runs.run_files import STATE
from fdch.training.checkpoints import Checkpoints

PARTS = ("query", "train", "validation")


def test_it_says_what_the_data_is_then_where_the_run_is(on_features):
    trained, run = on_features.trained, on_features.run
    assert trained.stderr.splitlines()[0] == (
        "features: 120 pairs; 54 for training, 6 for validation, 12 queries, "
        "108 in the database"
    )
    assert "stage 1: 1/1 epochs" in trained.stderr
    said = dict(line.split(maxsplit=1) for line in trained.stdout.splitlines())
    assert said["run"] == str(run)
    assert said["method"] == "fdch, 16 bits, seed 0"
    assert said["trained"].startswith("on   54 pairs in ")
    assert said["fingerprint"] == open_run(run).fingerprint
    assert said["next"] == f"fdch evaluate {run}"
    assert "image → text" in said["validation"]


def test_fdch_plus_is_trained_where_no_method_is_named(
    fdch, on_features, tiny, tmp_path
):
    short = ("--set", "label_epochs=1", "--set", "pair_epochs=1")
    unnamed = tiny[tiny.index("--set") :]
    result = fdch(
        *("train", on_features.data, "--out", tmp_path / "run", *unnamed, *short)
    )
    assert result.exit_code == 0, result.stderr
    assert open_run(tmp_path / "run").name == "fdch_plus"


def test_json_is_one_document_and_alone(fdch, on_features, tiny, tmp_path):
    result = fdch(
        *("train", on_features.data, "--bits", 8, "--out", tmp_path / "run"),
        *("--seed", 3, "--json", *tiny),
    )
    document = json.loads(result.stdout)
    assert document["run"] == str(tmp_path / "run")
    assert (document["method"], document["bits"], document["seed"]) == ("fdch", 8, 3)
    assert (document["train"], document["validation"]) == (54, 6)
    assert document["fingerprint"] == open_run(tmp_path / "run").fingerprint
    assert document["data"]["pairs"] == 120
    assert document["settings"]["text_hidden"] == 16
    for gallery, directions in document["validation_scores"].items():
        for direction, part in directions.items():
            assert set(part) == {"map", "precision_at_10", "ndcg_at_10"}
            assert document["validation_map"][gallery][direction] == part["map"]


def test_a_run_can_learn_from_all_training_pairs(fdch, on_features, tiny, tmp_path):
    result = fdch(
        *("train", on_features.data, "--bits", 8, "--out", tmp_path / "run", *tiny),
        *("--query-pairs", 20, "--train-pairs", 40, "--validation-pairs", 0),
    )
    assert result.exit_code == 0, result.stderr
    assert "40 for training, 0 for validation, 20 queries" in result.stderr
    scored = fdch("evaluate", tmp_path / "run")
    assert scored.exit_code == 0, scored.stderr


def test_sizes_and_image_network_are_passed_on(fdch, on_features, tiny, tmp_path):
    result = fdch(
        *("train", on_features.data, "--bits", 8, "--out", tmp_path / "run", *tiny),
        *("--query-pairs", 20, "--train-pairs", 40, "--image-network", "features"),
    )
    assert "36 for training, 4 for validation, 20 queries" in result.stderr
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    assert facts["settings"]["image_network"] == "features"


def test_pairs_with_the_same_picture_are_kept_in_one_part(
    fdch, on_features, tiny, tmp_path
):
    with np.load(on_features.data) as arrays:
        doubled: dict[str, Any] = {
            name: np.repeat(array, 2, axis=0) for name, array in arrays.items()
        }
    doubled["ids"] = np.array([f"pair{i}" for i in range(240)])
    np.savez(tmp_path / "doubled.npz", **doubled)
    words = "train", tmp_path / "doubled.npz", "--bits", 8, *tiny, "--out"
    result = fdch(*words, tmp_path / "run", "--groups", "pictures")
    assert result.exit_code == 0, result.stderr
    assert "note: pairs with the same pictures are kept in one part" in result.stderr
    split = json.loads((tmp_path / "run" / "split.json").read_text())
    assert split["groups"] == "pictures"
    numbers = {name: {int(i[4:]) // 2 for i in split[name]} for name in PARTS}
    assert not numbers["query"] & (numbers["train"] | numbers["validation"])
    scored = fdch("evaluate", tmp_path / "run", "--json")
    document = json.loads(scored.stdout)
    assert document["protocol"]["groups"] == "pictures"
    assert document["duplicates"]["pictures"]["queries_in_training"] == 0
    assert document["duplicates"]["pictures"]["queries_in_database"] == 0
    assert document["duplicates"]["pictures"]["pairs"] == 240
    plain = fdch(*words, tmp_path / "plain")
    assert plain.exit_code == 0, plain.stderr
    shown = fdch("evaluate", tmp_path / "plain").stdout
    assert "identical pictures: 240 pairs in 120 groups; " in shown
    runs = tmp_path / "run", tmp_path / "plain"
    refused = fdch("compare", *runs).stderr
    assert "groups 'pictures' and ''" in refused


def test_a_saved_split_brings_its_groups(fdch, on_features, tmp_path):
    split = on_features.run / "split.json"
    words = "train", on_features.data, "--out", tmp_path / "run", "--split", split
    result = fdch(*words, "--groups", "texts")
    assert result.exit_code == 2
    assert "leave --groups out" in result.stderr


@pytest.mark.parametrize(("bits", "is_reported"), [(512, False), (513, True)])
def test_codes_too_long_for_an_index_are_reported_before_anything_else(
    fdch, tmp_path, bits, is_reported
):
    out = tmp_path / "run"
    result = fdch("train", tmp_path / "no.csv", "--bits", bits, "--out", out)
    reported = f"note: codes of {bits} bits can be scored, but not indexed and searched"
    assert (reported in result.stderr) == is_reported


def test_a_saved_split_is_used(fdch, on_features, tiny, tmp_path):
    result = fdch(
        *("train", on_features.data, "--bits", 8, "--out", tmp_path / "run", *tiny),
        *("--seed", 9, "--split", on_features.run / "split.json", "--json"),
    )
    first = json.loads((on_features.run / "run.json").read_text())
    assert json.loads(result.stdout)["split"] == first["split"]


def test_a_preset_can_be_chosen(fdch, on_features, tiny, tmp_path):
    fdch(
        *("train", on_features.data, "--bits", 8, "--out", tmp_path / "run"),
        *(*tiny, "--set", "preset=paper"),
    )
    settings = open_run(tmp_path / "run").facts["settings"]
    assert settings["optimizer"] == "sgd"
    assert settings["text_hidden"] == 16


def test_fewer_pairs_than_a_batch_are_trained_on(
    fdch, features, tiny, tmp_path, caplog
):
    data, run = features(tmp_path / "features.npz", pairs=60), tmp_path / "run"
    usual = tiny[: tiny.index("batch_size=16") - 1]  # batches of 128
    trained = fdch("train", data, "--bits", 8, "--out", run, *usual)
    assert trained.exit_code == 0, trained.stderr
    (reported,) = caplog.messages
    assert reported.startswith(
        "27 training pairs are fewer than one batch of 128; each"
    )
    for words in (("evaluate", run), ("index", "create", tmp_path / "i", "--run", run)):
        result = fdch(*words)
        assert result.exit_code == 0, result.stderr


def test_variants_take_stage_one_from_a_run(fdch, on_features, tiny, tmp_path):
    result = fdch(
        *("train", on_features.data, "--bits", 16, "--out", tmp_path / "run", *tiny),
        *("--method", "fdch_ii", "--stage-one", on_features.run),
    )
    assert result.exit_code == 0, result.stderr
    assert "stage 1" not in result.stderr
    assert "stage 2" in result.stderr


def test_broken_pictures_are_skipped_by_name_on_request(
    fdch, photo_rows, manifest, tiny, tmp_path
):
    (tmp_path / "torn.jpg").write_bytes(b"\xff\xd8\xff\xe0 torn")
    torn = [
        {**photo_rows[i], "id": f"torn{i}", "image": str(tmp_path / "torn.jpg")}
        for i in range(12)
    ]
    data = manifest(tmp_path / "pairs.csv", photo_rows + torn)
    result = fdch(
        *("train", data, "--bits", 8, "--out", tmp_path / "run", *tiny),
        *("--broken", "skip", "--json"),
    )
    assert result.exit_code == 0, result.stderr
    assert "skipped 12 broken rows:\n  'torn0', line 62: picture" in result.stderr
    assert "torn9" in result.stderr
    assert "torn10" not in result.stderr
    assert "  and 2 more" in result.stderr
    assert json.loads(result.stdout)["data"]["skipped"] == 12
    # what was skipped in training is skipped in evaluation, without an option
    assert fdch("evaluate", tmp_path / "run").exit_code == 0


def test_a_trained_run_is_not_trained_over(fdch, on_features, tiny):
    before = (on_features.run / STATE).read_bytes()
    result = fdch("train", on_features.data, "--out", on_features.run, *tiny)
    assert result.exit_code == 1
    assert "already holds a trained run" in result.stderr
    assert (on_features.run / STATE).read_bytes() == before


def test_resuming_a_finished_run_does_nothing(fdch, on_features, tiny):
    result = fdch(
        *("train", on_features.data, "--bits", 16, "--out", on_features.run),
        *("--resume", *tiny),
    )
    assert result.exit_code == 0
    assert "was already finished" in result.stderr
    assert result.stdout == on_features.trained.stdout


@pytest.fixture
def stopped(monkeypatch):
    """Let Ctrl-C come at an epoch, with a checkpoint after each one before."""
    monkeypatch.setattr(Checkpoints, "due", lambda *_: True)
    call = ProgressPrinter.__call__

    def stop_at(task, done):
        def interrupt(self, update):
            call(self, update)
            if (update.task, update.done) == (task, done):
                raise KeyboardInterrupt

        monkeypatch.setattr(ProgressPrinter, "__call__", interrupt)

    yield stop_at


@pytest.fixture(scope="module")
def longer(tiny):
    return [*tiny, "--set", "stage_one_epochs=3", "--set", "stage_two_epochs=3"]


@pytest.fixture(scope="module")
def uninterrupted(fdch, on_features, longer, tmp_path_factory):
    run = tmp_path_factory.mktemp("whole") / "run"
    fdch("train", on_features.data, "--bits", 16, "--out", run, *longer)
    return (run / STATE).read_bytes()


@pytest.mark.parametrize(("task", "epoch"), [("stage 1", 2), ("stage 2", 2)])
def test_interrupted_training_goes_on_to_the_same_result(
    fdch,
    on_features,
    longer,
    uninterrupted,
    stopped,
    monkeypatch,
    tmp_path,
    task,
    epoch,
):
    run = tmp_path / "run"
    words = ("train", on_features.data, "--bits", 16, "--out", run, *longer)
    stopped(task, epoch)
    result = fdch(*words)
    assert result.exit_code == 130
    assert result.stdout == ""
    assert result.stderr.splitlines()[-1] == (
        f"interrupted; what was learned is kept in '{run}'. "
        "Continue with the same command and --resume."
    )
    refused = fdch(*words)
    assert refused.exit_code == 1
    assert "Add --resume" in refused.stderr
    monkeypatch.undo()
    monkeypatch.setattr(Checkpoints, "due", lambda *_: False)
    resumed = fdch(*words, "--resume")
    assert resumed.exit_code == 0, resumed.stderr
    assert f"{task}: {epoch}/3" in resumed.stderr
    assert f"{task}: {epoch - 1}/3" not in resumed.stderr
    assert (run / STATE).read_bytes() == uninterrupted
    assert not (run / "checkpoints").exists()


def test_training_interrupted_before_anything_was_learned_leaves_nothing(
    fdch, on_features, longer, stopped, tmp_path
):
    stopped("stage 1", 1)
    result = fdch("train", on_features.data, "--out", tmp_path / "run", *longer)
    assert result.exit_code == 130
    assert "no run was written" in result.stderr
    assert not (tmp_path / "run").exists()


SIGNALLED = """
import signal
from fdch.cli import main
from fdch.cli.shared.progress_lines import ProgressPrinter

signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored here
call = ProgressPrinter.__call__

def signalled(self, update):
    call(self, update)
    if (update.task, update.done) == ("stage 2", 2):
        signal.raise_signal(signal.SIGINT)

ProgressPrinter.__call__ = signalled
main()
"""


@pytest.mark.slow
def test_a_real_signal_does_the_same(
    fdch, on_features, longer, uninterrupted, tmp_path
):
    words = ("train", on_features.data, "--bits", 16, *longer)
    called = [str(word) for word in (*words, "--out", tmp_path / "run")]
    result = subprocess.run(
        [sys.executable, "-c", SIGNALLED, *called],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_WAIT_POLICY": "passive"},
    )
    assert result.returncode == 130
    last = result.stderr.splitlines()[-1]
    assert "Continue with the same command and --resume" in last
    assert "Traceback" not in result.stderr
    assert fdch(*called, "--resume").exit_code == 0
    assert (tmp_path / "run" / STATE).read_bytes() == uninterrupted


def test_pairs_without_labels_teach_methods_that_need_none(
    fdch, manifest, photo_rows, tiny, tmp_path
):
    columns = ("id", "image", "text")
    data, run = manifest(tmp_path / "pairs.csv", photo_rows, columns), tmp_path / "run"
    words = ("train", data, "--bits", 8, "--out", run)
    refused = fdch(*words, *tiny)
    assert refused.exit_code == 1
    assert "take a method that learns without labels" in refused.stderr
    trained = fdch(*words, "--method", "cmfh")
    assert trained.exit_code == 0, trained.stderr
    assert "next         fdch index create INDEX --run" in trained.stdout
    encoded = fdch("encode", run, data, "--out", tmp_path / "codes.npz")
    assert encoded.exit_code == 0, encoded.stderr
    scored = fdch("evaluate", run)
    assert scored.exit_code == 1
    assert "none of the 6 queries of 'pairs' has a label" in scored.stderr
    assert "Give data with labels" in scored.stderr
    labelled = manifest(tmp_path / "labelled.csv", photo_rows)
    elsewhere = fdch("evaluate", run, labelled)
    assert elsewhere.exit_code == 0, elsewhere.stderr
