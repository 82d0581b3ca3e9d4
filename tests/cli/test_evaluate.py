"""Evaluation: the table, the JSON document, what is kept and what is reported."""

import json
import os
import shutil

import numpy as np
import pytest

from fdch.cli.evaluate import say_probabilities
from fdch.evaluation import Scores
from fdch.evaluation.calibration.reliability import measure_reliability
from fdch.evaluation.score_files import with_queries

PROTOCOL = {"data", "split", "queries", "database", "train", "relevance", "ties"}
PROTOCOL |= {"cutoff", "seed", "trained_on"}


@pytest.fixture
def copied(on_features, tmp_path):
    """A run that a test may change."""
    return shutil.copytree(on_features.run, tmp_path / "run")


def test_the_table_has_scores_protocol_and_health(on_features):
    shown = on_features.scored.stdout
    assert shown.startswith("gallery   direction        mAP  stable")
    assert shown.count("image → text") == shown.count("text → image") == 5
    assert "P@1 " in shown and "P@10 " in shown and "NDCG@10" in shown
    assert "own other half among those of 12 query pairs" in shown
    assert "95% of the means of resampled queries" in shown
    assert "chance 0.2" in shown
    assert "12 queries, 108 in the database, 54 for training" in shown
    assert "database codes  items  distinct" in shown


def test_json_is_the_document_of_the_contract(fdch, on_features):
    result = fdch("evaluate", on_features.run, "--json")
    document = json.loads(result.stdout)
    assert {"method", "bits", "protocol", "chance", "scores", "lookup"} <= set(document)
    assert set(document["protocol"]) >= PROTOCOL
    for gallery in ("modality", "unified"):
        for direction in ("image_to_text", "text_to_image"):
            part = document["scores"][gallery][direction]
            assert set(part) >= {"map", "map_stable", "map_best", "map_worst"}
            assert set(part["precision_at"]) == {"1", "10", "100"}
            assert set(part["ndcg_at"]) == {"10"}
            assert len(part["intervals"]["map"]) == 2
            curve = document["lookup"][gallery][direction]
            assert curve["radius"] == list(range(17))
    for part in document["partner"]["modality"].values():
        assert set(part["recall_at"]) == {"1", "10", "50"}
        assert part["median_rank"] >= 1
    assert document["duplicates"]["pictures"] == {
        "groups": 0,
        "pairs": 0,
        "largest": 0,
        "queries_in_training": 0,
        "queries_in_database": 0,
    }
    assert document["duplicates"]["texts"]["pairs"] > 0
    assert document["calibration"] == {}  # six validation pairs are too few
    assert document["texts_without_known_word"] == {"queries": 0, "database": 0}
    assert Scores.from_json(document).to_json().items() <= document.items()


def test_full_scores_are_kept_in_the_run(on_features, fdch):
    kept = json.loads((on_features.run / "scores.json").read_text("utf-8"))
    assert kept == json.loads(fdch("evaluate", on_features.run, "--json").stdout)
    found = with_queries(Scores.from_json(kept), on_features.run).queries
    assert found is not None
    assert {len(values) for values in found.values()} == {12}


@pytest.mark.parametrize("options", [["--gallery", "unified"], ["--cutoff", "5"]])
def test_scores_of_a_part_are_not_kept(fdch, copied, options):
    (copied / "scores.json").unlink()
    result = fdch("evaluate", copied, *options)
    assert result.exit_code == 0
    assert not (copied / "scores.json").exists()


def test_one_gallery_can_be_chosen(fdch, on_features):
    result = fdch("evaluate", on_features.run, "--gallery", "modality", "--json")
    assert list(json.loads(result.stdout)["scores"]) == ["modality"]


def test_a_cut_off_is_applied_and_reported(fdch, on_features):
    result = fdch("evaluate", on_features.run, "--cutoff", 5, "--json")
    assert json.loads(result.stdout)["protocol"]["cutoff"] == 5
    refused = fdch("evaluate", on_features.run, "--cutoff", 0)
    assert (refused.exit_code, "range x>=1" in refused.stderr) == (2, True)


def test_other_data_is_split_with_the_seed(
    fdch, on_features, features, copied, tmp_path
):
    (copied / "scores.json").unlink()
    other = features(tmp_path / "other.npz", pairs=80, seed=1)
    result = fdch("evaluate", copied, other, "--json")
    protocol = json.loads(result.stdout)["protocol"]
    assert (protocol["queries"], protocol["database"]) == (8, 72)
    assert not (copied / "scores.json").exists()


