"""Types of columns: found once, kept with the index, settable."""

import sqlite3
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.index.store_samples import random_codes

from fdch.errors import DamagedIndex, DataError, SettingError
from fdch.index.column_types import (
    compare_dates,
    describe_column,
    find_type,
    find_types,
    nearest_meaning,
    read_date,
    read_truth,
    read_types,
    require_typed_columns,
    sort_key,
    truth_spellings,
    type_of,
)
from fdch.index.conditions import parse_condition
from fdch.index.storage.catalogue.clauses import IS_DATE
from fdch.index.storage.files.records import About
from fdch.index.storage.folder import CodeFolder
from fdch.index.storage.maintenance.repair import repair_folder
from fdch.index.store import Item

OPERATORS = ("<", "<=", ">", ">=", "=")


def prices(count, first=0):
    return [Item(f"{i}", columns={"price": i}) for i in range(first, first + count)]


def test_dirty_cells_are_counted_and_listed():
    cells = [(f"{i}", i) for i in range(294)] + [
        ("dirty", "12,50"),
        *[("none", None)] * 3,
    ]
    found = describe_column(cells)
    assert found is not None
    assert found.type == "number"
    assert found.counts == {"number": 294, "text": 1, "empty": 3}
    assert list(found.misfits) == [("dirty", "12,50")]
    assert list(found.examples) == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("cells", "type"),
    [
        (["1", 2.5, "-1e3", "x"], "text"),
        (["1", 2.5, "-1e3", "4", "x"], "number"),
        (["2024-05-01", "2024-05", "2024-05-01T12:30Z"], "date"),
        (["2024", "2025"], "number"),
        ([True, False, "yes", "No"], "boolean"),
        ([1, 0], "number"),
        (["a", ""], "text"),
        ([None], None),
    ],
)
def test_a_column_has_the_type_of_most_of_its_cells(cells, type):
    assert find_types({"x": cells}).get("x") == type


def test_empty_cells_may_be_more_than_all_others():
    found = describe_column([("a", 1), ("b", None), ("c", None), ("d", None)])
    assert found is not None and found.counts == {"number": 1, "empty": 3}


def test_no_cell_gives_no_type():
    assert find_type({}) is None
    assert describe_column([("a", None)]) is None


def test_types_are_found_once_and_kept(tmp_path):
    with CodeFolder.create(tmp_path / "index", 32, "model") as folder:
        folder.add(prices(10), random_codes(10))
        words = [Item(f"w{i}", columns={"price": "free"}) for i in range(30)]
        folder.add(words, random_codes(30))
        assert folder.types() == {"price": "number"}
        folder.compact()
        assert folder.types() == {"price": "number"}
        facts = folder.contents().columns["price"]
        assert facts.counts == {"number": 10, "text": 30}
        assert len(facts.misfits) == 20
        assert folder.contents().extremes == {"price": (0, 9)}
        assert folder.verify().is_clean
    with CodeFolder.open(tmp_path / "index") as folder:
        assert folder.types() == {"price": "number"}


def test_types_can_be_chosen_and_changed(tmp_path):
    path = tmp_path / "index"
    with CodeFolder.create(path, 32, "model", types={"price": "text"}) as folder:
        folder.add(prices(10), random_codes(10))
        assert folder.types() == {"price": "text"}
        folder.set_types({"price": "number", "later": "date"})
        commit = folder.describe()["commit"]
        folder.set_types({"price": "number"})
        assert folder.describe()["commit"] == commit
        assert folder.types() == {"price": "number", "later": "date"}
        with pytest.raises(DataError, match="is not a number"):
            folder.search(random_codes(1), 1, where=[parse_condition("price<cheap")])
        assert folder.verify().is_clean


def test_types_survive_the_loss_of_the_catalogue(tmp_path):
    path = tmp_path / "index"
    with CodeFolder.create(path, 32, "model") as folder:
        folder.add(prices(10), random_codes(10))
        folder.set_types({"price": "text"})
    for file in path.glob("catalogue.*"):
        file.unlink()
    with CodeFolder.open(path) as folder:
        assert folder.types() == {"price": "text"}
        assert len(folder) == 10


