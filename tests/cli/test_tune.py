"""`fdch tune`, and what `fdch train` makes of its settings."""

import json
import re
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest

from fdch.runs.run import open_run
from fdch.tuning import search
from fdch.tuning.settings_file import SettingsFile


@pytest.fixture
def tune(fdch, features, tmp_path, monkeypatch):
    """Tune DCH on small data, with a few trials."""
    monkeypatch.setattr(search, "TRIALS_PER_SETTING", 3)
    data = features(tmp_path / "features.npz", pairs=200)

    def run(*more, out="settings.toml", source=data):
        return fdch(
            *("tune", source, "--method", "dch", "--bits", 8),
            *("--out", tmp_path / out, *more),
        )

    return run


def write(path, settings="ridge = 2.5", method="dch", **data):
    given = "\n".join(f'{key} = "{value}"' for key, value in data.items())
    path.write_text(
        f'format = 1\nmethod = "{method}"\nbits = 8\nseed = 0\n'
        f"[settings]\n{settings}\n[data]\n{given}\n"
    )
    return path


def test_settings_are_found_written_and_trained_with(tune, fdch, tmp_path):
    result = tune()
    assert result.exit_code == 0, result.stderr
    assert "trials    10 in" in result.stdout
    assert "200 pairs; 90 for training, 10 for validation" in result.stderr
    file = SettingsFile.read(tmp_path / "settings.toml")
    assert (file.method, file.bits, file.seed) == ("dch", 8, 0)
    assert (tmp_path / "settings.html").exists()
    line = re.search(r"next +fdch (train .*) --out RUN", result.stdout)
    assert line is not None
    trained = fdch(*line[1].split(), "--out", tmp_path / "run")
    assert trained.exit_code == 0, trained.stderr
    assert "note:" not in trained.stderr
    run = open_run(tmp_path / "run")
    assert (run.name, run.method.bits) == ("dch", 8)
    for name, value in file.settings.items():
        assert getattr(run.method, name) == value


def test_the_next_command_trains_on_the_same_split(tune, fdch, tmp_path):
    sizes = ("--seed", 4, "--query-pairs", 20, "--train-pairs", 60, "--broken", "skip")
    result = tune(*sizes, "--groups", "texts")
    line = re.search(r"next +fdch (train .*) --out RUN", result.stdout)
    assert line is not None
    trained = fdch(*line[1].split(), "--out", tmp_path / "run")
    assert trained.exit_code == 0, trained.stderr
    assert "note: the settings were found" not in trained.stderr


def test_json_is_one_document_with_every_trial(tune, tmp_path):
    document = json.loads(tune("--json").stdout)
    assert document["file"] == str(tmp_path / "settings.toml")
    assert len(document["trials"]) == document["search"]["trials"] == 10
    assert document["trials"][0]["settings"]["ridge"] == 0.01
    assert document["is_default"] is (document["settings"] == {})
    assert 0 < document["search"]["default_score"] <= document["search"]["score"] <= 1


def test_resume_continues_a_search(tune, tmp_path, monkeypatch):
    first = json.loads(tune("--json").stdout)
    again = tune()
    assert again.exit_code == 1
    assert "already exists. Add --resume" in again.stderr
    monkeypatch.setattr(search, "TRIALS_PER_SETTING", 5)
    more = json.loads(tune("--json", "--resume").stdout)
    assert len(more["trials"]) == 16
    assert more["trials"][:10] == first["trials"]


def test_another_search_in_its_place_is_refused(tune):
    tune()
    result = tune("--resume", "--seed", 1)
    assert result.exit_code == 1
    assert "belongs to a search on other data, with another split" in result.stderr


