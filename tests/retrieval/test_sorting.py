"""Results in the order of a column: of candidates, or of all within a radius."""

from types import SimpleNamespace
from typing import Any

import pytest

from fdch.errors import DataError, SettingError
from fdch.index.store import Item
from fdch.retrieval.arranging import Sorting
from fdch.retrieval.params import SearchParams
from fdch.retrieval.results import Result

STORE: Any = SimpleNamespace(
    types=lambda: {"price": "number", "date": "date", "name": "text", "on": "boolean"}
)
CELLS: list[Any] = [
    {"price": 20, "date": "2024-05-01", "name": "b", "on": True},
    {"price": "12,50", "date": "2024-05-01T00:30+02:00", "name": "a", "on": "no"},
    {"price": "3", "date": "unknown", "name": "10", "on": False},
    {"price": 20.0, "date": "2024-04", "name": "9"},
]
FOUND = [Result(Item(f"{i}", columns=c), i, None) for i, c in enumerate(CELLS)]


def order(sort):
    found, _ = Sorting(STORE, sort).sort(FOUND, 100, False)
    return "".join(each.id for each in found)


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("price", "2031"),
        ("-price", "0321"),
        ("date", "3102"),
        ("-date", "0132"),
        ("name", "3210"),
        ("on", "1203"),
        ("-on", "0123"),
    ],
)
def test_results_come_in_the_order_of_a_column(sort, expected):
    """Ties nearest first; what is empty or does not fit last, either way."""
    assert order(sort) == expected


def test_what_was_sorted_is_said():
    _, notes = Sorting(STORE, "price").sort(FOUND, 5000, True)
    assert notes == (
        "only the 4 nearest of 5,000 items are sorted by 'price'; add "
        "conditions or use a smaller radius.",
        "1 of 4 candidates have no price to sort by, and come last.",
    )
    assert Sorting(STORE, "name").sort(FOUND, 4, False)[1] == ()


def test_a_column_that_begins_with_a_minus_can_be_named():
    store = SimpleNamespace(types=lambda: {"-x": "number"})
    assert not Sorting(store, "-x").is_falling
    assert Sorting(store, "--x").is_falling


@pytest.mark.parametrize(
    ("sort", "message"),
    [("prize", "did you mean 'price'"), ("-label", "labels have no order")],
)
def test_what_cannot_be_sorted_by_is_explained(sort, message):
    with pytest.raises(DataError, match=message):
        Sorting(STORE, sort)


@pytest.mark.parametrize("sort", ["", "-", 5, "\udcff"])
def test_sort_is_the_name_of_a_column(sort):
    with pytest.raises(SettingError, match="sort must be the name of a column"):
        SearchParams(sort=sort)


def test_facets_are_requested_or_not():
    assert SearchParams(facets=True).facets
    wrong: Any = "price"
    with pytest.raises(SettingError, match="facets must be True or False"):
        SearchParams(facets=wrong)
