"""Tables hold what `comparison` computes, and say what is missing."""

from pathlib import Path

import numpy as np
import pytest

from fdch.evaluation import DIRECTIONS, MEASURES, bootstrap_intervals, comparison
from fdch.evaluation.scores import without_nan
from fdch.evaluation.tables import Spread
from fdch.reproduction.grid import build_grid, usual_gallery
from fdch.reproduction.grid_tables import (
    has_published,
    score_rows,
    text_table,
    text_tables,
)
from fdch.reproduction.recipe import choose
from fdch.reproduction.study import Cell

METHODS = ["cmfh", "scm_seq", "fdch"]


@pytest.fixture(scope="module")
def grid(few):
    return build_grid(few.recipes[1], few)


@pytest.fixture(scope="module")
def failing(pairs, imagined):
    recipes = choose("table2", [16, 32], METHODS)
    return imagined(pairs, recipes, failed=[Cell("cmfh", 32, 1)])


def test_columns_are_both_tasks_at_every_length(grid):
    assert grid.columns == [(way, bits) for way in DIRECTIONS for bits in (16, 32)]


@pytest.mark.parametrize("measure", MEASURES)
def test_numbers_are_those_of_a_comparison(few, grid, measure):
    scores = [
        run
        for method in METHODS
        for bits in (16, 32)
        for run in few.scores(method, bits)
    ]
    table = comparison(scores, over_seeds=True, measure=measure)
    expected = {(row[0], row[1]): row[2:-1] for row in table.rows}
    found = {
        (line[0].method, gallery): tuple(score.measures[measure] for score in line)
        for gallery, lines in grid.lines(measure).items()
        for line in lines
    }
    assert found == expected


def test_both_galleries_are_shown_and_the_authors_own_is_marked(grid):
    marked = {
        gallery: {line[0].method: line[0].is_usual for line in lines}
        for gallery, lines in grid.lines().items()
    }
    assert marked == {
        "unified": {"cmfh": True, "fdch": True},
        "modality": {"cmfh": False, "scm_seq": True, "fdch": False},
    }


@pytest.mark.parametrize(
    ("gallery", "methods"),
    [
        ("unified", ["fdch", "fdch_i", "fdch_ii", "cmfh", "lssh", "seph_km"]),
        ("modality", ["imh", "lcmh", "dch", "scm_orth", "scm_seq", "dcmh", "prdh"]),
        ("modality", ["ucch", "dsph", "mith"]),
    ],
)
def test_authors_search_the_gallery_of_their_papers(gallery, methods):
    assert {usual_gallery(method) for method in methods} == {gallery}


@pytest.mark.parametrize(
    ("measure", "best_of"),
    [("map", max), ("ndcg_at_10", max), ("partner_median_rank", min)],
)
def test_each_column_of_a_gallery_has_its_best(grid, measure, best_of):
    for lines in grid.lines(measure).values():
        for scores in zip(*lines, strict=True):
            means = [round(score.measures[measure].mean, 4) for score in scores]
            best = [grid.is_best(score, measure) for score in scores]
            assert best == [mean == best_of(means) for mean in means]


def test_intervals_are_over_the_queries_of_all_seeds(few, grid):
    key = "unified", "image_to_text", "ndcg_at_10"
    runs = few.scores("cmfh", 16)
    pooled = np.concatenate([without_nan(run.queries[key]) for run in runs])
    entry = grid.lines()["unified"][0][0]
    low, high = bootstrap_intervals(pooled[:, None])[0]
    assert entry.intervals["ndcg_at_10"] == pytest.approx((low, high))
    assert low < entry.measures["ndcg_at_10"].mean < high
    assert set(entry.intervals) == set(entry.measures)


def test_partners_are_looked_for_in_the_modality_gallery(grid):
    assert [*grid.lines("partner_recall_at_10")] == ["modality"]
    table = text_table(grid, "partner_recall_at_10")
    assert {row[1] for row in table.rows} == {"modality", "modality (own)"}
    assert table.rows[-1] == ("chance", "modality", *["0.2500"] * 4)  # 10 of 40
    chance = grid.lines("partner_median_rank")["modality"][0][0].chance
    assert chance["partner_recall_at_1"] == 1 / 40
    assert chance["partner_recall_at_50"] == 1
    assert chance["partner_median_rank"] == 20.5  # the middle of 1 to 40


