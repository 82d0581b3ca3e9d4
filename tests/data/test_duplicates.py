"""Pairs with the same picture or text: counted, grouped, kept in one part."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from fdch.data.duplicates import (
    Duplicates,
    QueryDuplicates,
    count_duplicates,
    count_query_duplicates,
    find_learned,
    image_digests,
    number_groups,
    shared_pairs,
    side_digests,
    text_digests,
)
from fdch.data.pairs import PairedSet
from fdch.data.pictures.images import ImageFeatures, PictureArray, PictureFiles
from fdch.data.rows import objects
from fdch.data.split_drawing import SplitSizes
from fdch.data.splits import Split
from fdch.data.texts import Sentences, WordVectors
from fdch.errors import DataError, SettingError


def make(images, texts, labels=None, first=0):
    """Pairs whose pictures and texts are the same where the numbers are."""
    rows = len(images)
    given = np.ones((rows, 1)) if labels is None else np.array(labels)[:, None]
    return PairedSet(
        ids=objects([f"{row + first:03}" for row in range(rows)]),
        images=ImageFeatures(np.array(images, dtype=np.float32)[:, None]),
        texts=Sentences([None if text is None else f"text {text}" for text in texts]),
        labels=given.astype(np.uint8),
        label_names=("a",),
    )


def partition(numbers):
    """Which rows have the same number, whatever the numbers are."""
    rows = range(len(numbers))
    return {tuple(j for j in rows if numbers[j] == numbers[i]) for i in rows}


def test_what_occurs_more_than_once_is_counted():
    pairs = make([1, 1, 2, 3, 3, 3], [7, 8, 9, None, None, 7])
    images, texts = (side_digests(pairs, side) for side in ("pictures", "texts"))
    assert count_duplicates(images) == Duplicates(groups=2, pairs=5, largest=3)
    assert count_duplicates(texts) == Duplicates(groups=1, pairs=2, largest=2)
    assert count_duplicates([]) == Duplicates(0, 0, 0)


def test_queries_with_a_double_in_the_database_or_in_training_are_counted():
    #             queries | learned | rest of the database
    pairs = make([1, 1, 2, 1, 5, 2, 9], [1, 2, 3, 4, 5, 6, 1])
    query, learned, database = np.arange(3), np.arange(3, 5), np.arange(3, 7)
    found = count_query_duplicates(pairs, query, database, learned)
    assert found["pictures"] == QueryDuplicates(2, 5, 3, 2, 3)
    assert found["texts"] == QueryDuplicates(1, 2, 2, 0, 1)


def test_training_on_other_data_is_known_by_its_images_alone():
    pairs = make([1, 2, 3], [1, 1, 3])
    seen = set(side_digests(make([2], [0]), "pictures"))
    rows = np.array([0, 1]), np.array([2])
    found = count_query_duplicates(pairs, *rows, seen_images=seen)
    assert found["pictures"].queries_in_training == 1
    assert found["texts"].queries_in_training is None
    unknown = count_query_duplicates(pairs, *rows)
    assert unknown["pictures"].queries_in_training is None


def test_pairs_are_grouped_by_pictures_texts_or_either():
    pairs = make([1, 1, 2, 3, 4], [7, 8, 8, None, None])
    assert partition(number_groups(pairs, "pictures")) == {(0, 1), (2,), (3,), (4,)}
    assert partition(number_groups(pairs, "texts")) == {(0,), (1, 2), (3,), (4,)}
    assert partition(number_groups(pairs, "both")) == {(0, 1, 2), (3,), (4,)}
    unknown: Any = "text"
    with pytest.raises(SettingError, match="did you mean 'texts'"):
        number_groups(pairs, unknown)


contents = st.integers(20, 60).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 60), min_size=n, max_size=n),
        st.lists(st.integers(0, 60), min_size=n, max_size=n),
    )
)


@given(contents, st.sampled_from(["pictures", "texts", "both"]), st.integers(0, 99))
def test_no_group_is_divided_between_parts(given_contents, by, seed):
    pairs = make(*given_contents)
    try:
        split = Split.draw(pairs, seed, SplitSizes(8, 10, 2), groups=by)
    except DataError:  # groups may be too large for parts as small as these
        assume(False)
    rows = split.rows(pairs)
    part = np.zeros(len(pairs), dtype=int)
    for number, members in enumerate((rows.query, rows.train, rows.validation), 1):
        part[members] = number
    for members in partition(number_groups(pairs, by)):
        assert len(set(part[list(members)])) == 1
    assert len(rows.query) == 8 and len(rows.validation) == 2


def test_without_duplicates_grouping_changes_nothing_but_the_fingerprint():
    pairs = make(range(60), range(60))
    plain, grouped = Split.draw(pairs, 3), Split.draw(pairs, 3, groups="both")
    for name in ("query", "train", "validation"):
        assert getattr(plain, name) == getattr(grouped, name)
    assert plain.groups is None
    assert plain.fingerprint != grouped.fingerprint


def test_the_order_of_the_rows_does_not_matter_for_groups():
    pairs = make([row // 3 for row in range(60)], range(60))
    split = Split.draw(pairs, 1, groups="pictures")
    assert (
        Split.draw(pairs[::-1], 1, groups="pictures").fingerprint == split.fingerprint
    )


def test_a_group_with_a_pair_that_cannot_be_drawn_stays_in_the_database():
    pairs = make([0, 0, *range(1, 29)], range(30), labels=[0, *[1] * 29])
    split = Split.draw(pairs, 0, SplitSizes(14, 14), groups="pictures")
    assert {"000", "001"}.isdisjoint({*split.query, *split.train, *split.validation})
    message = "only 0 of 1 .* 29 of 30 pairs have .*the same picture stay together"
    with pytest.raises(DataError, match=message):
        Split.draw(pairs, 0, SplitSizes(15, 15, 1), groups="pictures")


def test_a_group_with_a_barred_pair_is_not_drawn_as_queries():
    pairs = make([row // 2 for row in range(40)], range(40))
    barred = {f"{row:03}" for row in range(0, 32, 2)}
    split = Split.draw(pairs, 0, SplitSizes(8, 20), barred, groups="pictures")
    assert set(split.query) == {f"{row:03}" for row in range(32, 40)}
    with pytest.raises(DataError, match="32 were learned from and cannot be queries"):
        Split.draw(pairs, 0, SplitSizes(9, 20), barred, groups="pictures")


def test_parts_stay_a_little_smaller_where_groups_do_not_fit():
    pairs = make([row // 5 for row in range(300)], range(300))
    split = Split.draw(pairs, 0, SplitSizes(52, 103, 11), groups="pictures")
    assert (len(split.query), len(split.train), len(split.validation)) == (50, 90, 10)


def test_a_group_too_large_for_a_part_is_reported():
    texts = [*[0] * 50, *range(1, 11)]
    pairs = make(range(60), texts)
    message = "only 10 of 20 queries can be drawn.* the same text.* left has 50"
    with pytest.raises(DataError, match=message):
        Split.draw(pairs, 0, SplitSizes(20, 30), groups="texts")
    split = Split.draw(pairs, 0, SplitSizes(5, 54, 2), groups="texts")
    assert len(split.train) == 52  # the large group is learned from


def test_the_grouping_is_saved_with_the_split(tmp_path):
    pairs = make([row // 2 for row in range(40)], range(40))
    split = Split.draw(pairs, 0, groups="pictures")
    split.save(tmp_path / "split.json")
    again = Split.read(tmp_path / "split.json", pairs)
    assert again == split and again.groups == "pictures"
    content = (tmp_path / "split.json").read_text()
    (tmp_path / "split.json").write_text(content.replace('"pictures"', '"texts"'))
    with pytest.raises(DataError, match="was changed"):
        Split.read(tmp_path / "split.json")
    (tmp_path / "split.json").write_text(content.replace('"pictures"', '["x"]'))
    with pytest.raises(DataError, match="is grouped by pictures, texts, both"):
        Split.read(tmp_path / "split.json")


def test_a_paired_set_is_split_by_groups():
    pairs = make([row // 2 for row in range(40)], range(40))
    train, query, database = pairs.split(seed=0, groups="pictures")
    one, other = (set(part.images.values[:, 0]) for part in (query, database))
    assert not one & other
    assert len(train) == 20


@pytest.fixture
def pairs(factor_pairs):
    return factor_pairs(8)


def numbered(pairs, first=1):
    """The same pairs, called by their row numbers."""
    ids = objects([str(row) for row in range(first, first + len(pairs))])
    return replace(pairs, ids=ids)


def test_features_are_distinguished_by_their_numbers():
    a, b, c = image_digests(ImageFeatures(np.array([[1.0, 2], [1, 2], [2, 1]])))
    assert a == b != c
    assert len(a) == 16


def test_pictures_are_distinguished_by_their_content(tmp_path):
    for name, content in {"a.png": b"one", "b.png": b"two", "c.png": b"one"}.items():
        (tmp_path / name).write_bytes(content)
    paths = [tmp_path / "a.png", tmp_path / "b.png", tmp_path / "c.png", None]
    a, b, c, absent = image_digests(PictureFiles(paths))
    assert a == c != b
    assert absent == b""
    pixels = np.zeros((2, 4, 4, 3), dtype=np.uint8)
    pixels[1, 0, 0, 0] = 1
    assert len(set(image_digests(PictureArray(pixels)))) == 2


def test_texts_are_distinguished_by_words_or_numbers():
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
        assert np.flatnonzero(find_learned(found, set(), known)).tolist() == [2, 3]


def test_a_name_is_known_whatever_became_of_its_pair(pairs):
    changed = replace(pairs, images=ImageFeatures(pairs.images.values + 1))
    known = set(image_digests(pairs.images[2:4]))
    ids = {pairs.ids[2], pairs.ids[3]}
    assert np.flatnonzero(find_learned(changed, ids, known)).tolist() == [2, 3]


@pytest.mark.parametrize("first", [0, 1])
def test_a_row_number_is_no_name(pairs, first):
    moved = replace(pairs, images=ImageFeatures(pairs.images.values + 1))
    other = numbered(moved, first)
    known = set(image_digests(pairs.images))
    assert not find_learned(other, {"2", "3"}, known).any()
    mixed = other[::-1]
    assert find_learned(mixed, {"2", "3"}, known).sum() == 2


def test_ids_decide_where_images_are_not_known(pairs):
    found = find_learned(numbered(pairs), {"2", "3"}, None)
    assert np.flatnonzero(found).tolist() == [1, 2]


def test_pairs_of_one_id_and_content_lie_in_both_sets(pairs):
    assert shared_pairs(pairs[:5], pairs[3:]) == ["pair 3", "pair 4"]
    assert shared_pairs(pairs[:3], pairs[3:]) == []
    assert shared_pairs(numbered(pairs[:4]), numbered(pairs[4:])) == []
    relabelled = replace(pairs, labels=1 - pairs.labels)
    assert len(shared_pairs(pairs, relabelled)) == 8
    moved = replace(pairs, images=ImageFeatures(pairs.images.values + 1))
    assert shared_pairs(pairs, moved) == []
    reversed_texts = replace(pairs, texts=pairs.texts[::-1])
    assert shared_pairs(pairs[:4], reversed_texts) == []
