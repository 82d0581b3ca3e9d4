from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.index.store_samples import random_codes, sample_items

from fdch.errors import DataError
from fdch.index.cells import as_number, write_cell
from fdch.index.column_types import (
    check_condition,
    compare_dates,
    read_date,
    read_truth,
)
from fdch.index.storage.catalogue.filters import filter_gallery, require_columns
from fdch.index.storage.folder import CodeFolder
from fdch.index.store import LABEL, Condition, Item

COMPARE = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def holds(cell, operator, value, type="text"):
    """As the column's type says; in texts, as numbers where both are numbers."""
    cell = write_cell(cell)
    if type == "boolean" and read_truth(value) is not None:
        is_alike = read_truth(cell) == read_truth(value)
        return is_alike == (operator == "=")
    if type == "date" and (wanted := read_date(value)):
        period = read_date(cell) if len(cell) > 4 else None
        if operator == "!=":
            return not holds(cell, "=", value, type)
        return period is not None and compare_dates(period, operator, wanted)
    if operator == "^=":
        return cell.startswith(value)
    if type == "number" and operator not in ("=", "!=") and as_number(cell) is None:
        return False
    left, right = as_number(write_cell(cell)), as_number(value)
    if left is None or right is None:
        return COMPARE[operator](write_cell(cell), value)
    return COMPARE[operator](left, right)


def fulfils(item, condition, type="text"):
    """The promise of `Condition`, word for word."""
    if condition.column == LABEL:
        cells = list(item.labels)
    else:
        cells = [item.columns.get(condition.column)]
    cells = [cell for cell in cells if cell is not None]
    operator = "=" if condition.operator == "in" else condition.operator
    kept = [any(holds(c, operator, v, type) for v in condition.values) for c in cells]
    return bool(kept) and (all(kept) if operator == "!=" else any(kept))


def found(folder, *conditions):
    return set(folder.search(random_codes(1), radius=32, where=conditions)[0].ids)


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    path = tmp_path_factory.mktemp("shop") / "index"
    with CodeFolder.create(path, 32, "model") as folder:
        folder.add(sample_items(60), random_codes(60))
        yield folder


@pytest.mark.parametrize(
    ("column", "operator", "values"),
    [
        ("colour", "=", ("red",)),
        ("colour", "!=", ("red",)),
        ("colour", "in", ("red", "blue", "pink")),
        ("colour", ">=", ("green",)),
        ("price", "<", ("10",)),
        ("price", "<=", ("10.0",)),
        ("price", ">", ("2e1",)),
        ("price", "=", ("7.50",)),
        ("colour", "^=", ("gr",)),
        ("label", "^=", ("p",)),
        ("year", "in", ("2001", "2003")),
        ("year", "!=", ("2001",)),
        ("label", "=", ("dog",)),
        ("label", "!=", ("dog",)),
        ("label", "in", ("pet", "cat")),
        ("label", "=", ("cow",)),
    ],
)
def test_conditions_find_what_they_say(shop, column, operator, values):
    condition = Condition(column, operator, values)
    expected = {item.id for item in sample_items(60) if fulfils(item, condition)}
    assert found(shop, condition) == expected


def test_all_conditions_must_hold(shop):
    conditions = (Condition("colour", "=", ("red",)), Condition("price", "<", ("9",)))
    assert found(shop, *conditions) == {f"item {i}" for i in range(0, 18, 3)}
    assert shop.search(random_codes(1), 3, where=conditions)[0].scanned == 6


def test_an_unknown_column_is_reported_with_the_nearest(shop):
    with pytest.raises(DataError, match="no item has a column 'color'; did you mean"):
        found(shop, Condition("color", "=", ("red",)))


def test_too_few_and_too_many_values_are_reported(shop):
    with pytest.raises(DataError, match="'colour' has 2 values"):
        found(shop, Condition("colour", "=", ("red", "blue")))
    with pytest.raises(DataError, match="'colour' has 0 values"):
        found(shop, Condition("colour", "in", ()))


def test_labels_may_always_be_used(tmp_path):
    require_columns([Condition("label", "=", ("x",))], [])
    with CodeFolder.create(tmp_path / "index", 32, "model") as folder:
        assert found(folder, Condition("label", "=", ("x",))) == set()


def test_answers_follow_changes(tmp_path):
    red = Condition("colour", "=", ("red",))
    with CodeFolder.create(tmp_path / "index", 32, "model") as folder:
        folder.add(sample_items(6), random_codes(6))
        assert found(folder, red) == {"item 0", "item 3"}
        folder.remove(["item 0"])
        assert found(folder, red) == {"item 3"}
        folder.add([Item("item 1", columns={"colour": "red"})], random_codes(1))
        assert found(folder, red) == {"item 1", "item 3"}
        folder.compact()
        assert found(folder, red) == {"item 1", "item 3"}


