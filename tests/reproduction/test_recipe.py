"""Recipes say what the paper's tables and figures show."""

import pytest

from fdch import methods
from fdch.errors import SettingError
from fdch.reproduction.recipe import ALL, choose, label, load, names


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


def test_lengths_asked_for_replace_those_of_every_recipe():
    assert {recipe.bits for recipe in choose(ALL, [32, 8, 32])} == {(8, 32)}


def test_a_recipe_keeps_those_of_its_methods_that_are_asked_for():
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