def test_types_survive_damage_of_the_log(tmp_path):
    path = tmp_path / "index"
    with CodeFolder.create(path, 32, "model") as folder:
        folder.add(prices(10), random_codes(10))
        folder.set_types({"price": "text"})
    log = path / "items.log"
    content = bytearray(log.read_bytes())
    at = content.rindex(b'"types"')
    content[at + 2] ^= 1
    log.write_bytes(content)
    done = repair_folder(path)
    assert not done.lost and not done.left
    with CodeFolder.open(path) as folder:
        assert folder.types() == {"price": "text"}
        assert len(folder) == 10


def test_types_survive_damage_of_the_logs_header(tmp_path):
    path = tmp_path / "index"
    with CodeFolder.create(path, 32, "model") as folder:
        folder.add(prices(10), random_codes(10))
        folder.set_types({"price": "text"})
    log = path / "items.log"
    content = bytearray(log.read_bytes())
    content[20] ^= 1
    log.write_bytes(content)
    done = repair_folder(path)
    assert not done.lost and not done.left
    with CodeFolder.open(path) as folder:
        assert folder.types() == {"price": "text"}
        assert len(folder) == 10


def test_unknown_types_are_refused():
    with pytest.raises(SettingError, match="did you mean 'number'"):
        read_types({"price": "numbr"})
    with pytest.raises(SettingError, match="'label' cannot be given"):
        read_types({"label": "text"})
    with pytest.raises(DamagedIndex):
        About.read(b'{"bits": 8, "model": "m", "types": {"x": "colour"}}')


DATES = [
    *("2024-05-01", "2024-05", "2024-02-30", "2023-02-29", "2024-13", "0000-01-01"),
    *("2024-05-01T12:30", "2024-05-01 12:30:59.25", "2024-05-01T24:00", "9999-12-31"),
    *("2024-05-01T12:30Z", "2024-05-01T12:30z", "2024-05-01T12:30+02:00", "now"),
    *("2024-05-01T12:30+1400", "2024-05-01T12:30 Z", "2024-05-01T12", "2024-5-1"),
    *("2024-05-01T12:30:61", "2024-05-01T12:30+15:00", "2024-05-01x", "12:30"),
]


@given(
    st.sampled_from(DATES)
    | st.from_regex(
        r"\A20\d\d-\d\d(-\d\d([T ]\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:\d\d)?)?)?\Z"
    )
    | st.text("0123456789-:TZ+. ", min_size=7, max_size=30)
)
def test_sqlite_reads_dates_as_python_does(text):
    connection = sqlite3.connect(":memory:")
    query = f"SELECT {IS_DATE} FROM (SELECT ? AS value)"
    [[is_date]] = connection.execute(query, (text,)).fetchall()
    connection.close()
    assert bool(is_date) == (type_of(text) == "date"), text


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("2024", "2025-01-01"),
        ("2024-02", "2024-03-01"),
        ("2024-12", "2025-01-01"),
        ("2024-02-28", "2024-02-29"),
        ("2024-12-31", "2025-01-01"),
        ("2024-02-28T12:30", "2024-02-28T12:30:00.000001"),
        ("0002", "0003-01-01"),
        ("9998-12-31", "9999-01-01"),
    ],
)
def test_a_date_is_all_of_its_period(text, end):
    period = read_date(text)
    assert period is not None
    assert period.end == datetime.fromisoformat(end).replace(tzinfo=UTC)


@pytest.mark.parametrize("text", ["0001-05-01", "9999", "2024-00", "24-05-01", "x2024"])
def test_what_is_no_date_is_not_read(text):
    assert read_date(text) is None


@pytest.mark.parametrize(
    ("cell", "operators"),
    [
        ("2024-04-30T23:59", "< <="),
        ("2024-04", "< <="),
        ("2024-05-01", "<= >= ="),
        ("2024-05-01T23:59", "<= >= ="),
        ("2024-05", "<= >="),  # begins with the day, and ends later
        ("2024-05-02", "> >="),
    ],
)
def test_dates_are_compared_with_all_of_a_day(cell, operators):
    found, day = read_date(cell), read_date("2024-05-01")
    assert found is not None and day is not None
    fulfilled = [each for each in OPERATORS if compare_dates(found, each, day)]
    assert fulfilled == operators.split()


def test_a_time_of_day_equals_itself():
    time = read_date("2024-05-01T12:30")
    assert time is not None
    assert [each for each in OPERATORS if compare_dates(time, each, time)] == [
        *("<=", ">=", "="),
    ]


