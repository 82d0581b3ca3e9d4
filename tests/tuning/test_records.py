"""Trials on disk: they come back as they were, or are refused with a reason."""

import json

import pytest

from fdch.errors import DamagedRun, NewerRun, RunError
from fdch.tuning.records import FILE, Records, Trial, last_step

DEFAULTS = {"strength": 0.5}


@pytest.fixture
def records(tmp_path):
    marks = {0: 0.1, 1: 0.2, last_step(0): 0.3, last_step(1): 0.4}
    found = Records(
        tmp_path / "study",
        "task",
        [
            Trial(0, DEFAULTS, "done", marks, [0.0, 0.0], [1.5, 2.5]),
            Trial(1, {"strength": 0.7}, "stopped", {0: 0.05, 1: 0.1}),
            Trial(2, {"strength": 0.1}, "failed", reason="it diverged"),
        ],
        [[0.3, 0.3], [0.4, 0.4]],
        42.0,
    )
    found.save()
    return found


def reopen(records, task="task"):
    return Records.open(records.folder, task, DEFAULTS)


def change(records, **changes):
    path = records.folder / FILE
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_they_come_back_as_they_were(records):
    assert reopen(records) == records


def test_without_any_the_defaults_are_to_be_measured(tmp_path):
    found = Records.open(tmp_path / "none", "task", DEFAULTS)
    assert found.trials == [Trial(0, DEFAULTS)]
    assert found.defaults.scores == []
    assert not (tmp_path / "none").exists()


def test_gains_are_over_the_defaults_on_the_same_folds(records):
    defaults, other = records.defaults, records.trials[1]
    assert defaults.scores == [0.3, 0.4]
    assert other.gain_at(1, defaults) == pytest.approx(-0.1)
    ahead = Trial(3, {}, marks={last_step(0): 0.5, last_step(0) + 1: 0.5})
    defaults.marks[last_step(0) + 1] = 0.1
    assert ahead.gain_at(last_step(0) + 1, defaults) == pytest.approx(0.3)


def test_those_of_another_task_are_refused(records):
    with pytest.raises(RunError, match=r"a search on other data.*another --out"):
        reopen(records, "other task")


@pytest.mark.parametrize(
    "changes",
    [
        {"trials": []},
        {"trials": None},
        {"trials": [{"number": 0}]},
        {"reference": [[0.3]]},
        {"reference": "none"},
        {"spent": "long"},
        {"spent": 10**400},
        {"format": "1"},
    ],
)
def test_damage_is_named(records, changes):
    change(records, **changes)
    with pytest.raises(DamagedRun, match=r"study.json' cannot be read.*Delete its fol"):
        reopen(records)


@pytest.mark.parametrize("state", ["lost", 3])
def test_an_unknown_state_is_damage(records, state):
    trials = json.loads((records.folder / FILE).read_text())["trials"]
    trials[1]["state"] = state
    change(records, trials=trials)
    with pytest.raises(DamagedRun, match="state"):
        reopen(records)


@pytest.mark.parametrize("text", ["", "[1]", "no JSON", "{}", "[" * 100_000])
def test_what_is_no_record_is_damage(records, text):
    (records.folder / FILE).write_text(text)
    with pytest.raises(DamagedRun):
        reopen(records)


def test_a_later_format_requires_an_upgrade(records):
    change(records, format=2)
    with pytest.raises(NewerRun, match="Upgrade fdch"):
        reopen(records)


def test_a_folder_that_cannot_be_made_is_reported(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match="cannot be made"):
        Records(tmp_path / "file" / "study", "task", [Trial(0, {})]).save()
