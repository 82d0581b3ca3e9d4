"""What is printed, and how."""

import json
import os
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdch.cli.shared.output import (
    count,
    plain,
    program,
    report,
    require_place,
    say,
    show_some,
)
from fdch.errors import RunError


@given(st.text())
def test_no_text_can_command_a_terminal(text):
    assert plain(text).isprintable() or plain(text) == ""


@given(st.text(), st.integers(1, 50))
def test_no_text_is_longer_than_requested(text, most):
    assert len(plain(text, most)) <= most


def test_printable_texts_stay_as_they_are():
    assert plain("ein Hund – 犬 🐕") == "ein Hund – 犬 🐕"  # noqa: RUF001


def test_lines_are_kept_only_on_request():
    assert plain("a\nb") == r"a\nb"
    assert plain("a\nb", lines=True) == "a\nb"


def test_counts_agree_with_their_noun():
    assert count(1, "pair") == "1 pair"
    assert count(1234, "pair") == "1,234 pairs"
    assert count(0, "query", "queries") == "0 queries"


def test_of_many_the_first_ten_are_shown_and_the_others_counted():
    assert show_some(["a", "b"], str.upper) == ["A", "B"]
    shown = show_some(list(range(2010)), str, "more rows")
    assert shown == [*map(str, range(10)), "and 2,000 more rows"]


def test_a_report_is_either_json_or_lines(capsys):
    report({"items": 1}, True, "one item")
    assert json.loads(capsys.readouterr().out) == {"items": 1}
    report({"items": 1}, False, "one item", "in all")
    assert capsys.readouterr().out == "one item\nin all\n"


def test_a_file_needs_a_folder_to_lie_in(tmp_path):
    require_place(tmp_path / "page.html")
    with pytest.raises(RunError, match="is a folder"):
        require_place(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="file' is a file, so nothing can be written"):
        require_place(tmp_path / "file" / "page.html")
    with pytest.raises(RunError, match="no folder"):
        require_place(tmp_path / "missing" / "page.html")


def test_a_folder_that_may_not_be_written_is_reported_before_work(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("os.access", lambda path, mode: path != tmp_path)
    with pytest.raises(RunError, match="may not be written to"):
        require_place(tmp_path / "page.html")


def test_what_is_no_ordinary_file_is_left_alone(tmp_path):
    os.mkfifo(tmp_path / "pipe.html")
    (tmp_path / "round.html").symlink_to(tmp_path / "round.html")
    (tmp_path / "link.html").symlink_to(tmp_path / "pipe.html")
    for name in ("pipe.html", "round.html", "link.html"):
        with pytest.raises(RunError, match=f"{name}' is not a regular file"):
            require_place(tmp_path / name)


def test_a_link_gives_way_to_what_it_leads_to(tmp_path):
    (tmp_path / "codes.npz").touch()
    for name in ("codes.npz", "later.npz"):
        (tmp_path / f"to-{name}").symlink_to(name)
        assert require_place(tmp_path / f"to-{name}") == tmp_path / name
    (tmp_path / "astray").symlink_to(tmp_path / "missing" / "codes.npz")
    with pytest.raises(RunError, match="no folder"):
        require_place(tmp_path / "astray")


def test_a_name_ends_as_its_kind_of_file_does(tmp_path):
    assert require_place(tmp_path / "A.HTM", ".html", ".htm").name == "A.HTM"
    with pytest.raises(RunError, match=r"does not end in .html; .*pairs.html"):
        require_place(tmp_path / "pairs.csv", ".html", ".htm")


def test_what_is_read_is_not_written_over(tmp_path):
    data = tmp_path / "data.npz"
    data.touch()
    (tmp_path / "link.npz").symlink_to(data)
    require_place(data, ".npz", inputs=["scenes:60", "dcmh-mat:other.mat", ""])
    for name in (str(data), f"dcmh-mat:{data}"):
        for out in (data, tmp_path / "link.npz"):
            with pytest.raises(RunError, match="is read by this command"):
                require_place(out, ".npz", inputs=[name])


def test_results_cannot_command_a_terminal(capsys):
    say("\x1b[31mevil\nsecond line")
    assert capsys.readouterr().out == "\\x1b[31mevil\nsecond line\n"


def test_a_program_that_is_in_no_folder_of_path_is_named_by_its_path(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["a folder/bin/fdch", "demo"])
    monkeypatch.setenv("PATH", "")
    assert program() == "'a folder/bin/fdch'"
    monkeypatch.setattr(sys, "argv", ["/usr/bin/pytest"])
    assert program() == "fdch"
