"""What is printed, and how."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdch.cli.output import count, plain, require_place
from fdch.errors import RunError


@given(st.text())
def test_no_text_can_command_a_terminal(text):
    assert plain(text).isprintable() or plain(text) == ""


@given(st.text(), st.integers(1, 50))
def test_no_text_is_longer_than_asked(text, most):
    assert len(plain(text, most)) <= most


def test_printable_texts_stay_as_they_are():
    assert plain("ein Hund – 犬 🐕") == "ein Hund – 犬 🐕"  # noqa: RUF001


def test_lines_are_kept_only_where_asked_for():
    assert plain("a\nb") == r"a\nb"
    assert plain("a\nb", lines=True) == "a\nb"


def test_counts_agree_with_their_noun():
    assert count(1, "pair") == "1 pair"
    assert count(1234, "pair") == "1,234 pairs"
    assert count(0, "query", "queries") == "0 queries"


def test_a_file_needs_a_folder_to_lie_in(tmp_path):
    require_place(tmp_path / "page.html")
    with pytest.raises(RunError, match="is a folder"):
        require_place(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="file' is a file, so nothing can be written"):
        require_place(tmp_path / "file" / "page.html")
    with pytest.raises(RunError, match="no folder"):
        require_place(tmp_path / "missing" / "page.html")
