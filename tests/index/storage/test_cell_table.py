"""The table of cells against a plain set of them."""

import sqlite3
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdch.errors import DamagedIndex
from fdch.index.storage.catalogue import cell_table
from fdch.index.storage.catalogue.cell_table import (
    CELLS_TABLE,
    COUNT,
    Cell,
    drop_cells,
    put_cells,
    read_cells,
    read_numbers,
)

VALUES = [(1, ""), (1, "01"), (1.5, "1.5"), ("a", ""), ("", "")]
# each item: whether it is put in with those before it, its cells, whether it goes
items = st.lists(
    st.tuples(
        st.booleans(),
        st.sets(st.tuples(st.integers(0, 1), st.sampled_from(VALUES)), max_size=3),
        st.booleans(),
    ),
    max_size=40,
)


@pytest.fixture(autouse=True)
def _short_lists(monkeypatch):
    monkeypatch.setattr(cell_table, "LIST_BYTES", 4 * cell_table.NUMBER_BYTES)


def make_table():
    connection = sqlite3.connect(":memory:")
    connection.execute(CELLS_TABLE)
    connection.execute('CREATE TABLE columns ("column" INTEGER PRIMARY KEY, name TEXT)')
    connection.execute("INSERT INTO columns VALUES (0, 'zero'), (1, 'one')")
    return connection


@given(items, st.integers(1, 3))
def test_cells_are_those_put_in_and_not_taken_out(items, step):
    with closing(make_table()) as connection:
        batch, kept, gone = list[Cell](), list[Cell](), list[Cell]()
        for at, (with_others, cells, goes) in enumerate(items):
            if not with_others:
                put_cells(connection, batch)
                batch = []
            number = at * step * 2**32
            of_item = [(column, value, number, text) for column, (value, text) in cells]
            batch += of_item
            (gone if goes else kept).extend(of_item)
        put_cells(connection, batch)
        for part in (gone[::2], gone[1::2]):
            drop_cells(connection, part)
        named = [(("zero", "one")[c], value, text, n) for c, value, n, text in kept]
        assert sorted(read_cells(connection), key=repr) == sorted(named, key=repr)
        for column in (0, 1):
            ones = [cell[2] for cell in kept if cell[:2] == (column, 1)]
            found = read_numbers(connection, column, "value = ?", 1)
            assert sorted(found.tolist()) == sorted(ones)
            query = f'SELECT {COUNT} FROM cells WHERE "column" = ? AND value = 1'
            assert connection.execute(query, (column,)).fetchone() == (len(ones),)


def test_lists_are_filled_before_others_begin():
    with closing(make_table()) as connection:
        for number in range(10):
            put_cells(connection, [(0, "a", number, "")])
        found = connection.execute(
            "SELECT first, length(numbers) FROM cells"
        ).fetchall()
        assert found == [(0, 32), (4, 32), (8, 16)]


@pytest.mark.parametrize("content", ["'text'", "x'00'"])
def test_a_damaged_list_is_named(content):
    with closing(make_table()) as connection:
        connection.execute(f"INSERT INTO cells VALUES (0, 'a', '', 0, {content})")
        with pytest.raises(DamagedIndex, match="damaged list"):
            read_numbers(connection, 0, "value = ?", "a")
