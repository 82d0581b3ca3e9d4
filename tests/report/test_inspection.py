"""Counts of data, chance, and the page of samples."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image
from scipy.sparse import csr_array

from fdch.data.pairs import Skipped
from fdch.data.pictures.images import ImageFeatures, PictureFiles
from fdch.data.texts import Sentences, WordVectors
from fdch.report import inspection
from fdch.report.inspection import Range, inspect_pairs, label_chance, write_inspection


def slow_chance(labels):
    """Mean average precision of each pair's search at random, and their number."""
    scores = []
    for i, query in enumerate(labels):
        others = np.delete(labels, i, axis=0)
        relevant = (others & query).any(axis=1)
        n, r = len(relevant), int(relevant.sum())
        if r:  # a relevant item at rank j has, in the mean, its share of those ahead
            ahead = [(j - 1) * (r - 1) / max(n - 1, 1) for j in range(1, n + 1)]
            scores.append(np.mean([(1 + a) / j for j, a in enumerate(ahead, start=1)]))
    return np.sum(scores) / max(len(scores), 1), len(scores)


@given(arrays(np.uint8, (7, 3), elements=st.integers(0, 1)))
def test_chance_is_the_score_of_random_searches_for_the_others(labels):
    labels[:, 0] |= ~labels.any(axis=1)
    found = label_chance(labels, np.random.default_rng(0))
    expected, queries = slow_chance(labels)
    if not queries:
        assert found is None
    else:
        assert found is not None and found.exact
        assert found.map == pytest.approx(expected)
        assert found.queries == queries


def test_chance_of_many_patterns_comes_from_a_sample(monkeypatch):
    monkeypatch.setattr(inspection, "MAX_PATTERNS", 10)
    monkeypatch.setattr(inspection, "SAMPLED_QUERIES", 400)
    labels = (np.random.default_rng(1).random((500, 8)) < 0.2).astype(np.uint8)
    labels[~labels.any(axis=1), 0] = 1
    found = label_chance(labels, np.random.default_rng(0))
    assert found is not None
    assert (found.queries, found.exact) == (400, False)
    assert found.map == pytest.approx(slow_chance(labels)[0], abs=0.02)


def test_there_is_no_chance_without_two_pairs_that_share_a_label():
    for labels in (np.ones((1, 2), np.uint8), np.eye(3, dtype=np.uint8)):
        assert label_chance(labels, np.random.default_rng(0)) is None


def test_a_range_is_described_in_words():
    assert str(Range.of([3, 1, 1200])) == "1 to 1,200, median 3"
    assert Range.of([]) is None


def test_counts_of_generated_pairs(pairs, hostile):
    found = inspect_pairs(pairs)
    assert found.pairs == found.with_image == found.with_text == found.trainable == 80
    assert found.labels[hostile] == int(pairs.labels[:, 0].sum())
    assert list(found.labels.values()) == sorted(found.labels.values(), reverse=True)
    assert found.images == "pictures"
    assert found.picture_sizes == Range(64, 64, 64)
    assert found.frequent_words["script"] == 20
    assert found.words_per_text is not None
    assert found.words_per_text.least >= 1


def test_pairs_without_labels_are_fit_for_training(pairs):
    labels = pairs.labels.copy()
    labels[2:] = 0
    found = inspect_pairs(replace(pairs, labels=labels))
    assert (found.trainable, found.supervised) == (80, 2)
    assert found.training == "80 fit for training, 2 with a label"


def test_one_sided_rows_are_counted_apart(pairs, tmp_path):
    Image.new("RGB", (30, 20)).save(tmp_path / "a.png")
    part = replace(
        pairs[:3],
        images=PictureFiles([tmp_path / "a.png", None, None]),
        texts=Sentences(["one two", "two", None]),
        skipped=(Skipped("torn", "it is torn"),),
    )
    found = inspect_pairs(part)
    assert (found.with_image, found.with_text, found.trainable) == (1, 2, 1)
    assert found.training == "1 fit for training"
    assert found.skipped == (("torn", "it is torn"),)
    assert found.frequent_words == {"two": 2, "one": 1}
    assert found.words_per_text == Range(1, 1.5, 2)
    assert found.picture_sizes == Range(30, 30, 30)
    assert found.to_json()["skipped"] == [{"row": "torn", "reason": "it is torn"}]


def test_ready_vectors_have_columns_in_place_of_words(pairs):
    vectors = csr_array(np.eye(80, 5, dtype=np.float32))
    ready = replace(
        pairs,
        images=ImageFeatures(np.zeros((80, 7))),
        texts=WordVectors(vectors),
    )
    found = inspect_pairs(ready)
    assert found.images == "features of 7 columns"
    assert (found.words, found.frequent_words) == (5, {})
    assert found.picture_sizes is None


def test_the_document_is_plain(pairs):
    found = inspect_pairs(pairs)
    assert json.loads(json.dumps(found.to_json()))["pairs"] == 80


def test_the_page_shows_samples_safely(pairs, hostile, tmp_path):
    broken = tuple(Skipped(f"{hostile}{i}", hostile) for i in range(203))
    damaged = replace(pairs, skipped=broken, notes=(hostile,))
    path = tmp_path / "samples.html"
    write_inspection(path, damaged, inspect_pairs(damaged))
    source = path.read_text("utf-8")
    assert "<script" not in source
    assert "&lt;script&gt;" in source
    assert source.count('src="data:image/jpeg;base64,') == 24
    assert "and 3 more" in source
    assert "http://" not in source


def test_the_page_does_without_pictures_texts_and_labels(pairs, tmp_path):
    bare = replace(
        pairs,
        images=PictureFiles([None] * 80),
        texts=Sentences([None] * 80),
        labels=np.zeros((80, 0), np.uint8),
        label_names=(),
    )
    path = tmp_path / "samples.html"
    write_inspection(path, bare, inspect_pairs(bare))
    assert path.read_text("utf-8").count("no text") == 24
