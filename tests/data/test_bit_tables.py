import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fdch.data.readers import bit_tables
from fdch.data.readers.bit_tables import read_bits
from fdch.errors import DataError, MissingFile

tables = arrays(
    np.uint8,
    st.tuples(st.integers(1, 9), st.integers(2, 5)),
    elements=st.integers(0, 1),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


def written(folder, content):
    path = folder / "table.txt"
    path.write_bytes(content.encode())
    return path


@given(
    table=tables,
    between=st.sampled_from([" ", "\t", "\t "]),
    ending=st.sampled_from(["\n", "\r\n", "\t\r\n", "\n\n"]),
    is_named=st.booleans(),
    block=st.integers(64, 200),
)
def test_a_table_reads_as_it_was_written(
    folder, table, between, ending, is_named, block
):
    rows = [between.join(map(str, row)) for row in table]
    if is_named:
        rows = [f"{10**9 + i}{between}{row}" for i, row in enumerate(rows)]
    path = written(folder, ending.join(rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bit_tables, "_BLOCK", block)
        bits, names = read_bits(path, table.shape[1], len(table))
    assert np.array_equal(bits.toarray(), table)
    assert names == ([str(10**9 + i) for i in range(len(table))] if is_named else None)


@pytest.mark.parametrize("content", ["1 0\n", "1 0\n0 1\n1 1\n0 0\n", "\n", ""])
def test_another_number_of_rows_is_refused_with_both(folder, content):
    with pytest.raises(DataError, match=r"table\.txt' has [014] rows; expected 3"):
        read_bits(written(folder, content), 2, 3)


def test_a_row_of_another_width_is_named_by_line(folder):
    with pytest.raises(DataError, match="line 2: 3 values; expected 2"):
        read_bits(written(folder, "1 0\n1 0 1\n"), 2, 2)


def test_names_in_some_rows_only_are_refused(folder):
    with pytest.raises(DataError, match="line 2: 2 values"):
        read_bits(written(folder, "77 1 0\n1 0\n"), 2, 2)


@pytest.mark.parametrize("cell", ["2", "01", "1.0", "-", "é", "x" * 99])
def test_other_values_are_named_by_line_and_place(folder, cell):
    with pytest.raises(DataError, match="line 3, value 2 is"):
        read_bits(written(folder, f"1 0\n\n1 {cell}\n"), 2, 2)


def test_endless_lines_are_refused(folder, monkeypatch):
    monkeypatch.setattr(bit_tables, "_BLOCK", 64)
    with pytest.raises(DataError, match="a line of over 64 bytes"):
        read_bits(written(folder, "1 " * 500), 2, 2)


def test_a_missing_file_is_named(folder):
    with pytest.raises(MissingFile, match=r"nowhere\.txt"):
        read_bits(folder / "nowhere.txt", 2, 2)
    with pytest.raises(DataError, match="cannot be read"):
        read_bits(folder, 2, 2)
