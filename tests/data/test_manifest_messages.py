"""What a manifest's errors say: what is wrong, where, and what to do."""

import json

import pytest

from fdch.data.pairs import PairedSet
from fdch.data.readers.tables.table import CELL_BYTES
from fdch.errors import BrokenRow, DataError


def written(folder, content, name="pairs.csv"):
    path = folder / name
    path.write_text(content, encoding="utf-8")
    return path


def lines(folder, *rows):
    return written(folder, "".join(json.dumps(row) + "\n" for row in rows), "p.jsonl")


def test_a_cell_that_is_too_long_is_reported_as_such(tmp_path):
    long = "a" * (CELL_BYTES + 1)
    path = written(tmp_path, f"id,text\n1,sea\n2,{long}\n")
    with pytest.raises(
        DataError, match=r"after line 2: .*at most 1,048,576 characters"
    ):
        PairedSet.read(path)


@pytest.mark.parametrize("name", [1.5, "", None])
def test_a_row_without_a_usable_id_is_reported_once_by_its_place(tmp_path, name):
    path = lines(tmp_path, {"id": name, "text": "sea"})
    with pytest.raises(BrokenRow, match=r"p\.jsonl', line 1: the id is"):
        PairedSet.read(path)


def test_a_row_lacking_the_id_that_others_have_is_broken(tmp_path):
    rows = [{"id": "2", "text": "sea"}, {"text": "dog"}, {"id": "c", "text": "cat"}]
    path = lines(tmp_path, *rows)
    with pytest.raises(BrokenRow, match="line 2: it has no 'id', which rows before"):
        PairedSet.read(path)
    assert PairedSet.read(path, broken="skip").ids.tolist() == ["2", "c"]


def test_an_id_where_rows_before_are_numbered_is_broken(tmp_path):
    path = lines(tmp_path, {"text": "dog"}, {"id": "1", "text": "sea"})
    with pytest.raises(BrokenRow, match=r"line 2 \('1'\): it has an 'id', which rows"):
        PairedSet.read(path)


def test_of_many_columns_a_few_are_named(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text(",".join(f"column{number % 400}" for number in range(800)))
    with pytest.raises(DataError, match=r"'column4' and 395 more\.$"):
        PairedSet.read(path)


LONG = "x" * 100_000


@pytest.mark.parametrize(
    "rows",
    [
        [{"id": LONG, "text": 5.5}],
        [{"id": "1", "image": LONG}],
        [{"id": LONG, "text": "a"}, {"id": LONG, "text": "b"}],
        [{"id": "1", "text": "a", LONG: "\ud800"}],
        [{LONG: "a"}],
        [{f"column{number}": "a" for number in range(5000)}],
    ],
)
def test_long_names_are_cut(tmp_path, rows):
    with pytest.raises(DataError) as caught:
        PairedSet.read(lines(tmp_path, *rows))
    assert len(str(caught.value)) < 2000
