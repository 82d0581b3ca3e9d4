"""Trials within a budget: how many, on which folds, stopped when and resumed where."""

from dataclasses import replace

import pytest
from tests.tuning.conftest import Toy

from fdch.errors import FdchError, SettingError
from fdch.progress import Update
from fdch.tuning import search
from fdch.tuning.proposals import TuningTask, is_promising
from fdch.tuning.records import FILE, STEPS, Records, choose
from fdch.tuning.search import Budget


def without_time(records):
    return [
        (trial.settings, trial.state, trial.marks, len(trial.seconds))
        for trial in records.trials
    ]


def test_the_defaults_come_first_and_on_all_folds(world, run_search, toy_task):
    records = run_search(minutes=9)
    defaults = records.defaults
    assert defaults.settings == toy_task.defaults == {"strength": 0.5, "width": 4}
    assert (defaults.state, len(defaults.scores)) == ("done", 5)
    assert [fit[0] for fit in world.fits[:5]] == [0.5] * 5
    # of 100 pairs, 20 are held out
    assert {fit[2] for fit in world.fits} == {(72, 8)}


@pytest.mark.parametrize(
    ("minutes", "folds"), [(0.01, 1), (1, 1), (2.6, 1), (2.7, 2), (4, 3), (7, 5)]
)
def test_more_time_is_worth_more_folds(run_search, minutes, folds):
    assert len(run_search(minutes).defaults.scores) == folds


@pytest.mark.parametrize("minutes", [0.4, 1, 3.3, 7, 12.5])
def test_the_budget_is_kept(world, run_search, minutes):
    began = world.now
    records = run_search(minutes)
    assert world.now - began <= 60 * minutes
    assert records.spent == pytest.approx(world.now - began)
    assert len(records.trials) > 1


def test_no_fold_is_begun_that_cannot_end_in_time(world, run_search):
    records = run_search(minutes=0.9)  # five folds of ten seconds, and four seconds
    assert sum(len(trial.seconds) for trial in records.trials) <= 5
    assert not [trial for trial in records.trials if trial.state == "running"]


def test_without_enough_time_the_defaults_are_measured_all_the_same(world, run_search):
    records = run_search(minutes=0.01)
    assert len(world.fits) == len(records.trials) == 1
    assert not choose(records.trials).is_better


def test_a_training_that_takes_too_long_is_cut_at_the_budget(world, run_search):
    world.growth = 3.0  # trainings of 30, 90 and 270 seconds
    began = world.now
    records = run_search(minutes=4)
    assert [len(trial.seconds) for trial in records.trials] == [1, 1, 0]
    assert world.now - began == 30 + 90 + 2 * 270 / 4  # ends with the epoch it is in
    assert records.trials[-1].state == "running"
    assert Records.open(records.folder, records.task, {}).trials == records.trials


def test_the_search_finds_what_is_better(run_search):
    verdict = choose(run_search(minutes=20).trials)
    assert verdict.is_better
    assert verdict.best.settings["strength"] == pytest.approx(0.9, abs=0.15)
    assert verdict.gain > 0.03


def test_trials_end_with_the_proposals(run_search, toy_task, monkeypatch):
    monkeypatch.setattr(search, "TRIALS_PER_SETTING", 6)
    records = run_search(minutes=10_000)
    assert len(records.trials) == 1 + 6 * len(toy_task.space)


def test_hopeless_trials_are_stopped_in_the_middle_of_a_fold(run_search, world):
    records = run_search(minutes=9)
    stopped = [trial for trial in records.trials if trial.state == "stopped"]
    early = [trial for trial in stopped if not trial.seconds]
    assert early
    for trial in early:
        step = max(trial.marks)
        assert step < STEPS - 1
        assert not is_promising(trial, step, records.trials[: trial.number + 1])
    # of trials of five folds of ten seconds, 540 seconds would hold 10
    assert len(records.trials) > 12


