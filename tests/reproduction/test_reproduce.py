"""Interrupted and begun again, a reproduction repeats nothing and ends alike."""

from dataclasses import replace

import pytest

from fdch.errors import MissingFile, RunError, SettingError
from fdch.evaluation import comparison
from fdch.progress import Update
from fdch.reproduction.cell_records import RUN
from fdch.reproduction.costs import health_table
from fdch.reproduction.grid import build_grid
from fdch.reproduction.grid_tables import latex_tables, score_rows
from fdch.reproduction.outputs import build_grids
from fdch.reproduction.recipe import choose
from fdch.reproduction.reproduce import reproduce
from fdch.reproduction.study import Cell, Study

METHODS = ["cmfh", "fdch", "fdch_i"]
RECIPES = choose("all", [8], METHODS)
CELLS = len(METHODS) * 2


def run(study, recipes=RECIPES, **more):
    return reproduce(study, recipes, [0, 1], workers=1, **more)


def stop_after(cells):
    def progress(update):
        if update.task == "cells" and update.done == cells:
            raise KeyboardInterrupt

    return progress


def tables_of(found):
    grids = build_grids(found).values()
    tables = [*map(score_rows, grids), health_table(found)]
    return [table.csv() for table in tables] + [*map(latex_tables, grids)]


def test_finished_cells_are_not_run_again(study, counted):
    first = run(study)
    assert len(first.ran) == CELLS == sum(counted.values())
    second = run(study)
    assert second.ran == ()
    assert sum(counted.values()) == CELLS
    assert second.records == first.records
    assert not list(study.out.rglob(RUN))  # nothing is left of training


@pytest.mark.parametrize("finished", [1, pytest.param(4, marks=pytest.mark.slow)])
def test_interrupted_it_repeats_nothing_and_ends_alike(
    study, counted, tmp_path, finished
):
    with pytest.raises(KeyboardInterrupt):
        run(study, progress=stop_after(finished))
    assert sum(counted.values()) == finished
    found = run(study)
    assert len(found.ran) == CELLS - finished
    assert set(counted.values()) == {1}
    whole = run(replace(study, out=tmp_path / "whole"))
    assert tables_of(found) == tables_of(whole)


def test_more_methods_need_only_their_own_cells(study, counted):
    run(study, choose("table2", [8], ["cmfh"]))
    run(study, choose("table2", [8], ["cmfh", "scm_seq"]))
    assert set(counted.values()) == {1}
    assert {name.split("-")[0] for name in counted} == {"cmfh", "scm_seq"}


def test_a_changed_setting_is_noted_and_its_cells_run_again(study, counted):
    recipes = choose("table2", [8], ["cmfh", "scm_seq"])
    run(study, recipes)
    notes = []
    changed = replace(study, settings={"cmfh": {"max_iterations": "2"}})
    found = run(changed, recipes, announce=lambda pairs, more: notes.extend(more))
    assert {cell.method for cell in found.ran} == {"cmfh"}
    assert len(notes) == 2
    assert "run again" in notes[0]


def test_a_failing_cell_does_not_stop_the_others(study, counted):
    recipes = choose("table2", [16], ["cmfh", "scm_orth", "scm_seq"])
    found = run(study, recipes)
    assert {cell.method for cell in found.failures()} == {"scm_orth"}
    assert len(found.scores("cmfh", 16)) == 2
    assert found.scores("scm_orth", 16) == []
    again = run(study, recipes)
    assert {cell.method for cell in again.ran} == {"scm_orth"}


def test_a_method_that_lacks_a_seed_has_no_mean(study):
    found = run(study, choose("table2", [8], ["cmfh"]))
    failed = replace(found.records[Cell("cmfh", 8, 1)], state="failed", scores=None)
    records = {**found.records, Cell("cmfh", 8, 1): failed}
    assert replace(found, records=records).of("cmfh", 8) == []


def test_progress_counts_all_cells_and_those_done_before(study):
    recipes = choose("table2", [8], ["cmfh", "scm_seq"])
    with pytest.raises(KeyboardInterrupt):
        run(study, recipes, progress=stop_after(1))
    seen: list[Update] = []
    run(study, recipes, progress=seen.append)
    assert [(u.done, u.total) for u in seen if u.task == "cells"] == [
        (1, 4),
        (2, 4),
        (3, 4),
        (4, 4),
    ]


def test_an_unknown_method_or_setting_is_refused_before_any_work(study):
    with pytest.raises(SettingError, match="unknown method 'xyz'"):
        run(study, choose("table2", [8], ["cmfh", "xyz"]))
    wrong = replace(study, settings={"cmfh": {"iterations": "3"}})
    with pytest.raises(SettingError, match="unknown setting"):
        run(wrong)
    assert not study.out.exists()


def test_no_worker_is_too_few(study):
    with pytest.raises(SettingError, match="a worker"):
        reproduce(study, RECIPES, [0], workers=0)


def test_a_folder_that_cannot_be_made_is_refused(source, tmp_path):
    (tmp_path / "file").touch()
    message = r"out': '.*file' is not a folder that may be written to\. Choose another"
    with pytest.raises(RunError, match=message):
        run(Study(source, tmp_path / "file" / "out"))


def test_a_folder_of_something_else_is_left_alone(study):
    study.out.mkdir()
    (study.out / "run.json").write_text("{}")
    with pytest.raises(RunError, match=r"other files, such as 'run.json', and no"):
        run(study)
    assert [path.name for path in study.out.iterdir()] == ["run.json"]


def test_data_that_cannot_be_read_leaves_no_folder(study):
    with pytest.raises(MissingFile):
        run(replace(study, source="nothing.csv"))
    assert not study.out.exists()


def test_means_are_those_of_a_comparison(study):
    found = run(study, choose("table2", [8], ["cmfh"]))
    table = comparison(found.scores("cmfh", 8), over_seeds=True)
    [shown] = [row[2] for row in table.rows if row[1] == "unified"]
    rows = score_rows(build_grid(found.recipes[0], found))
    written = [dict(zip(rows.header, row, strict=True)) for row in rows.rows]
    [mean] = [
        row["map"]
        for row in written
        if (row["gallery"], row["direction"]) == ("unified", "image_to_text")
    ]
    assert mean == shown


@pytest.mark.slow
def test_several_workers_find_what_one_finds(study, tmp_path):
    alone = run(study)
    several = reproduce(
        replace(study, out=tmp_path / "several"), RECIPES, [0, 1], workers=2
    )
    assert len(several.ran) == CELLS
    for cell, record in alone.records.items():
        assert several.records[cell].fingerprint == record.fingerprint
    assert tables_of(alone) == tables_of(several)
