import pytest

from fdch.data.pairs import Skipped
from fdch.data.readers.downloads import read_lines, refuse_or_skip
from fdch.errors import BrokenRow, DataError, MissingFile


def test_lines_come_without_blanks_marks_and_outer_spaces(tmp_path):
    path = tmp_path / "tags.txt"
    path.write_bytes("\ufeffsky \r\n\r\n\tsea\u2028side\rend".encode())
    assert read_lines(path) == ["sky", "sea\u2028side", "end"]


def test_a_file_is_read_up_to_the_limit(tmp_path):
    path = tmp_path / "tags.txt"
    path.write_bytes(b"12345")
    assert read_lines(path, 5) == ["12345"]
    with pytest.raises(DataError, match="longer than the 4 bytes"):
        read_lines(path, 4)


def test_files_that_cannot_be_read_are_named(tmp_path):
    with pytest.raises(MissingFile, match=r"tags\.txt"):
        read_lines(tmp_path / "tags.txt")
    with pytest.raises(DataError, match="it is a folder; name a file in it"):
        read_lines(tmp_path)


def test_broken_rows_are_given_back_or_refused():
    rows = [Skipped(f"im{number}", "no photo") for number in range(7)]
    assert refuse_or_skip(rows, "skip", "look again") == tuple(rows)
    assert refuse_or_skip([], "refuse", "look again") == ()
    with pytest.raises(BrokenRow, match=r"7 rows .*im4: no photo; and 2 more.*look"):
        refuse_or_skip(rows, "refuse", "look again")