def test_interrupted_it_says_how_to_go_on(tune, tmp_path, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(search, "propose", stop)
    result = tune()
    assert result.exit_code == 130
    assert "settings.toml.study'. Continue with the same command and" in result.stderr
    assert not (tmp_path / "settings.toml").exists()
    monkeypatch.undo()
    monkeypatch.setattr(search, "TRIALS_PER_SETTING", 3)
    assert tune("--resume").exit_code == 0


@pytest.mark.parametrize(
    ("more", "code", "reported"),
    [
        (("--minutes", "0"), 2, "0.0 is not in the range x>0"),
        (("--minutes", "inf"), 2, "inf is not a finite number"),
        (("--query-pairs", "10"), 2, "give --query-pairs and --train-pairs together"),
        (("--set", "rigde=1"), 1, "unknown setting 'rigde'; did you mean 'ridge'"),
        (("--set", "bits=4"), 2, "give --bits as an option"),
        (("--method", "dhc"), 1, "unknown method 'dhc'; did you mean 'dch'"),
        (("--device", "abacus"), 1, "abacus"),
        (("--out", "settings.json"), 1, "does not end in .toml"),
        (("--out", "no/settings.toml"), 1, "there is no folder 'no'"),
    ],
)
def test_wrong_values_are_named(tune, tmp_path, monkeypatch, more, code, reported):
    monkeypatch.chdir(tmp_path)
    result = tune(*more)
    assert result.exit_code == code
    assert reported in result.stderr
    assert not list(tmp_path.glob("*.study"))


def test_a_method_with_nothing_to_tune_says_so(tune):
    fixed = ("ridge", "classifier_weight", "prediction_weight")
    options = [part for name in fixed for part in ("--set", f"{name}=1")]
    result = tune(*options)
    assert result.exit_code == 1
    assert "there is nothing to tune in dch" in result.stderr


def test_the_command_line_wins_over_the_file(fdch, features, tmp_path):
    data = features(tmp_path / "features.npz")
    file = write(tmp_path / "s.toml", "ridge = 2.5\niterations = 3", method="dch")
    result = fdch(
        *("train", data, "--settings", file, "--set", "ridge=7", "--bits", 16),
        *("--out", tmp_path / "run"),
    )
    assert result.exit_code == 0, result.stderr
    method: Any = open_run(tmp_path / "run").method
    assert (method.ridge, method.iterations, method.bits) == (7.0, 3, 16)
    assert "note: the settings were found for 8 bits, not 16" in result.stderr
    assert "note: the settings were found on other data" in result.stderr


def test_another_split_of_the_same_data_is_noted(fdch, features, tmp_path):
    from fdch.data.pairs import PairedSet

    data = features(tmp_path / "features.npz")
    known = PairedSet.read(str(data)).fingerprint
    file = write(tmp_path / "s.toml", fingerprint=known, split="another")
    result = fdch("train", data, "--settings", file, "--out", tmp_path / "run")
    assert "another split of this data" in result.stderr


@pytest.mark.parametrize(
    ("settings", "more", "code", "reported"),
    [
        ("ridge = 1.0", ("--method", "cmfh"), 1, "is for dch, not for cmfh"),
        ("ridge = 1.0", ("--set", "preset=release"), 2, "a preset and --settings"),
        ("rigde = 1.0", (), 1, "unknown setting 'rigde'; did you mean 'ridge'"),
        ("ridge = 1.0", ("--settings", "none.toml"), 1, "no settings file 'none.toml'"),
    ],
)
def test_a_wrong_settings_file_is_refused(
    fdch, features, tmp_path, settings, more, code, reported
):
    data = features(tmp_path / "features.npz")
    file = write(tmp_path / "s.toml", settings)
    result = fdch("train", data, "--settings", file, "--out", tmp_path / "run", *more)
    assert result.exit_code == code
    assert reported in result.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_killed_it_goes_on_with_the_trials_it_had(features, tmp_path):
    data = features(tmp_path / "features.npz", pairs=2000)
    records = tmp_path / "settings.toml.study" / "study.json"
    words = [sys.executable, "-m", "fdch", "tune", str(data), "--method", "dch"]
    words += ["--bits", "8", "--minutes", "60", "--json", "--resume"]
    words += ["--out", str(tmp_path / "settings.toml")]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        while not records.exists() or len(trials_in(records)) < 8:
            assert process.poll() is None, process.communicate()[1]
            time.sleep(0.01)
    finally:
        process.kill()
        process.communicate()
    kept = trials_in(records)
    assert not (tmp_path / "settings.toml").exists()
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["trials"]
    assert len(found) == 76
    for before, after in zip(kept, found, strict=False):
        assert before["settings"] == after["settings"]
        np.testing.assert_array_equal(
            before["seconds"], after["seconds"][: len(before["seconds"])]
        )


def trials_in(path):
    return json.loads(path.read_text())["trials"]