@pytest.mark.parametrize(
    ("value", "truth"),
    [
        *((each, True) for each in ("true", "YES", "1", 1, 1.0)),
        *((each, False) for each in ("False", "no", "0", 0)),
        *((each, None) for each in ("2", 2, 0.5, "on", "")),
    ],
)
def test_truth_is_read_in_words_and_digits(value, truth):
    assert read_truth(value) is truth


def test_truth_has_these_spellings():
    words = ("false", "False", "FALSE", "no", "No", "NO")
    assert truth_spellings(False) == (*words, 0)
    assert truth_spellings(True)[-1] == 1


@pytest.mark.parametrize(
    ("type", "value", "meant"),
    [
        ("number", "12,50 €", "'x<12.50'"),
        ("number", "1,234.5", "'x<1234.5'"),
        ("number", "1.234,5", "'x<1234.5'"),
        ("number", "1 000", "'x<1000'"),
        ("number", "$20", "'x<20'"),
        ("number", "2O", "'x<20'"),
        ("number", "\N{MINUS SIGN}3", "'x<-3'"),
        ("number", "1,2,3", ""),
        ("number", "cheap", ""),
        ("number", "10..20", "'x>=10' and 'x<=20'"),
        ("number", "1,5 to 2,5", "'x>=1.5' and 'x<=2.5'"),
        ("date", "'2024-05-01'", "'x<2024-05-01'"),
        ("date", "1.5.2024", "'x<2024-05-01'"),
        ("date", "20241231", "'x<2024-12-31'"),
        ("date", "2024/12/31", "'x<2024-12-31'"),
        ("date", "31 December 2024", "'x<2024-12-31'"),
        ("date", "Jan 2024", "'x<2024-01'"),
        ("date", "5/24", ""),
        ("date", "1 2 3 2024", ""),
        ("date", "2024-01 to 2024-03", "'x>=2024-01' and 'x<=2024-03'"),
        ("boolean", "ja", "'x<true'"),
        ("boolean", "off", "'x<false'"),
        ("boolean", "flase", "'x<false'"),
        ("boolean", "perhaps", ""),
    ],
)
def test_what_was_probably_meant_is_found(type, value, meant):
    assert nearest_meaning("x", "<", value, type) == meant


def test_numbers_are_sorted_before_texts():
    cells: list[Any] = ["b", 10, "9", "a", None]
    keys = {cell: sort_key("text", cell) for cell in cells}
    assert keys.pop(None) is None
    assert sorted(keys, key=lambda cell: keys[cell] or ()) == ["9", 10, "a", "b"]


def test_cells_are_listed_up_to_twenty():
    cells = [(f"{i}", f"x{i}") for i in range(25)] + [(f"n{i}", i) for i in range(200)]
    found = describe_column(cells)
    assert found is not None
    assert list(found.misfits) == [(f"{i}", f"x{i}") for i in range(20)]
    assert list(found.examples) == ["0", "1", "2"]
    assert found.counts == {"number": 200, "text": 25}


def test_types_of_unknown_columns_are_refused():
    known = ["label", *(f"column {i}" for i in range(21))]
    require_typed_columns(["column 20"], known)
    with pytest.raises(DataError, match="'label', which no item has"):
        require_typed_columns(["label"], known)
    with pytest.raises(DataError, match=r"'column 19', \.\.\.\.$"):
        require_typed_columns(["x"], known)
    with pytest.raises(DataError, match=r"'column 19'\.$"):
        require_typed_columns(["x"], known[:-1])
    with pytest.raises(DataError, match="Columns are: none"):
        require_typed_columns(["x"], ["label"])


def test_times_are_compared_across_zones():
    early = read_date("2024-05-01T00:30+02:00")
    late = read_date("2024-04-30T23:00")
    assert early is not None and late is not None
    assert early.start < late.start
    keys: list[Any] = [
        sort_key("date", "2024-05-01T00:30+02:00"),
        sort_key("date", "2024-05-01"),
    ]
    assert keys == sorted(keys)
    assert sort_key("date", "unknown") is None
    truths: list[Any] = [sort_key("boolean", "no"), sort_key("boolean", True)]
    assert truths == sorted(truths)
