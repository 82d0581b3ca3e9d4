"""Tables, figures and the page, beside the cells."""

import csv
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from fdch.evaluation import MEASURES
from fdch.reproduction.costs import RESUMED, SHARED, cost_table, health_table
from fdch.reproduction.grid import build_grid
from fdch.reproduction.outputs import build_grids, write_outputs, write_page_of
from fdch.reproduction.recipe import choose
from fdch.reproduction.study import Cell, Study

HOSTILE = "<script>alert('x')</script>"


@pytest.fixture(scope="module")
def found(benchmark_pairs, imagined, tmp_path_factory):
    """All recipes on what passes for the paper's data, one cell failing."""
    recipes = choose("all", [16, 32], ["cmfh", "scm_seq", "dch", "fdch", "fdch_i"])
    out = tmp_path_factory.mktemp("out")
    made = imagined(benchmark_pairs, recipes, failed=[Cell("cmfh", 32, 0)], out=out)
    settings = {"fdch": {"batch_size": HOSTILE}}
    return replace(made, study=replace(made.study, source=HOSTILE, settings=settings))


@pytest.fixture(scope="module")
def files(found):
    return {path.name: path for path in write_outputs(found)}


@pytest.fixture(scope="module")
def page(files):
    return files["report.html"].read_text("utf-8")


def page_of(found):
    """Write the page without the files beside it."""
    path = found.study.out / "report.html"
    write_page_of(path, found, list(build_grids(found).values()))
    return path.read_text("utf-8")


def test_every_table_and_figure_is_written(files):
    figures = [f"figure{n}{kind}" for n in (2, 3) for kind in ("", "-modality")]
    assert set(files) == {
        "report.html",
        *(f"{name}.{form}" for name in figures for form in ("svg", "pdf", "png")),
        *(
            f"{name}.{form}"
            for name in ("table1", "table2", "cost", "health")
            for form in ("csv", "tex")
        ),
    }
    assert all(path.stat().st_size for path in files.values())


def test_numbers_in_the_file_are_those_of_the_scores(found, files):
    with files["table2.csv"].open(newline="") as file:
        rows = list(csv.DictReader(file))
    (row,) = [
        row
        for row in rows
        if (row["method"], row["gallery"], row["bits"]) == ("fdch", "unified", "16")
        and row["direction"] == "image_to_text"
    ]
    maps = [
        run.scores["unified"]["image_to_text"].map for run in found.scores("fdch", 16)
    ]
    assert float(row["map"]) == pytest.approx(sum(maps) / 2)
    assert row["published"] == "0.7762"
    assert row["authors_gallery"] == "yes"


class Outline(HTMLParser):
    """Which elements are open, and what a page would fetch."""

    VOID = ("meta", "img", "br", "link", "use", "path", "input")

    def __init__(self):
        super().__init__()
        self.open, self.links, self.headings = [], [], []

    def handle_starttag(self, tag, attrs):
        self.links += [v for k, v in attrs if k in ("src", "href", "xlink:href")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "h2":
            self.headings.append(data)


def test_the_page_is_well_formed_and_needs_no_network(page):
    outline = Outline()
    outline.feed(page)
    assert outline.open == []
    assert all(link.startswith("#") for link in outline.links)
    assert outline.headings == [
        "Table 1",
        "Table 2",
        "Figure 2 and Figure 3",
        "Time and memory",
        "Code health",
        "How it was made",
    ]


def test_the_page_shows_published_numbers_failures_and_chance(page):
    assert "paper 0.7762" in page
    assert "CMFH at 32 bits, seed 0: it takes 99 GB &amp; more" in page
    assert re.search(r'<a href="#table2-1">1</a>', page)
    # of 2 recipes: 2 galleries for the 4 mAPs and 2 precisions, 1 for partners
    assert page.count('class="chance"') == 2 * (2 * 6 + 4)


def test_every_measure_can_be_chosen_without_a_script(page, found):
    for name, measure in MEASURES.items():
        assert page.count(f'value="{name}"') == 2
        assert page.count(f'<div class="measure of-{name}">') == 2
        assert page.count(f"<h3>{measure.title}</h3>") == 2
        rule = f"input[value={name}]:checked) > .measure:not(.of-{name})"
        assert rule in page
    assert page.count(" checked> mAP</label>") == 2
    assert page.count('value="all"') == 2
    assert "<script" not in page
    assert "@supports selector(:has(*))" in page  # else all tables are shown
    assert "@media screen" in page  # on paper too


def test_the_page_shows_every_measure_with_its_interval(page, found):
    grid = build_grid(found.recipes[1], found)
    entry = grid.lines()["modality"][-1][0]
    assert set(entry.measures) == set(MEASURES)
    for measure, spread in entry.measures.items():
        assert f">{spread.mean:.{MEASURES[measure].places}f}</span>" in page
        if MEASURES[measure].is_rank:
            assert measure not in entry.intervals
            continue
        low, high = entry.intervals[measure]
        assert f'<span class="ends">{low:.3f} to {high:.3f}</span>' in page


def test_the_page_says_which_codes_have_constant_bits(page, few, tmp_path):
    assert "No set of codes has a constant bit." in page
    cell = Cell("fdch", 16, 0)
    scores = few.records[cell].scores
    health = {
        **scores.health,
        "text": replace(scores.health["text"], constant_bits=(3, 5)),
    }
    records = dict(few.records)
    records[cell] = replace(records[cell], scores=replace(scores, health=health))
    study = Study("features.npz", tmp_path)
    changed = replace(few, study=study, records=records)
    assert "Constant bits: FDCH at 16 bits, text codes: 2." in page_of(changed)


def test_hostile_names_are_escaped(page):
    assert HOSTILE not in page
    assert "&lt;script&gt;" in page


def test_other_data_has_no_published_numbers_on_its_page(few, tmp_path):
    page = page_of(replace(few, study=Study("features.npz", tmp_path)))
    assert "paper 0." not in page
    assert "published" not in page


def test_the_page_speaks_of_means_where_there_are_several_seeds(
    page, pairs, imagined, tmp_path
):
    assert page.lower().count("means over seeds") == 3
    recipes = choose("all", [16], ["cmfh"])
    single = imagined(pairs, recipes, seeds=[4], out=tmp_path)
    assert "over seeds" not in page_of(single)


def test_costs_are_means_with_remarks(few):
    records = dict(few.records)
    cell = Cell("fdch", 16, 0)
    figures = {**records[cell].figures, "training_seconds": 3.5, "resumed": True}
    figures["stage_one_from"] = "fdch_i-16-0"
    records[cell] = replace(records[cell], figures=figures)
    table = cost_table(replace(few, records=records))
    rows = {(row[0], row[1]): row[2:] for row in table.rows}
    assert rows["fdch", 16] == (2.5, 0.5, 400, 0.5, f"{SHARED}; {RESUMED}")
    assert rows["cmfh", 32] == (1.5, 0.5, 400, 0.5, "")


def test_health_has_a_row_to_each_set_of_codes(few):
    rows = [row[:3] for row in health_table(few).rows if row[1] == 16]
    assert rows == [
        ("fdch", 16, "image"),
        ("fdch", 16, "text"),
        ("fdch", 16, "unified"),
        ("cmfh", 16, "image"),
        ("cmfh", 16, "text"),
        ("cmfh", 16, "unified"),
        ("scm_seq", 16, "image"),
        ("scm_seq", 16, "text"),
    ]
