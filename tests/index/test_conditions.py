"""Conditions as users write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdch.errors import SettingError
from fdch.index.conditions import parse_condition, write_condition
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
        ("label in (dog, cat", "label", "in", ("(dog", "cat")),
        ('label in ["a, b", 3, true]', "label", "in", ("a, b", "3", "true")),
        ("a b=c=d", "a b", "=", ("c=d",)),
        ("made in=China", "made in", "=", ("China",)),
        ("place in x=y,z", "place", "in", ("x=y", "z")),
        ("note=made in China", "note", "=", ("made in China",)),
        ('"born in year"=1900', "born in year", "=", ("1900",)),
        ('"born in year" = "  it "', "born in year", "=", ("  it ",)),
        (' "a>b" >= "1"', "a>b", ">=", ("1",)),
        ('"number in stock" in 1, 2', "number in stock", "in", ("1", "2")),
        ('"x"in["a, b", 3]', "x", "in", ("a, b", "3")),
        ('x in "a, b" , c,"d\\"" ,', "x", "in", ("a, b", "c", 'd"')),
        (r'"say \"a=b\"" != "c:\\d\u00e9"', 'say "a=b"', "!=", ("c:\\dé",)),
        ('x="two\nlines "', "x", "=", ("two\nlines ",)),
        ('x=""', "x", "=", ("",)),
        # quotes that do not stand around the whole are like any other letter
        ('x="Jaws" film', "x", "=", ('"Jaws" film',)),
        ('x=6"', "x", "=", ('6"',)),
        ("x=\u201c\u201d", "x", "=", ("\u201c\u201d",)),  # around nothing
        ('"a" b=c', '"a" b', "=", ("c",)),
        ('x in 5", 6"', "x", "in", ('5"', '6"')),
        ('x in "a" b, c', "x", "in", ('"a" b', "c")),
    ],
)
def test_conditions_are_read(text, column, operator, values):
    assert parse_condition(text) == Condition(column, operator, values)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "scene",
        "=beach",
        "scene=",
        "label in ",
        "label in [1",
        "x in [[1]]",
        "in a",
        '""=a',
    ],
)
def test_what_is_no_condition_is_explained(text):
    with pytest.raises(SettingError, match="is not a condition"):
        parse_condition(text)


@pytest.mark.parametrize("text", ["a=\udcff", "\udcff<1", r'a in ["x", "\ud800"]'])
def test_half_a_character_is_refused(text):
    with pytest.raises(SettingError, match="half a character"):
        parse_condition(text)


def test_many_spaces_say_nothing():
    spaces = " " * 3000
    assert parse_condition(f"{spaces}price{spaces}<={spaces}20") == Condition(
        "price", "<=", ("20",)
    )
    listed = parse_condition(f"{spaces}label{spaces}in{spaces}dog,{spaces[:9]}cat")
    assert listed == Condition("label", "in", ("dog", "cat"))
    for text in (f"price{spaces}20", f"a{spaces};{spaces}b", spaces):
        with pytest.raises(SettingError, match="is not a condition"):
            parse_condition(text)


def test_endless_conditions_are_refused():
    assert parse_condition("a=" + "x" * 9998).values == ("x" * 9998,)
    with pytest.raises(SettingError, match="10,000 is the most"):
        parse_condition("a=" + "x" * 10_000)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text):
    try:
        found = parse_condition(text)
    except SettingError:
        return
    assert found.column
    assert found.values
    assert parse_condition(write_condition(found)) == found


ANY = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
ODD = st.text(' "\\,=<>![]in\n', max_size=8)


@given(
    (ANY | ODD).filter(bool),
    st.sampled_from(["=", "!=", "<", "<=", ">", ">=", "in"]),
    st.lists(ANY | ODD, min_size=1, max_size=3),
)
def test_any_condition_can_be_written(column, operator, values):
    given = tuple(values if operator == "in" else values[:1])
    condition = Condition(column, operator, given)
    assert parse_condition(write_condition(condition)) == condition


def test_plain_conditions_are_written_plainly():
    written = write_condition(Condition("label", "in", ("dog", "cat")))
    assert written == "label in dog,cat"
    assert write_condition(Condition("a b", "<=", ("3",))) == "a b <= 3"


@pytest.mark.parametrize("text", [r'x="c:\dir"', r'"a\x" = 1', r'x in "\q", b'])
def test_a_wrong_escape_is_explained(text):
    with pytest.raises(SettingError, match="a backslash"):
        parse_condition(text)


def test_a_suggestion_has_fewer_than_three_hundred_letters():
    for letters, has_hint in ((295, True), (296, False), (400, False)):
        with pytest.raises(SettingError) as caught:
            parse_condition("a==" + "x" * letters)
        assert ("did you mean" in str(caught.value)) == has_hint


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("x" * 101, "'" + "x" * 100 + "' is not"),
        (r'a="\d' + "x" * 101 + '"', r'"\d' + "x" * 97 + " in the condition 'a="),
        (r'a="\d' + "x" * 101 + '"', r"""'a="\d""" + "x" * 95 + "' cannot be read"),
        ("a=\udcff" + "x" * 101, "xxx' holds half"),
    ],
)
def test_of_a_long_condition_a_hundred_letters_are_shown(text, shown):
    with pytest.raises(SettingError) as caught:
        parse_condition(text)
    assert shown in str(caught.value)
    assert "x" * 101 not in str(caught.value)


@pytest.mark.parametrize("operator", ["~", "==", "> 0 OR 1=1 --", ""])
def test_only_known_operators_compare(operator):
    with pytest.raises(SettingError, match="write one of =, !=, <"):
        Condition("n", operator, ("1",))


@pytest.mark.parametrize("values", [(5,), ["5"], "5"])
def test_values_are_texts(values):
    with pytest.raises(SettingError, match="a tuple of texts"):
        Condition("n", "=", values)
