"""Every query's own scores: kept, read back and checked."""

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from fdch.codes import binarize
from fdch.errors import DataError
from fdch.evaluation import (
    Coded,
    CodedPairs,
    Protocol,
    distance_histograms,
    ndcg_at,
    score_files,
    score_galleries,
)
from fdch.evaluation.score_files import read_scores, save_scores, with_queries

KEY = "modality", "image_to_text", "ndcg_at_10"


def coded(seed, items):
    rng = np.random.default_rng(seed)
    labels = (rng.random((items, 4)) < 0.4).astype(np.uint8)
    image, text = (binarize(rng.standard_normal((items, 6))) for _ in range(2))
    rows = np.arange(items)
    return CodedPairs(Coded(image, labels), Coded(text, labels), both=(rows, rows))


@pytest.fixture(scope="module")
def sets():
    return coded(0, 25), coded(1, 60)


@pytest.fixture(scope="module")
def scores(sets):
    queries, database = sets
    return score_galleries("mine", queries, database, Protocol("d", "s", 25, 60, 10))


@pytest.fixture
def file(scores, tmp_path):
    save_scores(tmp_path, scores)
    return tmp_path / "queries.safetensors"


def test_a_query_without_an_answer_is_not_a_number(sets, scores):
    query, database = sets[0].image, sets[1].text
    counts = distance_histograms(
        query.codes, database.codes, query.labels, database.labels, graded=True
    )
    expected = ndcg_at(counts, 10)
    assert np.isnan(expected).any()
    assert scores.queries[KEY] == pytest.approx(expected, nan_ok=True)
    assert np.nanmean(scores.queries[KEY]) == pytest.approx(scores.means()[KEY])


def test_every_mean_has_its_list_and_its_interval(scores):
    assert set(scores.queries) == set(scores.means()) == set(scores.intervals())
    assert ("modality", "text_to_image", "partner_recall_at_10") in scores.means()
    for key, (low, high) in scores.intervals().items():
        assert low <= scores.means()[key] + 1e-6
        assert high >= scores.means()[key] - 1e-6


def test_scores_come_back_as_they_were(scores, file):
    again = with_queries(scores, file.parent).queries
    assert again is not None
    assert again.keys() == scores.queries.keys()
    for key, values in again.items():
        assert np.array_equal(values, scores.queries[key], equal_nan=True)


def test_scores_of_another_run_are_refused(sets, scores, file):
    queries, database = sets
    turned = CodedPairs(queries.text, queries.image, both=queries.both)
    other = score_galleries("other", turned, database, scores.protocol)
    with pytest.raises(DataError, match="does not belong to the scores beside it"):
        with_queries(other, file.parent)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("modality/image_to_text/map", np.ones(25)),
        ("modality/image_to_text/map", np.ones((5, 5), dtype=np.float32)),
        ("modality/image_to_text/lookup", np.ones(25, dtype=np.float32)),
        ("nonsense", np.ones(25, dtype=np.float32)),
    ],
)
def test_anything_but_lists_of_known_scores_is_refused(scores, file, name, array):
    save_file({**load_file(file), name: array}, file)
    with pytest.raises(DataError, match="must hold lists of float32"):
        with_queries(scores, file.parent)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 7])
def test_values_that_are_no_scores_are_refused(scores, file, value):
    name, strange = "/".join(KEY), np.full(25, value, dtype=np.float32)
    save_file({**load_file(file), name: strange}, file)
    with pytest.raises(DataError, match="ndcg_at_10 is"):
        with_queries(scores, file.parent)


@pytest.mark.parametrize("content", [b"", b"x" * 100, b"\xff" * 8 + b"{}"])
def test_a_damaged_file_is_refused(scores, file, content):
    file.write_bytes(content)
    with pytest.raises(DataError, match="cannot be read"):
        with_queries(scores, file.parent)


def test_a_large_file_is_not_loaded(scores, file, monkeypatch):
    monkeypatch.setattr(score_files, "MAX_QUERIES_BYTES", 10)
    with pytest.raises(DataError, match="over 10 bytes"):
        with_queries(scores, file.parent)


def test_documents_over_64_megabytes_are_refused(tmp_path):
    file = tmp_path / "scores.json"
    for size, problem in ((64 * 2**20 + 1, "over 67,108,864 bytes"), (1, "Expecting")):
        with file.open("wb") as opened:
            opened.truncate(size)
        with pytest.raises(DataError, match=problem):
            read_scores(file)


def test_a_missing_file_is_named(scores, tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        with_queries(scores, tmp_path / "no")