def test_pairs_that_were_learned_from_are_counted(fdch, on_features, tmp_path):
    with np.load(on_features.data) as arrays:
        rows = {name: array[1:] for name, array in arrays.items()}
    np.savez(tmp_path / "shorter.npz", **rows)
    result = fdch("evaluate", on_features.run, tmp_path / "shorter.npz")
    assert result.exit_code == 0, result.stderr
    assert "note: the run has learned from " in result.stderr
    assert (
        " of the 119 pairs; they are searched, but not used as queries."
        in result.stderr
    )
    assert "6 for validation of data " in result.stdout


def test_the_same_data_elsewhere_is_the_same_data(fdch, on_features, tmp_path):
    moved = shutil.copy(on_features.data, tmp_path / "moved.npz")
    elsewhere = fdch("evaluate", on_features.run, moved)
    assert elsewhere.stdout == on_features.scored.stdout


def test_changed_data_is_refused(fdch, features, tiny, tmp_path):
    data = features(tmp_path / "data.npz")
    fdch("train", data, "--bits", 8, "--out", tmp_path / "run", *tiny)
    features(data, seed=5)
    result = fdch("evaluate", tmp_path / "run")
    assert result.exit_code == 1
    assert "has changed since" in result.stderr


def test_texts_without_a_known_word_are_counted(
    fdch, on_scenes, photo_rows, manifest, tmp_path
):
    rows = [dict(row) for row in photo_rows]
    for row in rows[:30]:
        row["text"] = "qwertz"
    data = manifest(tmp_path / "pairs.csv", rows)
    result = fdch("evaluate", on_scenes.run, data)
    assert result.exit_code == 0, result.stderr
    reported = [line for line in result.stdout.splitlines() if "known word" in line]
    words = reported[0].replace(",", "").split()
    numbers = [int(word) for word in words if word.isdigit()]
    assert sum(numbers) == 30
    counts = json.loads(fdch("evaluate", on_scenes.run, data, "--json").stdout)
    assert list(counts["texts_without_known_word"].values()) == numbers


def test_a_report_is_written_beside(fdch, on_scenes, tmp_path):
    page = tmp_path / "report.html"
    result = fdch("evaluate", on_scenes.run, "--report", page, "--json")
    assert result.exit_code == 0, result.stderr
    json.loads(result.stdout)
    assert f"report: {page}" in result.stderr
    assert page.read_text("utf-8").startswith("<!doctype html>")
    assert list(tmp_path.iterdir()) == [page]


def test_a_report_without_a_place_is_refused_before_any_work(fdch, tmp_path):
    result = fdch("evaluate", "no-run", "--report", tmp_path / "a" / "b.html")
    assert result.exit_code == 1
    assert "there is no folder" in result.stderr


def test_scores_that_cannot_be_kept_are_reported_all_the_same(
    fdch, on_features, copied
):
    (copied / "scores.json").unlink()
    (
        copied / f"scores.json.{os.getpid()}.partial"
    ).mkdir()  # nothing can be written there
    result = fdch("evaluate", copied)
    assert result.exit_code == 0, result.stderr
    assert result.stdout == on_features.scored.stdout
    assert "scores were not kept: '" in result.stderr
    assert not (copied / "scores.json").exists()


def test_a_report_that_fails_comes_after_the_scores(fdch, on_features, tmp_path):
    (tmp_path / f"a.html.{os.getpid()}.partial").mkdir()
    result = fdch("evaluate", on_features.run, "--report", tmp_path / "a.html")
    assert result.exit_code == 1
    assert result.stdout == on_features.scored.stdout
    assert "a.html' could not be written" in result.stderr


def test_probabilities_are_printed_beside_the_truth(capsys):
    held = measure_reliability([[0.9, 0.9], [0.7, 0.7]], [[1, 1], [0, 0]]).to_json()
    say_probabilities({"modality": {"image_to_text": held}})
    shown = capsys.readouterr().out
    assert "image → text  0.8000  0.5000  0.3000" in shown
    assert "image → text  stated  0.7000  0.9000" in shown
    assert "image → text  true    0.0000  1.0000" in shown
    say_probabilities({})
    assert capsys.readouterr().out == ""
