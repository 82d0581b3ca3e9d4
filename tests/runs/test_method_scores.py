"""A method or a run in; codes and scores out."""

import json
import tracemalloc
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fdch.data.pairs import PairedSet
from fdch.data.pictures.images import PictureFiles
from fdch.data.texts import Sentences
from fdch.errors import DamagedRun, DataError, MissingFile, RunError
from fdch.runs import method_scores, pipeline
from fdch.runs.encoding import calibrate
from fdch.runs.method_scores import evaluate, evaluate_run
from fdch.runs.pipeline import train_run, validate
from fdch.runs.run import open_run
from fdch.runs.run_files import DESCRIPTION


def test_a_run_is_scored_on_other_data_of_the_same_kind(
    task, trained, tmp_path, factor_pairs, write_features
):
    other = write_features(tmp_path / "other.npz", factor_pairs(100, seed=5))
    found = evaluate_run(trained, other)
    assert (len(found.query), len(found.database)) == (10, 90)
    assert found.scores.protocol.data == PairedSet.read(other).fingerprint


def test_changed_data_is_reported(task, trained, factor_pairs, write_features):
    write_features(task.source, factor_pairs(240, seed=5))
    with pytest.raises(RunError, match="has changed since"):
        evaluate_run(trained)


def test_a_run_is_usable_after_its_data_is_gone(task, trained, tmp_path, factor_pairs):
    pairs = PairedSet.read(task.source)
    before = trained.method.encode_pairs(pairs)
    (tmp_path / "features.npz").unlink()
    opened = open_run(task.out)
    assert opened.method.encode_pairs(pairs) == before
    gone = r"run' was trained on is no longer at '.*features\.npz'. Name it: fdch eval"
    with pytest.raises(MissingFile, match=gone):
        evaluate_run(opened)


def test_data_named_from_one_folder_is_found_from_another(task, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = train_run(replace(task, source="features.npz"))
    assert run.facts["data"]["source"] == "features.npz"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    expected = PairedSet.read(task.source).fingerprint
    assert evaluate_run(run).scores.protocol.data == expected
    # moved, and read by its name from where it now lies
    (tmp_path / "features.npz").rename(elsewhere / "features.npz")
    assert evaluate_run(run).scores.protocol.data == expected


@pytest.mark.parametrize(
    "damage",
    [
        {"data": 3},
        {"data": {}},
        {"data": {"source": 7, "fingerprint": "a"}},
        {"train": "many"},
    ],
)
def test_damaged_facts_of_a_run_are_reported(task, trained, damage):
    path = task.out / DESCRIPTION
    path.write_text(json.dumps(json.loads(path.read_text()) | damage))
    with pytest.raises(DamagedRun, match=r"run\.json"):
        evaluate_run(open_run(task.out))


def test_galleries_and_cutoff_are_followed(task, trained):
    found = evaluate_run(trained, galleries=["unified"], cutoff=10).scores
    assert set(found.scores) == {"unified"}
    assert found.protocol.cutoff == 10


def test_a_fitted_method_is_scored_directly(task, trained):
    pairs = PairedSet.read(task.source)
    scores = evaluate(trained.method, pairs[:40], pairs[40:])
    assert (scores.protocol.queries, scores.protocol.database) == (40, 200)
    assert scores.method == "fdch"
    same = evaluate(trained.method, pairs[:40], pairs[40:])
    assert scores.to_json() == same.to_json()


def test_labels_are_the_same_by_their_names_not_by_their_columns(task, trained):
    pairs = PairedSet.read(task.source)
    query, database = pairs[:40], pairs[40:]
    names = ("another", *database.label_names[::-1])
    labels = np.insert(database.labels[:, ::-1], 0, 0, axis=1)
    moved = replace(database, labels=labels, label_names=names)
    expected = evaluate(trained.method, query, database)
    assert evaluate(trained.method, query, moved).scores == expected.scores
    found = [calibrate(trained.method, query, each) for each in (moved, database)]
    one, other = (each.to_json() for each in found if each is not None)
    assert one == other


def test_pairs_without_a_label_are_left_out_of_scores(task, trained):
    pairs = PairedSet.read(task.source)
    parts = trained.split().parts(pairs)
    labels = parts.database.labels.copy()
    labels[5:17] = 0
    found = method_scores.score_method(
        trained.method,
        parts.query,
        replace(parts.database, labels=labels),
        method_scores.own_protocol(trained.method, parts.query, parts.database),
    )
    assert len(found.database) == len(parts.database) - 12
    assert found.scores.protocol.database == len(found.database)
    assert "12 of the" in found.database.notes[-1]
    expected = parts.database[np.r_[0:5, 17 : len(parts.database)]]
    direct = evaluate(trained.method, parts.query, expected)
    assert found.scores.scores == direct.scores


@pytest.mark.parametrize(("side", "none"), [("picture", "images"), ("text", "texts")])
def test_queries_of_one_kind_are_not_scored(side, none, task, trained, factor_pairs):
    pairs = factor_pairs(40)
    absent = PictureFiles([None] * 5) if none == "images" else Sentences([None] * 5)
    query = replace(pairs[:5], **{none: absent})
    with pytest.raises(DataError, match=f"none of the 5 queries of .* has a {side}"):
        evaluate(trained.method, query, pairs[5:])
    with pytest.raises(DataError, match="there are no queries; scoring needs at least"):
        evaluate(trained.method, pairs[:0], pairs)


def test_only_pairs_are_scored(task, trained):
    pairs = PairedSet.read(task.source)
    wrong: list[Any] = [(None, pairs), (pairs, "pairs.csv")]
    for query, database in wrong:
        with pytest.raises(DataError, match="give a PairedSet; got"):
            evaluate(trained.method, query, database)
        with pytest.raises(DataError, match="give a PairedSet; got"):
            calibrate(trained.method, query, database)
    nothing: Any = ["pairs.csv"]
    with pytest.raises(DataError, match="give a PairedSet; got list"):
        trained.method.encode_pairs(nothing)


def test_validation_averages_both_halves(task, trained):
    pairs = PairedSet.read(task.source)[:60]
    found = validate(trained.method, pairs)
    one = evaluate(trained.method, pairs[0::2], pairs[1::2]).scores["modality"]
    two = evaluate(trained.method, pairs[1::2], pairs[0::2]).scores["modality"]
    for direction, values in found["modality"].items():
        assert list(values) == ["map", "precision_at_10", "ndcg_at_10"]
        for measure, value in values.items():
            both = one[direction].means()[measure], two[direction].means()[measure]
            assert value == pytest.approx(sum(both) / 2)
    assert validate(trained.method, pairs[:0]) == {}


def test_halves_without_a_label_in_common_have_no_score(task, trained):
    pairs = PairedSet.read(task.source)
    alone = pairs.labels * (pairs.labels.sum(axis=1, keepdims=True) == 1)
    first, second = (np.flatnonzero(alone[:, i])[:4] for i in (0, 1))
    assert validate(trained.method, pairs[np.ravel([first, second], "F")]) == {}


def test_many_validation_pairs_are_not_compared_all_with_all(
    task, trained, factor_pairs, monkeypatch
):
    nothing = SimpleNamespace(scores=SimpleNamespace(scores={}))
    monkeypatch.setattr(pipeline, "score_method", lambda *_, **__: nothing)
    pairs = factor_pairs(6000)
    tracemalloc.start()
    try:
        validate(trained.method, pairs)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 3000**2
