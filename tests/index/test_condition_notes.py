"""Notes on conditions, from what a store can say of a column."""

from dataclasses import dataclass, replace

import pytest

from fdch.index.condition_notes import nearest, note_conditions
from fdch.index.store import ColumnType, Condition


@dataclass
class Column:
    values: tuple[str, ...] = ()
    least_and_greatest: tuple[str, str] | None = None
    numbers: tuple[str, ...] = ()
    odd: tuple[int, str] = (0, "")
    type: ColumnType = "text"
    is_there: bool = False

    def has(self, condition):
        return self.is_there

    def values_like(self, text):
        return self.values

    def ends(self):
        return self.least_and_greatest

    def beside(self, number):
        return self.numbers

    def misfits(self):
        return self.odd


LONG = "y" * 61
NAMES = Column(values=("Nikon", "canon"))


@pytest.mark.parametrize(
    ("operator", "value", "type", "column", "expected"),
    [
        ("^=", "nik", "text", NAMES, "begins with 'nik'; did you mean 'x^=Nik'?"),
        ("^=", "zeiss", "text", NAMES, "begins with 'zeiss'."),
        ("=", "nikn", "text", NAMES, "no item has x 'nikn'; did you mean 'Nikon'?"),
        ("=", "zeiss", "text", NAMES, "no item has x 'zeiss'."),
        ("=", LONG, "text", NAMES, f"no item has x '{LONG[:60]}'."),
        ("=", "Nik%", "text", NAMES, "for a beginning, write 'x^=Nik'."),
        ("=", "*", "text", NAMES, "no item has x '*'."),
        ("=", "7", "number", Column(numbers=("5", "9")), "next to it are 5 and 9."),
        ("=", "7", "number", Column(), "no item has x '7'."),
        ("=", "7 €", "number", Column(), "is not a number; did you mean 'x=7'?"),
        ("=", "free", "number", NAMES, "no item has x 'free', which is not a number."),
        ("=", "canan", "number", NAMES, "no item has x 'canan'; did you mean 'canon'?"),
        ("=", "2024", "date", Column(least_and_greatest=("a", "b")), "go from a to b."),
        ("=", "2024", "date", Column(least_and_greatest=("a", "a")), "; all are 'a'."),
        ("=", "2024", "date", Column(), "no item has x '2024'."),
        ("=", "no", "boolean", NAMES, "no item has x 'no'."),
        ("=", "flase", "boolean", NAMES, "truth value; did you mean 'x=false'?"),
    ],
)
def test_a_missing_value_is_reported_with_its_neighbours(
    operator, value, type, column, expected
):
    where = [Condition("x", operator, (value,))]
    [said] = note_conditions(where, lambda _: replace(column, type=type))
    assert said.startswith("no item has ") and said.endswith(expected)


@pytest.mark.parametrize(
    ("type", "column", "is_empty", "expected"),
    [
        ("number", Column(), False, []),
        ("text", Column(), True, ["no item has x < 7.", "'x' is a column of texts"]),
        (
            "date",
            Column(least_and_greatest=("1", LONG)),
            True,
            [f"no item has x < 7; they go from 1 to {LONG[:60]}."],
        ),
        (
            "number",
            Column(odd=(1, LONG)),
            False,
            [
                "1 item has a x that is not a number, "
                f"such as '{LONG[:60]}', and matches no range."
            ],
        ),
        (
            "date",
            Column(odd=(2000, "May")),
            False,
            ["2,000 items have a x that is not a date, such as 'May', and match no"],
        ),
    ],
)
def test_a_range_reports_what_it_leaves_out(type, column, is_empty, expected):
    look = replace(column, type=type, is_there=not is_empty)
    notes = note_conditions([Condition("x", "<", ("7",))], lambda _: look)
    assert len(notes) == len(expected)
    assert all(map(str.startswith, notes, expected))


def test_texts_compared_with_a_text_are_as_expected():
    look = Column(is_there=True)
    assert note_conditions([Condition("x", "<", ("b",))], lambda _: look) == []


def test_the_nearest_text_is_the_same_but_for_capitals_or_close():
    assert nearest("'KITCHEN' ", ["Kitchens", "Kitchen", "kitchen "]) == "Kitchen"
    assert nearest("kitchn", ["garden", "Kitchen"]) == "Kitchen"
    assert nearest("abcde", ["abcxy"]) == "abcxy"  # six letters in ten are alike
    assert nearest("abcde", ["abxyz"]) is None
    assert nearest("abc", []) is None


def test_three_thousand_values_are_compared():
    others = [str(number) for number in range(3000)]
    assert nearest("needle", [*others[:2999], "Needle"]) == "Needle"
    assert nearest("needle", [*others, "Needle"]) is None
