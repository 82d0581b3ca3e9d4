"""Expressions without a server; test_store.py uses a real one."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdch.errors import DataError
from fdch.index.milvus.expressions import (
    cell_forms,
    cell_key,
    column_of,
    expression,
    id_expression,
    literal,
)
from fdch.index.store import Condition

texts = st.text(st.characters(exclude_categories=["Cs"]))


@given(texts)
def test_a_literal_is_read_back_as_the_text(text):
    assert ast.literal_eval(literal(text)) == text


@given(texts)
def test_a_literal_ends_only_at_its_end(text):
    inside = literal(text)[1:-1]
    assert inside.isascii() and '"' not in inside
    assert inside.replace("\\u", "").replace("\\U", "").replace(" ", "").isalnum() or (
        not inside.strip()
    )


@given(texts)
def test_column_keys_are_plain_and_read_back(column):
    assert cell_key(column).isalnum() and cell_key(column).isascii()
    assert column_of(cell_key(column)) == column


@given(st.text(min_size=1), texts)
def test_no_value_or_column_adds_to_the_syntax(column, value):
    """With all literals and keys taken out, the same syntax is left."""
    if not column.isprintable() or column == "label":
        column = "c"

    def bare(column, value):
        written = expression([Condition(column, "=", (value,))])
        pieces = written.replace(literal(value), "?")
        return pieces.replace(cell_key(column), "!")

    assert bare(column, "x" + value) == bare("column", "word")


@pytest.mark.parametrize("character", ["\x7f", "\x80", "\uffff", "\U00010000"])
def test_the_last_character_of_each_width_is_escaped(character):
    assert ast.literal_eval(literal(character + "1")) == character + "1"


def test_half_characters_are_refused():
    with pytest.raises(DataError, match="half a character"):
        literal("\ud800")


def test_ids_are_listed():
    assert id_expression(["a", 'b"']) == 'id in ["a", "b\\u0022"]'


def test_no_condition_is_no_expression():
    assert expression([]) == ""


@pytest.mark.parametrize(
    ("operator", "values"), [("=", ()), ("in", ()), ("<", ("1", "2"))]
)
def test_conditions_need_fitting_values(operator, values):
    with pytest.raises(DataError, match=f"{len(values)} values"):
        expression([Condition("year", operator, values)])


def test_cells_keep_what_filters_and_display_need():
    assert cell_forms("12") == {"t": "12", "n": 12}
    assert cell_forms(1.5) == {"t": "1.5", "n": 1.5, "v": 1.5}
    assert cell_forms("red") == {"t": "red"}
    assert cell_forms(True) == {"t": "true", "v": True}
    assert cell_forms(None) == {"v": None}


@pytest.mark.parametrize("operator", ["<", ">=", "^="])
def test_labels_have_no_order(operator):
    with pytest.raises(DataError, match="labels on Milvus are compared with ="):
        expression([Condition("label", operator, ("dog",))])


def test_truths_are_matched_as_json_writes_them_too():
    written = expression([Condition("flag", "=", ("True",))])
    assert " or " in written
    assert '== "True"' in written
    assert '== "true"' in written
    refused = expression([Condition("flag", "!=", ("True",))])
    assert " or " not in refused
    assert '!= "True"' in refused
    assert '!= "true"' in refused
    assert '"true"' not in expression([Condition("flag", "<", ("True",))])
