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


@pytest.mark.parametrize("drawn", [lookup_plot, precision_plot])
def test_one_gallery_is_enough(drawn, evaluation, on_one_gallery):
    both, one = labels(drawn(evaluation.scores)), labels(drawn(on_one_gallery.scores))
    assert both - one == {"image → text, modality", "text → image, modality"}
    assert {"image → text, unified", "text → image, unified"} <= one


def test_one_set_of_codes_is_enough(evaluation):
    health = evaluation.scores.health
    one = labels(balance_plot({"image": health["image"]}))
    assert labels(balance_plot(health)) - one == set(health) - {"image"}
    assert "image" in one


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
