"""Methods tuned before their cells are run: once, for all seeds, resumably."""

import shutil
import sys
from collections import Counter
from dataclasses import replace

import pytest

from fdch.errors import DataError
from fdch.methods.cmfh import CMFH
from fdch.reproduction import grid_runner
from fdch.reproduction import reproduce as reproduction
from fdch.reproduction.outputs import tuned_rows, write_outputs
from fdch.reproduction.recipe import choose
from fdch.reproduction.reproduce import reproduce
from fdch.reproduction.study import Cell, Study
from fdch.tuning import search
from fdch.tuning.proposals import propose
from fdch.tuning.tune import study_folder, tune

RECIPES = choose("table2", [8], ["cmfh", "dch"])
CELL = Cell("dch", 8, 0)


@pytest.fixture(autouse=True)
def few_trials(monkeypatch):
    monkeypatch.setattr(search, "TRIALS_PER_SETTING", 1)


@pytest.fixture
def tuned_study(study):
    return replace(study, settings={}, tune_minutes=5.0)


@pytest.fixture(scope="module")
def done(source, tmp_path_factory):
    """The folder of a reproduction whose methods were tuned."""
    out = tmp_path_factory.mktemp("tuned") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "TRIALS_PER_SETTING", 1)
        run(Study(source, out, tune_minutes=5.0))
    return out


@pytest.fixture
def tuned_before(tuned_study, done):
    """A study whose methods were tuned and whose cells have run."""
    shutil.copytree(done, tuned_study.out)
    return tuned_study


@pytest.fixture
def searches(monkeypatch):
    """Count the searches that were made, and those that went on."""
    counted: Counter[str] = Counter()

    def counting(task, *args, **more):
        counted[f"{task.method.name}-{task.method.bits}"] += 1
        return tune(task, *args, **more)

    monkeypatch.setattr(grid_runner, "tune", counting)
    return counted


def run(study, recipes=RECIPES, **more):
    return reproduce(study, recipes, [0, 1], workers=1, **more)


def test_every_method_is_tuned_once_and_its_cells_use_the_settings(
    tuned_study, searches
):
    found = run(tuned_study)
    assert searches == {"cmfh-8": 1, "dch-8": 1}
    assert {record.state for record in found.records.values()} == {"done"}
    for cell, record in found.records.items():
        file = tuned_study.tuned(cell)
        assert record.figures["tuned"] == file.settings
        assert file.settings.items() <= record.task["settings"].items()
    rows = {row["method"]: row for row in tuned_rows(found)}
    assert rows.keys() == {"cmfh", "dch"}
    assert rows["dch"]["default_score"] <= rows["dch"]["score"]
    page = write_outputs(found)[0].read_text()
    assert "<h2>Tuned settings</h2>" in page
    assert rows["dch"]["settings"] in page


def test_done_searches_and_cells_are_not_made_again(tuned_before, searches, counted):
    assert run(tuned_before).ran == ()
    assert not counted and not searches
    run(replace(tuned_before, tune_minutes=6.0))
    assert set(searches.values()) == {1}


def test_interrupted_it_goes_on_with_the_search(tuned_study, monkeypatch, searches):
    def stop(task, trials):
        if task.method.name == "dch" and len(trials) == 3:
            raise KeyboardInterrupt
        return propose(task, trials)

    monkeypatch.setattr(search, "propose", stop)
    with pytest.raises(KeyboardInterrupt):
        run(tuned_study)
    assert not tuned_study.tuned_path(CELL).exists()
    assert study_folder(tuned_study.tuned_path(CELL)).exists()
    monkeypatch.setattr(search, "propose", propose)
    found = run(tuned_study)
    assert not found.failures()
    assert searches["dch-8"] == 2


def test_fixed_settings_are_kept(tuned_study):
    fixed = replace(tuned_study, settings={"dch": {"ridge": "5"}})
    found = run(fixed, choose("table2", [8], ["dch"]))
    record = found.records[CELL]
    assert record.task["settings"]["ridge"] == 5
    assert fixed.tuned(CELL).settings["ridge"] == 5


def test_a_search_for_other_settings_is_made_again(tuned_before, searches):
    run(replace(tuned_before, settings={"dch": {"iterations": "3"}}))
    assert searches == {"dch-8": 1}


def test_a_damaged_settings_file_is_written_again(tuned_before, searches, counted):
    tuned_before.tuned_path(CELL).write_text("format = 1")
    assert tuned_before.tuned(CELL) is None
    run(tuned_before)
    assert searches == {"dch-8": 1}
    assert not counted  # its trials are kept, and its cells have the same settings


def test_what_cannot_be_tuned_has_failed_and_says_why(tuned_study, monkeypatch):
    def fail(task, *args):
        raise DataError("it was too much")

    monkeypatch.setattr(grid_runner, "tune", fail)
    found = run(tuned_study)
    assert set(found.failures().values()) == {"tuning failed: it was too much"}
    assert len(found.failures()) == 4


def test_a_method_with_nothing_to_tune_runs_with_its_defaults(
    tuned_study, searches, monkeypatch
):
    monkeypatch.setattr(CMFH, "search_space", {})
    found = run(tuned_study)
    assert searches == {"dch-8": 1}
    assert not found.failures()
    assert "tuned" not in found.records[Cell("cmfh", 8, 0)].figures


def test_without_tuning_tuned_settings_do_not_count(tuned_before):
    plain = run(replace(tuned_before, tune_minutes=None))
    assert plain.records[CELL].task["settings"]["ridge"] == 0.01
    assert tuned_rows(plain) == []


def test_a_worker_that_dies_while_it_tunes_costs_its_cells(tuned_study, monkeypatch):
    dies = (sys.executable, "-c", "import sys; sys.stdin.readline(); sys.exit(3)")
    monkeypatch.setattr(reproduction, "WORKER", dies)
    found = reproduce(tuned_study, RECIPES, [0, 1], workers=2)
    assert len(found.failures()) == 4
    assert "ended with exit code 3" in found.failures()[CELL]


@pytest.mark.slow
def test_several_workers_tune_as_one_does(tuned_study, tmp_path, monkeypatch):
    monkeypatch.setattr(search, "TRIALS_PER_SETTING", 25)
    fixed = {
        "cmfh": {"image_weight": "0.5", "prediction_weight": "100"},
        "dch": {"ridge": "1", "prediction_weight": "1e-5"},
    }
    study = replace(tuned_study, settings=fixed)
    alone = run(study)
    other = replace(study, out=tmp_path / "several")
    several = reproduce(other, RECIPES, [0, 1], workers=2)
    for cell, record in alone.records.items():
        assert several.records[cell].fingerprint == record.fingerprint
