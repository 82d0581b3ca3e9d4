"""Recipes say what the paper's tables and figures show."""

from dataclasses import replace

import pytest

from fdch import methods
from fdch.errors import SettingError
from fdch.evaluation import DIRECTIONS
from fdch.reproduction.recipe import ALL, Published, choose, label, load, names


def test_there_is_a_recipe_for_each_table_and_figure():
    assert names() == ["table1", "table2", "figure2", "figure3"]


def test_tables_and_figures_have_the_papers_lengths():
    lengths = {name: load(name).bits for name in names()}
    assert lengths == {
        "table1": (16,),
        "table2": (16, 32, 64),
        "figure2": (32, 64),
        "figure3": (32, 64),
    }


def test_every_recipe_names_methods_that_there_are():
    named = {method for name in names() for method in load(name).methods}
    assert named <= set(methods.names())  # a new method need not be in any


def test_an_unknown_recipe_names_the_nearest():
    with pytest.raises(SettingError, match="did you mean 'table2'"):
        load("tabel2")


def test_requested_lengths_replace_those_of_every_recipe():
    assert {recipe.bits for recipe in choose(ALL, [32, 8, 32])} == {(8, 32)}


def test_a_recipe_keeps_those_of_its_methods_that_are_requested():
    chosen = {r.name: r.methods for r in choose(ALL, methods=["fdch", "cmfh"])}
    assert chosen["table1"] == ("fdch",)
    assert chosen["table2"] == ("cmfh", "fdch")


def test_a_method_that_no_recipe_names_is_added():
    (recipe,) = choose("table2", methods=["xyz", "fdch"])
    assert recipe.methods == ("fdch", "xyz")


def test_a_recipe_without_methods_is_dropped():
    assert [recipe.name for recipe in choose(ALL, methods=["cmfh"])] == [
        "table2",
        "figure2",
        "figure3",
    ]


@pytest.mark.parametrize(
    ("method", "written"), [("fdch_ii", "FDCH-II"), ("scm_seq", "SCM_seq")]
)
def test_methods_are_written_as_in_their_papers(method, written):
    assert label(method) == written


@pytest.mark.parametrize(
    ("data", "missing"),
    [
        ("mirflickr25k", {"imh", "lcmh", "dsph"}),
        ("nuswide", {"imh", "lcmh", "dsph", "mith"}),
    ],
)
def test_table_two_has_what_was_published_for_both_benchmarks(data, missing):
    published = Published.of(data)
    for method in load("table2").methods:
        has = {
            (method, direction, bits) in published.values
            for direction in DIRECTIONS
            for bits in (16, 32, 64)
        }
        assert has == {method not in missing}


def test_numbers_are_those_of_the_paper():
    flickr, nuswide = Published.of("mirflickr25k"), Published.of("nuswide")
    assert flickr.values["fdch_ii", "text_to_image", 16] == 0.6834
    assert flickr.values["seph_km", "image_to_text", 64] == 0.7277
    assert nuswide.values["fdch", "text_to_image", 32] == 0.6712


def test_later_methods_have_their_own_papers_numbers_and_say_how_they_differ():
    flickr, nuswide = Published.of("mirflickr25k"), Published.of("nuswide")
    assert flickr.values["mith", "image_to_text", 16] == 0.8464
    assert flickr.values["ucch", "text_to_image", 64] == 0.743
    assert nuswide.values["ucch", "image_to_text", 32] == 0.708
    assert "10,000 pairs" in flickr.notes["mith"]
    assert "VGG-19" in nuswide.notes["ucch"]


def test_the_ablation_is_printed_for_one_benchmark_and_length():
    assert (
        Published.of("mirflickr25k").values.get(("fdch_i", "image_to_text", 32)) is None
    )
    assert ("fdch_i", "image_to_text", 16) not in Published.of("nuswide").values


@pytest.mark.parametrize("data", ["scenes", "notes", ""])
def test_other_data_has_no_numbers(data):
    published = Published.of(data)
    assert not published.values
    assert not published.notes


def test_a_part_of_the_benchmark_has_no_numbers(benchmark_pairs):
    assert Published.beside(benchmark_pairs).values
    assert not Published.beside(benchmark_pairs[:100]).values
    assert not Published.beside(replace(benchmark_pairs, name="mine")).values
