"""Files: whole, or as they were before."""

import json

import pytest

from fdch.errors import RunError
from fdch.files import write_json, write_whole


def test_what_is_written_replaces_what_was_there(tmp_path):
    path = tmp_path / "file"
    path.write_text("before")
    write_whole(path, lambda partial: partial.write_text("after"))
    assert path.read_text() == "after"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (OSError(28, "No space left on device"), RunError),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ],
)
def test_a_write_that_fails_leaves_what_was_there(tmp_path, error, raised):
    path = tmp_path / "file"
    path.write_text("before")

    def fail(partial):
        partial.write_text("half")
        raise error

    with pytest.raises(raised):
        write_whole(path, fail)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_reported_with_what_to_check(tmp_path):
    def fail(partial):
        raise OSError(28, "No space left on device")

    with pytest.raises(RunError, match=r"file' could not be written: No space left"):
        write_whole(tmp_path / "file", fail)


def test_a_file_in_place_of_a_folder_is_reported(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match="could not be written"):
        write_json(tmp_path / "file" / "inside.json", {})


def test_documents_keep_their_letters(tmp_path):
    write_json(tmp_path / "file", {"word": "犬"})
    text = (tmp_path / "file").read_text("utf-8")
    assert "犬" in text
    assert json.loads(text) == {"word": "犬"}


def test_what_is_no_number_is_not_json(tmp_path):
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(tmp_path / "file", {"score": float("nan")})
    assert list(tmp_path.iterdir()) == []
