"""Records on disk are trusted only as far as they can be read."""

import json

import pytest

from fdch.errors import DataError
from fdch.reproduction.cell_records import RUN, Record, clear, drop_run, previous_record
from fdch.reproduction.study import Cell


@pytest.fixture(scope="module")
def done(few):
    record = few.records[Cell("cmfh", 16, 0)]
    return Record("f", "done", {"method": "cmfh"}, record.figures, scores=record.scores)


def test_a_record_comes_back_as_it_was(done, tmp_path):
    done.save(tmp_path)
    assert Record.read(tmp_path) == done


def test_a_failure_keeps_its_reason(tmp_path):
    Record("f", "failed", reason="too large").save(tmp_path)
    record = Record.read(tmp_path)
    assert record is not None
    assert (record.state, record.reason, record.scores) == ("failed", "too large", None)


def test_an_empty_folder_has_no_record(tmp_path):
    assert previous_record(tmp_path, "f") == (None, "")


def test_a_record_of_another_task_does_not_count(done, tmp_path):
    done.save(tmp_path)
    assert previous_record(tmp_path, "f") == (done, "")
    record, trouble = previous_record(tmp_path, "g")
    assert record is None
    assert "made with other data, settings or version" in trouble


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("cell.json", "{"),
        ("cell.json", "[" * 100_000),
        ("cell.json", '{"state": "perfect"}'),
        ("scores.json", "{}"),
        ("scores.json", '{"scores": 7}'),
        ("queries.safetensors", "?"),
    ],
)
def test_a_damaged_record_does_not_count(done, tmp_path, file, content):
    done.save(tmp_path)
    (tmp_path / file).write_text(content)
    record, trouble = previous_record(tmp_path, "f")
    assert record is None
    assert "damaged" in trouble


def test_scores_that_are_missing_make_a_record_damaged(done, tmp_path):
    done.save(tmp_path)
    (tmp_path / "scores.json").unlink()
    with pytest.raises(DataError, match="cannot be read"):
        Record.read(tmp_path)


def test_a_record_keeps_the_scores_of_single_queries(done, tmp_path):
    done.save(tmp_path)
    record = Record.read(tmp_path)
    assert record is not None and record.scores is not None
    assert record.scores.queries is not None
    assert record.scores.queries.keys() == done.scores.queries.keys()
    (tmp_path / "queries.safetensors").unlink()
    assert "damaged" in previous_record(tmp_path, "f")[1]


def test_a_score_that_was_tampered_with_is_named(done, tmp_path):
    done.save(tmp_path)
    document = json.loads((tmp_path / "scores.json").read_text())
    document["scores"]["modality"]["image_to_text"]["map"] = 7
    (tmp_path / "scores.json").write_text(json.dumps(document))
    assert "map must be a number" in previous_record(tmp_path, "f")[1]


def test_an_endless_file_is_not_read(tmp_path):
    with (tmp_path / "cell.json").open("wb") as file:
        file.truncate(2**31)
    assert "has over" in previous_record(tmp_path, "f")[1]


def test_clearing_leaves_other_files_alone(done, tmp_path):
    done.save(tmp_path)
    (tmp_path / RUN).mkdir()
    (tmp_path / "mine.txt").touch()
    clear(tmp_path)
    drop_run(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
