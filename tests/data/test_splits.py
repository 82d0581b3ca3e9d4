"""Splits: drawn by a seed, saved, read with suspicion."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdch.data.pairs import PairedSet
from fdch.data.pictures.images import ImageFeatures, PictureFiles
from fdch.data.split_drawing import SplitSizes
from fdch.data.splits import Split
from fdch.data.texts import Sentences
from fdch.errors import DataError, MissingFile, SettingError


def objects(values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def numbered(count, **changes):
    given = {
        "ids": objects([str(number) for number in range(count)]),
        "images": ImageFeatures(np.arange(count).reshape(count, 1)),
        "texts": Sentences(["text"] * count),
        "labels": np.ones((count, 1), dtype=np.uint8),
        "label_names": ("a",),
    }
    return PairedSet(**(given | changes))


@pytest.mark.parametrize(
    ("count", "query", "train", "validation"),
    [(100, 10, 45, 5), (20_015, 2000, 4500, 500), (1000, 100, 450, 50), (4, 1, 2, 0)],
)
def test_usual_sizes_are_a_tenth_and_a_half_up_to_a_bound(
    count, query, train, validation
):
    split = Split.draw(numbered(count))
    assert len(split.query) == query
    assert len(split.train) == train
    assert len(split.validation) == validation


def test_a_benchmark_brings_its_sizes_and_given_sizes_win():
    pairs = numbered(50, benchmark=SplitSizes(query=7, train=20))
    split = Split.draw(pairs)
    assert (len(split.query), len(split.train), len(split.validation)) == (7, 18, 2)
    other = Split.draw(pairs, sizes=SplitSizes(query=3, train=10, validation=4))
    assert (len(other.query), len(other.train), len(other.validation)) == (3, 6, 4)


@given(st.integers(2, 80), st.integers(0, 2**32))
def test_parts_are_disjoint_and_the_database_is_all_but_the_queries(count, seed):
    pairs = numbered(count)
    parts = Split.draw(pairs, seed).parts(pairs)
    query, train, validation, database = (
        set(part.ids)
        for part in (parts.query, parts.train, parts.validation, parts.database)
    )
    assert query | database == set(pairs.ids) and not query & database
    assert train <= database and validation <= database
    assert not train & validation


def test_split_gives_training_with_validation_then_queries_then_database():
    pairs = numbered(100)
    train, query, database = pairs.split(seed=3)
    split = Split.draw(pairs, seed=3)
    assert set(train.ids) == {*split.train, *split.validation}
    assert set(query.ids) == set(split.query)
    assert len(database) == 90
    assert (np.diff(train.images.values[:, 0]) > 0).all()


def test_equal_seeds_draw_equal_splits_and_others_do_not():
    pairs = numbered(100)
    assert Split.draw(pairs, 1) == Split.draw(pairs, 1)
    prints = {Split.draw(pairs, seed).fingerprint for seed in range(5)}
    assert len(prints) == 5


def test_a_seed_draws_the_same_split_in_every_version():
    split = Split.draw(numbered(100), seed=3)
    assert " ".join(split.query) == "85 5 29 1 4 3 88 47 74 96"
    assert split.fingerprint == "2914aedc7c401f14915dfa35b4312907"
    barred = Split.draw(numbered(100), seed=3, barred={"1", "2", "50", "77"})
    assert barred.fingerprint == "60d6c857dd5876096c76212b93a6cad3"


def test_the_order_of_the_rows_does_not_matter():
    pairs = numbered(100)
    turned = pairs[::-1]
    assert Split.draw(turned, 1).fingerprint == Split.draw(pairs, 1).fingerprint


def test_rows_that_lack_something_are_only_in_the_database(tmp_path):
    labels = np.ones((9, 1), dtype=np.uint8)
    labels[0] = 0
    picture = tmp_path / "picture.jpg"
    picture.write_bytes(b"any")
    pairs = numbered(
        9,
        labels=labels,
        texts=Sentences(["a", None, *["a"] * 7]),
        images=PictureFiles([None if row == 2 else picture for row in range(9)]),
    )
    parts = Split.draw(pairs, sizes=SplitSizes(query=2, train=4)).parts(pairs)
    assert {*parts.query.ids, *parts.train.ids} == set("345678")
    assert {"0", "1", "2"} <= set(parts.database.ids)


def test_labels_are_not_required_where_no_pair_has_one():
    pairs = numbered(20, labels=np.zeros((20, 0), dtype=np.uint8), label_names=())
    split = Split.draw(pairs, seed=1)
    assert (len(split.query), len(split.train), len(split.validation)) == (2, 9, 1)
    assert split.query == Split.draw(numbered(20), seed=1).query


def test_pairs_without_a_label_are_learned_from_without_one():
    labels = np.ones((40, 1), dtype=np.uint8)
    labels[30:] = 0
    pairs = numbered(40, labels=labels)
    split = Split.draw(pairs, sizes=SplitSizes(query=4, train=20))
    assert set(split.unlabelled) == {str(number) for number in range(30, 40)}
    parts = split.parts(pairs)
    assert set(parts.learning.ids) == {*split.train, *split.unlabelled}
    assert set(parts.learning.ids[parts.learning.labels.any(axis=1)]) == {*split.train}


def test_labels_are_hidden_from_training_pairs_and_from_others_of_the_database():
    pairs = numbered(40)
    sizes = SplitSizes(query=4, train=20, labelled=6, unlabelled=5)
    split, whole = (
        Split.draw(pairs, sizes=sizes),
        Split.draw(pairs, sizes=SplitSizes(query=4, train=20)),
    )
    assert (split.query, split.validation) == (whole.query, whole.validation)
    assert split.train == whole.train[:6]
    assert set(whole.train[6:]) < set(split.unlabelled)
    assert len(split.unlabelled) == 12 + 5
    assert split.fingerprint != whole.fingerprint
    parts = split.parts(pairs)
    assert parts.learning.labels.sum() == 6
    assert pairs.labels.all()  # those of the data stay


def test_a_saved_split_keeps_its_pairs_without_labels(tmp_path):
    split = Split.draw(numbered(40), sizes=SplitSizes(4, 20, unlabelled=3))
    split.save(tmp_path / "split.json")
    assert Split.read(tmp_path / "split.json") == split


def test_a_split_of_before_there_were_pairs_without_labels_is_read(tmp_path):
    split = Split.draw(numbered(40))
    split.save(tmp_path / "split.json")
    content = json.loads((tmp_path / "split.json").read_text())
    del content["unlabelled"]
    (tmp_path / "split.json").write_text(json.dumps(content))
    assert Split.read(tmp_path / "split.json") == split


def test_more_labels_than_training_pairs_are_refused():
    for wrong in ({"labelled": 19}, {"labelled": -1}, {"unlabelled": -1}):
        with pytest.raises(SettingError, match="keep their labels"):
            SplitSizes(query=4, train=20, **wrong)


def test_too_few_pairs_are_counted_out():
    pairs = numbered(10, texts=Sentences([None, *["a"] * 9]))
    message = "only 7 of 9 training pairs can be drawn: 9 of 10 pairs have an image"
    with pytest.raises(DataError, match=message):
        Split.draw(pairs, sizes=SplitSizes(query=2, train=10))
    with pytest.raises(DataError, match=r"0 of 1 training pairs.* 1 of 1 pairs"):
        Split.draw(numbered(1))


def test_senseless_sizes_and_seeds_are_refused():
    for sizes in ((-1, 5, 0), (1, 0, 0), (1, 5, 5), (1, 5, -1)):
        with pytest.raises(SettingError, match="a split needs"):
            SplitSizes(*sizes)
    with pytest.raises(SettingError, match="got -1"):
        Split.draw(numbered(10), seed=-1)
    for seed in ("a", None, 1.5):
        with pytest.raises(SettingError, match="a seed is a whole number"):
            numbered(10).split(seed=seed)
    wrong: Any = {"query": 5, "train": 20}
    with pytest.raises(SettingError, match=r"SplitSizes\(query=.*got {'query': 5,"):
        Split.draw(numbered(40), sizes=wrong)


def test_pairs_are_split_by_numbers_of_queries_and_training_pairs():
    train, query, database = numbered(40).split(query=5, train=20)
    assert (len(train), len(query), len(database)) == (20, 5, 35)
    with pytest.raises(DataError, match="give both query and train"):
        numbered(40).split(query=5)


def test_a_saved_split_reads_back_equal(tmp_path):
    pairs = numbered(40, ids=objects([f"é{number}" for number in range(40)]))
    split = Split.draw(pairs, seed=5)
    split.save(tmp_path / "split.json")
    assert Split.read(tmp_path / "split.json", pairs) == split
    assert [path.name for path in tmp_path.iterdir()] == ["split.json"]


def test_a_split_of_other_data_is_refused_unless_unchecked(tmp_path):
    pairs = numbered(40)
    other = numbered(40, texts=Sentences(["else"] * 40))
    split = Split.draw(pairs)
    split.save(tmp_path / "split.json")
    with pytest.raises(DataError, match=f"{pairs.fingerprint}.*{other.fingerprint}"):
        Split.read(tmp_path / "split.json", other)
    with pytest.raises(DataError, match=other.fingerprint):
        split.parts(other)
    assert Split.read(tmp_path / "split.json", other, check=False) == split
    assert len(split.parts(other, check=False).database) == 36


def test_ids_that_are_not_there_are_named_even_without_the_check():
    split = Split(0, "", query=("1", "x", "y"), train=("2",), validation=("z", "w"))
    with pytest.raises(DataError, match=r"4 ids.*'x', 'y', 'z' and 1 more"):
        split.parts(numbered(5), check=False)


def test_parts_that_overlap_are_refused():
    with pytest.raises(DataError, match=r"'2'.*must not overlap"):
        Split(0, "", query=("1", "2"), train=("2",), validation=())
    with pytest.raises(DataError, match="'1'"):
        Split(0, "", query=("1", "1"), train=("2",), validation=())


def test_barred_pairs_are_not_drawn_as_queries():
    pairs = numbered(40)
    plain = Split.draw(pairs, seed=3)
    assert Split.draw(pairs, seed=3, barred={"elsewhere"}) == plain
    barred = {*plain.query[:2], "7"}
    found = Split.draw(pairs, seed=3, barred=barred)
    assert not barred & set(found.query)
    assert set(plain.query) - barred <= set(found.query)
    assert len(found.query) == len(plain.query) == 4
    few = {str(number) for number in range(3, 40)}
    with pytest.raises(DataError, match=r"only 3 of 4 queries.* 37 were learned from"):
        Split.draw(pairs, seed=3, barred=few)


def document(**changes):
    split = Split(0, "data", ("1",), ("2",), ("3",))
    whole = {"format": 1, "fingerprint": split.fingerprint, "seed": 0, "data": "data"}
    return whole | {"query": ["1"], "train": ["2"], "validation": ["3"]} | changes


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "is not a split.*Give the split.json of a run"),
        ("{", "is not a split.*Give the split.json of a run"),
        ("[" * 100_000, "is not a split"),
        (json.dumps(document(format=2)), "is not a split.*reads format 1"),
        (json.dumps(document(format="1")), "is not a split"),
        (json.dumps(document(seed="0")), "is not a split: its seed"),
        (json.dumps(document(data=None)), "its data is missing"),
        (json.dumps(document(query="1")), "lists of texts"),
        (json.dumps(document(train=[2])), "lists of texts"),
        (json.dumps(document(train=["1"])), "is not a split.*overlap"),
        (json.dumps(document(train=["4"])), "was changed"),
        ('{"format": 1}', "its seed or its data is missing"),
    ],
)
def test_a_file_that_is_no_whole_split_is_refused(tmp_path, content, message):
    path = tmp_path / "split.json"
    path.write_text(content)
    with pytest.raises(DataError, match=message) as caught:
        Split.read(path)
    assert str(caught.value).endswith("or draw a new split.")


def test_a_missing_split_is_a_missing_file(tmp_path):
    path = tmp_path / "none.json"
    with pytest.raises(MissingFile, match=r"none\.json"):
        Split.read(path)
    with pytest.raises(DataError, match="it is a folder; name a file in it"):
        Split.read(tmp_path)
    path.write_text(json.dumps(document()))
    assert Split.read(path).train == ("2",)