def test_chance_is_the_mean_over_seeds(few, grid):
    scores = few.scores("cmfh", 16)
    expected = sum(s.scores["unified"]["image_to_text"].chance for s in scores) / 2
    chance = grid.lines()["unified"][0][0].chance
    assert chance["map"] == pytest.approx(expected)
    assert chance["ndcg_at_10"] is None


def test_a_failed_cell_has_no_mean_and_a_note(failing):
    grid = build_grid(failing.recipes[0], failing)
    line = grid.lines()["unified"][0]
    assert [bool(score.measures) for score in line] == [True, False, True, False]
    assert [score.failure for score in line] == [None, 1, None, 1]
    assert grid.failures == ("CMFH at 32 bits, seed 1: it takes 99 GB & more",)


def test_a_table_of_failures_alone_can_be_written(pairs, imagined):
    recipes = choose("table2", [16], ["cmfh"])
    found = imagined(pairs, recipes, failed=[Cell("cmfh", 16, 0), Cell("cmfh", 16, 1)])
    grid = build_grid(recipes[0], found)
    assert grid.notes == ()
    (table,) = text_tables(grid)
    assert "- [1]" in str(table)
    assert len(score_rows(grid).rows) == 4


def test_published_numbers_stand_by_the_authors_gallery_of_the_papers_data(
    benchmark_pairs, imagined
):
    found = imagined(benchmark_pairs, choose("table2", [16, 24], METHODS))
    grid = build_grid(found.recipes[0], found)
    assert grid.has_published
    printed = {
        (gallery, line[0].method): tuple(score.published for score in line)
        for gallery, lines in grid.lines().items()
        for line in lines
        if has_published(line)
    }
    assert printed == {
        ("unified", "cmfh"): (0.5644, None, 0.5632, None),
        ("unified", "fdch"): (0.7762, None, 0.7504, None),
        ("modality", "scm_seq"): (0.5821, None, 0.5976, None),
    }
    assert any("which variant" in note for note in grid.notes)


def test_other_data_has_no_published_numbers(grid):
    assert not grid.has_published
    assert "published" not in str(text_table(grid))
    assert "printed" not in " ".join(grid.notes)


def test_a_row_of_the_file_holds_every_measure(grid):
    table = score_rows(grid)
    row = dict(zip(table.header, table.rows[0], strict=True))
    entry = grid.lines()["unified"][0][0]
    assert row["method"] == "cmfh"
    assert row["map_worst"] == entry.measures["map_worst"]
    assert isinstance(row["map"], Spread)
    assert row["published"] is None
    header = table.csv().splitlines()[0]
    assert "map,map std,map_stable,map_stable std" in header
    assert set(table.header) >= {*MEASURES, "ndcg_at_10_low", "ndcg_at_10_high"}
    assert "partner_median_rank_low" not in table.header
    assert (row["map_low"], row["map_high"]) == entry.intervals["map"]
    assert row["partner_recall_at_10"] is row["partner_recall_at_10_low"] is None
    entry = grid.lines()["modality"][0][0]
    (row,) = (
        each
        for each in (dict(zip(table.header, row, strict=True)) for row in table.rows)
        if (each["method"], each["gallery"]) == ("cmfh", "modality")
        and (each["direction"], each["bits"]) == ("image_to_text", 16)
    )
    for name in ("partner_recall_at_1", "partner_recall_at_50", "partner_median_rank"):
        assert row[name] == entry.measures[name]


def test_the_terminal_shows_every_main_measure(grid):
    tables = text_tables(grid)
    assert [table.header[0] for table in tables] == [
        *("mAP", "P@1", "P@10", "NDCG@10", "partner@10")
    ]
    entry = grid.lines()["unified"][0][0]
    assert str(entry.measures["ndcg_at_10"]) in str(tables[3].rows[0][2])


def test_the_terminals_table_has_chance_stars_and_notes(grid):
    text = str(text_table(grid))
    assert text.count("chance ") == 2
    assert text.count(" *") >= 8
    assert "mean ± standard deviation over seeds 0, 1" in text


def test_one_seed_has_no_deviation(pairs, imagined):
    found = imagined(pairs, choose("table2", [16], ["cmfh"]), seeds=[4], out=Path("."))
    grid = build_grid(found.recipes[0], found)
    entry = grid.lines()["unified"][0][0]
    assert entry.measures["map"].deviation is None
    assert "±" not in str(text_table(grid)).splitlines()[1]
