"""The report page: whole, self-contained, and safe whatever the data says."""

import re
import sys
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from fdch.data.duplicates import QueryDuplicates
from fdch.errors import DamagedRun, MissingExtra, RunError
from fdch.evaluation.calibration.reliability import measure_reliability
from fdch.report.evaluation_page import write_report

VOID = {"meta", "img", "br", "link", "input", "hr"}


class Reader(HTMLParser):
    """Collects tags, attributes and text, and whether tags are closed."""

    def __init__(self):
        super().__init__()
        self.tags, self.links, self.text = [], [], []
        self.opened, self.problems = [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [v for k, v in attributes if k in ("src", "href", "xlink:href")]
        self.problems += [k for k, _ in attributes if k.startswith("on")]
        if tag not in VOID:
            self.opened.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [v for k, v in attributes if k in ("src", "href", "xlink:href")]

    def handle_endtag(self, tag):
        if self.opened.pop() != tag:
            self.problems.append(tag)

    def handle_data(self, data):
        self.text.append(data)


def read(path):
    reader = Reader()
    reader.feed(path.read_text("utf-8"))
    assert not reader.opened
    assert not reader.problems
    return reader


@pytest.fixture(scope="module")
def page(run, evaluation, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_report(path, run, evaluation)
    return path


def test_no_outside_resource_is_named(page):
    reader = read(page)
    assert {link.split(":")[0].split("#")[0] for link in reader.links} <= {"data", ""}
    assert not {"script", "iframe", "link", "object"} & set(reader.tags)
    source = page.read_text("utf-8")
    assert "url(http" not in source
    assert "@import" not in source
    assert "default-src 'none'" in source


def test_hostile_texts_stay_texts(page, hostile):
    reader = read(page)
    assert "script" not in reader.tags
    assert any(hostile in text for text in reader.text)


def test_every_score_is_there(page, evaluation):
    shown = "".join(read(page).text)
    for directions in evaluation.scores.scores.values():
        for part in directions.values():
            for value in (part.map, part.map_best, part.map_worst, part.map_stable):
                assert f"{value:.4f}" in shown
            for value in (*part.precision_at.values(), *part.ndcg_at.values()):
                assert f"{value:.4f}" in shown
            for measure in ("map", "precision_at_10", "ndcg_at_10"):
                low, high = part.intervals[measure]
                assert f"{low:.3f} to {high:.3f}" in shown
    for part in evaluation.scores.partner["modality"].values():
        assert f"{part.recall_at[10]:.4f}" in shown
        assert f"{part.median_rank:.1f}" in shown
    assert "Own partner" in shown
    assert f"chance {evaluation.scores.chance:.3f}" in shown
    assert str(evaluation.scores.protocol) in shown


def test_probabilities_are_shown_where_there_are_any(page, run, evaluation, tmp_path):
    assert "Probabilities" not in "".join(read(page).text)
    held = measure_reliability([[0.93, 0.71]], [[1, 0]])
    reliability = {"modality": {"text_to_image": held}}
    write_report(
        tmp_path / "page.html", run, replace(evaluation, reliability=reliability)
    )
    shown = "".join(read(tmp_path / "page.html").text)
    for figure in ("0.820", "0.500", "0.320", "0.390"):
        assert figure in shown
    assert "stated probability" in shown


def test_health_training_and_counts_are_there(page, run):
    shown = "".join(read(page).text)
    for fact in (
        "largest bucket",
        "learning_rate=0.5",
        run.fingerprint,
        "python 3.11",
        "30 with labels",
        "in 1.5 seconds",
        "3 query texts have no word that the method knows",
    ):
        assert fact in shown
    assert "weight_decay" not in shown


def test_identical_pictures_and_texts_are_reported(run, evaluation, tmp_path):
    counts = {
        "pictures": QueryDuplicates(0, 0, 0, 0, 0),
        "texts": QueryDuplicates(3, 1200, 9, None, 7),
    }
    path = tmp_path / "report.html"
    write_report(path, run, replace(evaluation, duplicates=counts))
    shown = " ".join("".join(read(path).text).split())
    assert "1,200 pairs in 3 groups; queries with a copy in the database: 7." in shown
    assert "in training" not in shown
    assert "Identical pictures" not in shown


def test_examples_are_marked_in_words_and_said_to_be_random(page):
    shown = "".join(read(page).text)
    assert "Drawn at random from the queries with seed 0, not picked" in shown
    marks = shown.count("✓ right") + shown.count("✗ wrong")
    assert marks == 2 * 4 * 6
    assert len(re.findall(r"\d of 6 right; by chance \d\.\d", shown)) == 8


def test_pictures_are_inside_the_page_and_described(page):
    source = page.read_text("utf-8")
    # four picture queries, and six answers to each of four text queries
    assert source.count('src="data:image/jpeg;base64,') == 4 + 4 * 6
    assert source.count('alt="picture of ') == 28


def test_data_without_pictures_shows_ids(run, on_features, tmp_path):
    path = tmp_path / "report.html"
    write_report(path, run, on_features)
    reader = read(path)
    assert "img" not in reader.tags
    shown = "".join(reader.text)
    assert "no pictures to show" in shown
    assert re.search(r"scene\d+", shown)


def test_one_gallery_is_searched_where_only_one_was_scored(
    run, on_one_gallery, tmp_path
):
    path = tmp_path / "report.html"
    write_report(path, run, on_one_gallery)
    shown = "".join(read(path).text)
    assert "the unified gallery is searched" in shown
    assert "Own partner" not in shown


def test_equal_evaluations_give_equal_pages(page, run, evaluation):
    before = page.read_bytes()
    write_report(page, run, evaluation)
    assert page.read_bytes() == before


def test_light_dark_and_small_screens_are_provided_for(page):
    source = page.read_text("utf-8")
    assert "prefers-color-scheme: dark" in source
    assert 'name="viewport"' in source
    assert "max-width: 40rem" in source


@pytest.mark.parametrize("gone", ["data", "versions", "seconds", "split"])
def test_a_run_without_its_training_data_is_damaged(run, evaluation, tmp_path, gone):
    facts = {name: value for name, value in run.facts.items() if name != gone}
    with pytest.raises(DamagedRun, match=r"run\.json' has missing or unfit"):
        write_report(tmp_path / "page.html", replace(run, facts=facts), evaluation)


@pytest.mark.parametrize("package", ["jinja2", "matplotlib"])
def test_a_missing_package_is_reported_and_nothing_written(
    run, evaluation, tmp_path, monkeypatch, package
):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match="needs a package"):
        write_report(tmp_path / "report.html", run, evaluation)
    assert list(tmp_path.iterdir()) == []


def test_a_page_that_cannot_be_written_is_reported(run, evaluation, tmp_path):
    with pytest.raises(RunError, match="could not be written"):
        write_report(tmp_path / "no" / "report.html", run, evaluation)
