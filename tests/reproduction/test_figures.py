"""Figures with all methods, distinguishable without colour."""

import xml.etree.ElementTree as ElementTree

import pytest
from matplotlib.figure import Figure

from fdch.errors import MissingExtra
from fdch.evaluation import LookupCurve
from fdch.reproduction.figures import (
    STYLES,
    draw_panels,
    figure_files,
    mean_curve,
    panels_of,
    style_of,
)
from fdch.reproduction.recipe import choose
from fdch.reproduction.study import Cell


@pytest.fixture(scope="module")
def panels(few):
    return panels_of(few.recipes[2], few)


def drawn(panels):
    figure = Figure()
    draw_panels(figure, panels)
    return figure


def test_two_lengths_and_both_tasks_are_four_panels(panels):
    assert [(panel.bits, panel.direction) for panel in panels] == [
        (16, "image_to_text"),
        (16, "text_to_image"),
        (32, "image_to_text"),
        (32, "text_to_image"),
    ]


def test_every_panel_has_every_method_and_chance(panels):
    figure = drawn(panels)
    assert len(figure.axes) == 4
    for axes in figure.axes:
        names = [line.get_label() for line in axes.get_lines()]
        assert names == ["CMFH", "SCM_seq", "FDCH", "chance"]
    (legend,) = figure.legends
    assert len(legend.get_texts()) == 4


def test_chance_is_where_every_curve_ends(panels):
    for panel in panels:
        for points in panel.curves.values():
            assert points[-1] == pytest.approx((1, panel.chance))


def test_each_method_is_searched_as_its_authors_do(few, panels):
    scores = few.scores("fdch", 16)
    curves = [run.scores["unified"]["image_to_text"].lookup for run in scores]
    assert panels[0].curves["fdch"] == mean_curve(curves)
    same = panels_of(few.recipes[2], few, "modality")
    curves = [run.scores["modality"]["image_to_text"].lookup for run in scores]
    assert same[0].curves["fdch"] == mean_curve(curves)


def test_curves_are_averaged_radius_by_radius():
    first = LookupCurve((0, 1, 2), (None, 0.5, 0.25), (0.0, 0.5, 1.0))
    second = LookupCurve((0, 1, 2), (None, 1.0, 0.25), (0.0, 0.25, 1.0))
    assert mean_curve([first, second]) == ((0.375, 0.75), (1.0, 0.25))


def test_a_radius_that_fetches_nothing_for_one_seed_counts_the_others():
    first = LookupCurve((0, 1), (None, 0.5), (0.0, 1.0))
    second = LookupCurve((0, 1), (1.0, 0.5), (0.5, 1.0))
    assert mean_curve([first, second]) == ((0.25, 1.0), (1.0, 0.5))


def test_every_method_has_a_line_of_its_own_without_colour():
    looks = {
        (marker, str(dashes), filled) for marker, dashes, _, filled in STYLES.values()
    }
    assert len(looks) == len(STYLES)
    markers = [style[0] for name, style in STYLES.items() if name not in VARIANTS]
    assert len(set(markers)) >= len(markers) - 1


VARIANTS = ("fdch_i", "fdch_ii")


def test_every_method_of_a_recipe_has_a_style():
    drawn = {method for recipe in choose("all") for method in recipe.methods}
    assert drawn <= set(STYLES)


def test_a_method_that_failed_at_one_length_is_in_the_legend(pairs, imagined):
    recipes = choose("figure2", [16, 32], ["cmfh", "fdch"])
    found = imagined(pairs, recipes, failed=[Cell("cmfh", 16, 0)])
    figure = drawn(panels_of(recipes[0], found))
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["FDCH", "CMFH", "chance"]


def test_a_figure_of_failures_alone_can_be_drawn(pairs, imagined):
    recipes = choose("figure2", [16], ["cmfh"])
    failed = [Cell("cmfh", 16, 0), Cell("cmfh", 16, 1)]
    found = imagined(pairs, recipes, failed=failed)
    assert not drawn(panels_of(recipes[0], found)).legends


def test_files_are_what_they_say_and_the_same_twice(panels):
    files = figure_files(panels)
    assert files["pdf"].startswith(b"%PDF")
    assert files["png"].startswith(b"\x89PNG")
    ElementTree.fromstring(files["svg"])
    assert figure_files(panels) == files


def test_a_new_method_has_a_style():
    assert style_of("xyz")[0]


def test_without_matplotlib_the_extra_is_named(panels, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"fdch\[report\]"):
        figure_files(panels)
