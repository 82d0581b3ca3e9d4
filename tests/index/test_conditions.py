"""Conditions as users write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdch.errors import SettingError
from fdch.index.conditions import parse_condition
from fdch.index.store import Condition


@pytest.mark.parametrize(
    ("text", "column", "operator", "values"),
    [
        ("scene=beach", "scene", "=", ("beach",)),
        (" scene = the beach ", "scene", "=", ("the beach",)),
        ("scene!=beach", "scene", "!=", ("beach",)),
        ("price<3", "price", "<", ("3",)),
        ("price <= 3.5", "price", "<=", ("3.5",)),
        ("price>-1", "price", ">", ("-1",)),
        ("price>=3", "price", ">=", ("3",)),
        ("label in dog, cat", "label", "in", ("dog", "cat")),
        ('label in ["a, b", 3, true]', "label", "in", ("a, b", "3", "true")),
        ("a b=c=d", "a b", "=", ("c=d",)),
        ("made in=China", "made in", "=", ("China",)),
        ("place in x=y,z", "place", "in", ("x=y", "z")),
        ("note=made in China", "note", "=", ("made in China",)),
    ],
)
def test_conditions_are_read(text, column, operator, values):
    assert parse_condition(text) == Condition(column, operator, values)


@pytest.mark.parametrize(
    "text",
    ["", "scene", "=beach", "scene=", "label in ", "label in [1", "x in [[1]]", "in a"],
)
def test_what_is_no_condition_is_explained(text):
    with pytest.raises(SettingError, match="is not a condition"):
        parse_condition(text)


@pytest.mark.parametrize("text", ["a=\udcff", "\udcff<1", r'a in ["x", "\ud800"]'])
def test_half_a_character_is_refused(text):
    with pytest.raises(SettingError, match="half a character"):
        parse_condition(text)


def test_endless_conditions_are_refused():
    with pytest.raises(SettingError, match="10,000 is the most"):
        parse_condition("a=" + "x" * 10_000)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text):
    try:
        found = parse_condition(text)
    except SettingError:
        return
    assert found.column
    assert all(found.values)
