"""Pairs are told apart by what is in them, and by ids that are names."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from fdch.data.contents import (
    image_digests,
    learned_from,
    shared_pairs,
    text_digests,
)
from fdch.data.pictures.images import ImageFeatures, PictureArray, PictureFiles
from fdch.data.rows import objects
from fdch.data.texts import Sentences, WordVectors


@pytest.fixture
def pairs(factor_pairs):
    return factor_pairs(8)


def numbered(pairs, first=1):
    """The same pairs, called by their row numbers."""
    ids = objects([str(row) for row in range(first, first + len(pairs))])
    return replace(pairs, ids=ids)


def test_features_are_told_apart_by_their_numbers():
    a, b, c = image_digests(ImageFeatures(np.array([[1.0, 2], [1, 2], [2, 1]])))
    assert a == b != c
    assert len(a) == 16


def test_pictures_are_told_apart_by_their_content(tmp_path):
    for name, content in {"a.png": b"one", "b.png": b"two", "c.png": b"one"}.items():
        (tmp_path / name).write_bytes(content)
    paths = [tmp_path / "a.png", tmp_path / "b.png", tmp_path / "c.png", None]
    a, b, c, absent = image_digests(PictureFiles(paths))
    assert a == c != b
    assert absent == b""
    pixels = np.zeros((2, 4, 4, 3), dtype=np.uint8)
    pixels[1, 0, 0, 0] = 1
    assert len(set(image_digests(PictureArray(pixels)))) == 2


def test_texts_are_told_apart_by_words_or_numbers():
    a, b, c, absent = text_digests(Sentences(["a dog", "a cat", "a dog", None]))
    assert a == c != b
    assert absent == b""
    vectors = np.array([[1.0, 0, 2], [1, 0, 2], [0, 1, 2], [1, 0, 0], [0, 0, 0]])
    a, b, *others = text_digests(WordVectors(csr_array(vectors)))
    assert a == b
    assert len({a, *others}) == 4


def test_an_image_is_known_under_any_name(pairs):
    known = set(image_digests(pairs.images[2:4]))
    other = replace(pairs, ids=objects([f"new {name}" for name in pairs.ids]))
    for found in (pairs, other, numbered(pairs), numbered(pairs, 0)):
        assert np.flatnonzero(learned_from(found, set(), known)).tolist() == [2, 3]


def test_a_name_is_known_whatever_became_of_its_pair(pairs):
    changed = replace(pairs, images=ImageFeatures(pairs.images.values + 1))
    known = set(image_digests(pairs.images[2:4]))
    ids = {pairs.ids[2], pairs.ids[3]}
    assert np.flatnonzero(learned_from(changed, ids, known)).tolist() == [2, 3]


@pytest.mark.parametrize("first", [0, 1])
def test_a_row_number_is_no_name(pairs, first):
    moved = replace(pairs, images=ImageFeatures(pairs.images.values + 1))
    other = numbered(moved, first)
    known = set(image_digests(pairs.images))
    assert not learned_from(other, {"2", "3"}, known).any()
    mixed = other[::-1]
    assert learned_from(mixed, {"2", "3"}, known).sum() == 2


def test_ids_decide_where_images_are_not_known(pairs):
    found = learned_from(numbered(pairs), {"2", "3"}, None)
    assert np.flatnonzero(found).tolist() == [1, 2]


def test_pairs_of_one_id_and_content_lie_in_both_sets(pairs):
    assert shared_pairs(pairs[:5], pairs[3:]) == ["pair 3", "pair 4"]
    assert shared_pairs(pairs[:3], pairs[3:]) == []
    assert shared_pairs(numbered(pairs[:4]), numbered(pairs[4:])) == []
    relabelled = replace(pairs, labels=1 - pairs.labels)
    assert len(shared_pairs(pairs, relabelled)) == 8
    moved = replace(pairs, images=ImageFeatures(pairs.images.values + 1))
    assert shared_pairs(pairs, moved) == []
    retold = replace(pairs, texts=pairs.texts[::-1])
    assert shared_pairs(pairs[:4], retold) == []
