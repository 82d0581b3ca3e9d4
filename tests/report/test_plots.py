"""Plots that take a page's colours, and are the same twice."""

import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest

from fdch.errors import MissingExtra
from fdch.report.plots import balance_plot, lookup_plot, precision_plot


@pytest.fixture(
    params=[
        lambda found: lookup_plot(found.scores),
        lambda found: precision_plot(found.scores),
        lambda found: balance_plot(found.scores.health),
    ],
    ids=["lookup", "precision", "balance"],
)
def plot(request):
    return request.param


def test_a_plot_is_svg_without_size_colours_or_outside_links(plot, evaluation):
    svg = plot(evaluation)
    root = ElementTree.fromstring(svg)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
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


def test_one_gallery_is_enough(plot, on_one_gallery):
    ElementTree.fromstring(plot(on_one_gallery))


def test_one_set_of_codes_is_enough(evaluation):
    health = {"image": evaluation.scores.health["image"]}
    ElementTree.fromstring(balance_plot(health))


def test_radii_that_fetch_nothing_have_no_point(evaluation):
    scores = evaluation.scores
    part = scores.scores["unified"]["image_to_text"]
    curve = replace(part.lookup, precision=(None, *part.lookup.precision[1:]))
    changed = {"unified": {"image_to_text": replace(part, lookup=curve)}}
    ElementTree.fromstring(lookup_plot(replace(scores, scores=changed)))


@pytest.mark.parametrize("drawn", [lookup_plot, precision_plot])
def test_the_line_of_chance_is_a_precision_not_a_map(drawn, evaluation):
    scores = evaluation.scores
    parts = scores.scores["unified"].items()
    lucky = {name: replace(part, chance=0.99) for name, part in parts}
    plain, changed = (
        replace(scores, scores={"unified": found})
        for found in (scores.scores["unified"], lucky)
    )
    assert changed.chance == pytest.approx(0.99)
    assert drawn(changed) == drawn(plain)


def test_a_missing_package_is_told(plot, evaluation, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"fdch\[report\]"):
        plot(evaluation)
