"""Plots that take a page's colours, and are the same twice."""

import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest

from fdch.errors import MissingExtra
from fdch.evaluation.calibration.reliability import measure_reliability
from fdch.report.plots import lookup_plot, reliability_plot

RELIABILITY = {
    "unified": {"image_to_text": measure_reliability([[0.9, 0.2]], [[1, 0]])}
}


@pytest.fixture(
    params=[
        lambda found: lookup_plot(found.scores),
        lambda _: reliability_plot(RELIABILITY),
        lambda _: reliability_plot(RELIABILITY, by_lists=True),
    ],
    ids=["lookup", "reliability", "lists"],
)
def plot(request):
    return request.param


SVG = "{http://www.w3.org/2000/svg}"


def labels(svg):
    return {each.text for each in ElementTree.fromstring(svg).iter(f"{SVG}text")}


def points(svg):
    return len(list(ElementTree.fromstring(svg).iter(f"{SVG}use")))


def test_a_plot_is_svg_without_size_colours_or_outside_links(plot, evaluation):
    svg = plot(evaluation)
    root = ElementTree.fromstring(svg)
    assert root.tag == f"{SVG}svg"
    assert "width" not in root.attrib
    assert "height" not in root.attrib
    assert root.attrib["role"] == "img"
    assert root.attrib["aria-label"]
    assert "var(--series-1)" in svg
    assert "currentColor" in svg
    assert "#0a0b" not in svg
    assert "<metadata>" not in svg
    links = [v for e in root.iter() for k, v in e.attrib.items() if k.endswith("href")]
    assert all(link.startswith("#") for link in links)


def test_text_stays_text(evaluation):
    svg = lookup_plot(evaluation.scores)
    assert ">precision</text>" in svg
    assert ">image → text, modality</text>" in svg


def test_equal_scores_give_equal_plots(plot, evaluation):
    assert plot(evaluation) == plot(evaluation)


def test_a_result_list_is_one_point():
    assert (
        points(reliability_plot(RELIABILITY))
        - points(reliability_plot(RELIABILITY, by_lists=True))
        == 1
    )


def test_one_gallery_is_enough(evaluation, on_one_gallery):
    both, one = (
        labels(lookup_plot(each.scores)) for each in (evaluation, on_one_gallery)
    )
    assert both - one == {"image → text, modality", "text → image, modality"}
    assert {"image → text, unified", "text → image, unified"} <= one


def test_radii_that_fetch_nothing_have_no_point(evaluation):
    scores = evaluation.scores
    part = scores.scores["unified"]["image_to_text"]
    *others, last = part.lookup.precision
    assert last is not None

    def drawn(precision):
        curve = replace(part.lookup, precision=(*others, precision))
        changed = {"unified": {"image_to_text": replace(part, lookup=curve)}}
        return points(lookup_plot(replace(scores, scores=changed)))

    assert drawn(None) == drawn(last) - 1


def test_the_line_of_chance_is_a_precision_not_a_map(evaluation):
    scores = evaluation.scores
    parts = scores.scores["unified"].items()
    lucky = {name: replace(part, chance=0.99) for name, part in parts}
    plain, changed = (
        replace(scores, scores={"unified": found})
        for found in (scores.scores["unified"], lucky)
    )
    assert changed.chance == pytest.approx(0.99)
    assert lookup_plot(changed) == lookup_plot(plain)


def test_a_missing_package_is_reported(plot, evaluation, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"fdch\[report\]"):
        plot(evaluation)