def test_a_trial_below_the_defaults_is_measured_on_no_further_fold(run_search, world):
    world.best = 0.5
    records = run_search(minutes=9)
    worse = [
        trial
        for trial in records.trials[1:]
        if trial.seconds and trial.gains(records.defaults)[0] < -0.01
    ]
    assert all(trial.state == "stopped" for trial in worse)


def test_a_failing_trial_is_noted_and_the_others_go_on(run_search):
    task = TuningTask(Toy(bits=8), set(), "data", "split")
    records = run_search(9, task)
    failed = [trial for trial in records.trials if trial.state == "failed"]
    assert failed
    assert {trial.reason for trial in failed} == {"this trial was made to fail"}
    assert {trial.settings["trouble"] for trial in failed} == {True}
    assert choose(records.trials).best.settings["trouble"] is False


def test_defaults_that_fail_end_the_search_and_leave_nothing(run_search, tmp_path):
    task = TuningTask(Toy(bits=8, trouble=True), {"trouble"}, "data", "split")
    with pytest.raises(FdchError, match="this trial was made to fail"):
        run_search(9, task)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("fits", [0, 3, 13, 27])
def test_an_interrupted_search_goes_on_where_it_was(run_search, world, fits, tmp_path):
    whole = run_search(9, folder="whole")
    world.fits.clear()
    world.stop_after = fits
    with pytest.raises(KeyboardInterrupt):
        run_search(9)
    world.stop_after = None
    resumed = run_search(9)
    shared = min(len(whole.trials), len(resumed.trials)) - 1
    assert shared > 5
    assert without_time(resumed)[:shared] == without_time(whole)[:shared]


def test_a_resumed_search_has_the_time_that_is_left(run_search, world):
    world.stop_after = 30
    with pytest.raises(KeyboardInterrupt):
        run_search(9)
    world.stop_after, began = None, world.now
    assert run_search(9).spent <= 540
    assert world.now - began <= 540 - 30 * 2.5


def test_a_finished_search_goes_on_with_more_time(run_search, world):
    first = run_search(4)
    assert len(first.defaults.scores) == 3
    fits = len(world.fits)
    assert len(run_search(4).trials) == len(first.trials)
    assert len(world.fits) == fits
    more = run_search(9)
    assert len(more.trials) > len(first.trials)
    assert len(more.defaults.scores) == 5
    assert all(len(t.scores) == 5 for t in more.trials if t.state == "done")


def test_progress_reports_time_and_gain(run_search):
    updates: list[Update] = []
    run_search(5, progress=updates.append)
    passed = [update.done for update in updates]
    assert passed == sorted(set(passed))
    assert {(u.task, u.total, u.unit) for u in updates} == {("tuning", 300, "second")}
    assert updates[-1].values["best gain"] > 0


def test_every_finished_fold_is_on_disk_at_once(run_search, world, tmp_path):
    seen = []

    def progress(update):
        if (tmp_path / "study" / FILE).exists():
            kept = Records.open(tmp_path / "study", world.task, {})
            seen.append(sum(len(trial.seconds) for trial in kept.trials))

    world.task = TuningTask(Toy(bits=8), {"trouble"}, "data", "split").fingerprint
    run_search(2, progress=progress)
    assert seen == sorted(seen)
    assert seen[-1] > 3


def test_no_time_is_refused():
    with pytest.raises(SettingError, match="more than 0 minutes; got 0"):
        Budget(0.0)


def test_other_settings_make_another_task(toy_task):
    others = [
        replace(toy_task, method=Toy(bits=16)),
        replace(toy_task, method=Toy(bits=8, seed=1)),
        replace(toy_task, fixed={"trouble", "width"}),
        replace(toy_task, data="other"),
        replace(toy_task, split="other"),
    ]
    known = {toy_task.fingerprint, *(other.fingerprint for other in others)}
    assert len(known) == 6
