"""Cells, jobs and settings."""

from pathlib import Path

import pytest

from fdch.errors import SettingError
from fdch.reproduction.recipe import choose
from fdch.reproduction.study import (
    Cell,
    Study,
    cells_of,
    jobs_of,
    settings_by_method,
)


def test_cells_that_several_recipes_need_are_listed_once():
    recipes = choose("all", [16], ["fdch", "fdch_i", "cmfh"])
    assert sorted(cells_of(recipes, [0, 1])) == [
        Cell(method, 16, seed)
        for method in ("cmfh", "fdch", "fdch_i")
        for seed in (0, 1)
    ]


def test_variants_of_one_length_and_seed_are_one_job_behind_fdch():
    cells = [
        Cell(method, bits, 0)
        for method in ("cmfh", "fdch", "fdch_i", "fdch_ii")
        for bits in (16, 32)
    ]
    jobs = jobs_of(cells)
    assert [cell.method for cell in jobs[0]] == ["fdch", "fdch_i", "fdch_ii"]
    assert [{cell.bits for cell in job} for job in jobs[:2]] == [{16}, {32}]
    assert jobs[2:] == [(Cell("cmfh", 16, 0),), (Cell("cmfh", 32, 0),)]


def test_all_seeds_of_a_tuned_method_and_length_are_one_job():
    cells = [Cell(m, 16, seed) for m in ("fdch", "fdch_i") for seed in (0, 1)]
    assert jobs_of(cells, is_tuned=True) == [tuple(cells[:2]), tuple(cells[2:])]


def test_long_jobs_come_first():
    jobs = jobs_of([Cell("cmfh", 16, 0), Cell("fdch", 16, 0)])
    assert [job[0].method for job in jobs] == ["fdch", "cmfh"]


def test_a_study_survives_the_way_to_another_process():
    study = Study("scenes", Path("out"), {"fdch": {"batch_size": "64"}}, keep_runs=True)
    assert Study.from_json(study.to_json()) == study


def test_a_cells_method_has_its_length_seed_and_settings():
    study = Study("scenes", Path("out"), {"fdch": {"batch_size": "64"}})
    method = study.method(Cell("fdch", 24, 5))
    assert (method.bits, method.seed) == (24, 5)
    assert vars(method)["batch_size"] == 64


def test_settings_count_for_the_methods_that_a_pattern_fits():
    found = settings_by_method(
        ["fdch*.batch_size=32", "fdch.batch_size=16"], ["fdch", "fdch_i", "cmfh"]
    )
    assert found == {"fdch": {"batch_size": "16"}, "fdch_i": {"batch_size": "32"}}


def test_a_pattern_skips_methods_without_the_setting():
    found = settings_by_method(["*.batch_size=32"], ["fdch", "cmfh"])
    assert found == {"fdch": {"batch_size": "32"}}


def test_a_setting_that_a_named_method_lacks_is_refused_where_it_is_made():
    settings = settings_by_method(["cmfh.batch_size=32"], ["cmfh"])
    with pytest.raises(SettingError, match="unknown setting 'batch_size'"):
        Study("scenes", Path("out"), settings).method(Cell("cmfh", 16, 0))


@pytest.mark.parametrize("text", ["batch_size=3", "fdhc.batch_size=3"])
def test_a_setting_of_no_chosen_method_is_refused(text):
    with pytest.raises(SettingError, match=r"method\.key=value"):
        settings_by_method([text], ["fdch"])