def test_a_filter_is_answered_once_until_the_next_commit(tmp_path):
    red = [Condition("colour", "=", ("red",))]
    with CodeFolder.create(tmp_path / "index", 32, "model") as folder:
        folder.add(sample_items(6), random_codes(6))
        with folder._access.reading() as view:
            first = filter_gallery(view, red)
            assert filter_gallery(view, []) is view.snapshot.gallery
        with folder._access.reading() as view:
            assert filter_gallery(view, red) is first
        folder.remove(["item 1"])
        with folder._access.reading() as view:
            assert not len(view.snapshot.cache)
            assert filter_gallery(view, red) is not first


@pytest.mark.parametrize(
    ("column", "operator", "value", "expected"),
    [
        ("n", "=", str(2**64 - 1), {"text"}),
        ("n", "=", str(2**64), {"whole", "real"}),
        ("n", "=", "+0" + str(2**64), {"whole", "real"}),
        ("n", "=", "18446744073709551616e0", {"whole", "real"}),
        ("n", "=", str(2**64 + 1), set()),
        ("n", "in", str(2**64 - 1), {"text"}),
        ("n", "!=", str(2**64), {"text", "small"}),
        ("n", "!=", str(2**64 + 1), {"text", "whole", "real", "small"}),
        ("n", "=", str(2**63 - 1), {"small"}),
        ("label", "=", str(2**64), {"real"}),
        ("label", "!=", str(2**64), {"text"}),
        ("flag", "=", "true", {"text", "whole"}),
        ("flag", "=", "yes", {"text", "whole"}),
        ("flag", "=", "0", {"real"}),
        ("flag", "=", "True", {"text", "whole"}),
        ("flag", "in", "False", {"real"}),
        ("flag", "!=", "True", {"real"}),
        ("flag", "!=", "true", {"real"}),
    ],
)
def test_large_numbers_and_truths_differ(tmp_path, column, operator, value, expected):
    more = str(2**64 + 1)
    items = [
        Item("text", labels=(more,), columns={"n": str(2**64 - 1), "flag": True}),
        Item("whole", columns={"n": 2**64, "flag": "True"}),
        Item("real", labels=(str(2**64), more), columns={"n": 2.0**64, "flag": False}),
        Item("small", columns={"n": 2**63 - 1}),
    ]
    with CodeFolder.create(tmp_path / "index", 32, "model") as folder:
        folder.add(items, random_codes(len(items)))
        assert found(folder, Condition(column, operator, (value,))) == expected


def test_filters_follow_removals_of_others(tmp_path):
    with CodeFolder.create(tmp_path / "index", 32, "model") as folder:
        folder.add(sample_items(60), random_codes(60))
        folder.remove([f"item {i}" for i in range(21)])
        with CodeFolder.open(tmp_path / "index") as reader:
            assert len(found(reader, Condition("price", ">=", ("0",)))) == 39
            folder.remove([f"item {i}" for i in range(21, 40)])
            assert len(found(reader, Condition("price", ">=", ("0",)))) == 20


words = st.sampled_from(
    ["1", "1.0", "01", "10", "9", "-1", "a", "b", "", "true", "1e1", "No"]
)
dates = st.sampled_from(
    [
        *("2024-05-01", "2024-04", "2024-05", "2024-02-29", "2024-02-30", "2023-12-31"),
        *("2024-05-01T00:30+02:00", "2024-04-30 23:00", "2024-05-01T12:00:00.5Z"),
    ]
)
values = (
    st.none() | st.booleans() | words | dates | st.integers(-2, 11) | st.floats(-2, 11)
)
operators = st.sampled_from([*COMPARE, "in", "^="])


@pytest.mark.parametrize("type", ["number", "date", "boolean", "text"])
@given(
    st.lists(st.tuples(values, st.lists(words, max_size=3)), min_size=1, max_size=8),
    st.lists(
        st.tuples(
            st.sampled_from(["x", LABEL]), operators, words | dates | st.just("2024")
        ),
        max_size=6,
    ),
)
def test_sqlite_answers_as_the_promise_says(tmp_path_factory, type, cells, wanted):
    items = [
        Item(f"{i}", labels=tuple(labels), columns={"x": cell})
        for i, (cell, labels) in enumerate(cells)
    ]
    items.append(Item("known", columns={"x": "k"}))
    path = tmp_path_factory.mktemp("filters") / "index"
    with CodeFolder.create(path, 32, "model") as folder:
        folder.add(items, random_codes(len(items)))
        folder.set_types({"x": type})
        for column, operator, value in wanted:
            condition = Condition(column, operator, (value,))
            own: Any = type if column == "x" else "text"
            try:
                check_condition(condition, own)
            except DataError:
                with pytest.raises(DataError):
                    found(folder, condition)
                continue
            expected = {item.id for item in items if fulfils(item, condition, own)}
            assert found(folder, condition) == expected, condition
