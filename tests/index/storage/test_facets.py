"""Counts by value under filters, against a plain loop."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.index.storage.test_filters import fulfils
from tests.index.store_samples import random_codes, sample_items

from fdch.codes import hamming_distances
from fdch.errors import DataError
from fdch.index.storage.catalogue import facets
from fdch.index.storage.folder import CodeFolder
from fdch.index.store import LABEL, Condition, WordQuery

COUNT = 60


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    path = tmp_path_factory.mktemp("facets") / "index"
    with CodeFolder.create(path, 32, "model") as folder:
        folder.add(sample_items(COUNT + 20), random_codes(COUNT + 20))
        folder.remove([f"item {i}" for i in range(COUNT, COUNT + 20)])
        yield folder


def count_plainly(items, codes, where, near, words):
    """Count with loops, as the promise of `Facets` says."""
    kept = items
    if near is not None:
        distances = hamming_distances(near[0], codes)[0]
        kept = [
            item for item, far in zip(items, distances, strict=True) if far <= near[1]
        ]
    if words is not None:
        held = {item.id: item.text.split() for item in items}
        sizes = {word: sum(word in held[item.id] for item in items) for word in words}
        rare = [word for word in words if 3 * sizes[word] <= len(items)]
        kept = [item for item in kept if any(w in held[item.id] for w in rare or words)]
    types = {"price": "number", "year": "number"}

    def fulfil(item, column):
        return all(
            fulfils(item, each, types.get(each.column, "text"))
            for each in where
            if column == LABEL or each.column != column
        )

    counts = {}
    for column in (LABEL, "price", "colour", "year"):
        counted = Counter[str]()
        for item in kept:
            if fulfil(item, column):
                cells = item.labels if column == LABEL else [item.columns[column]]
                counted.update(map(str, cells))
        counts[column] = counted
    return sum(fulfil(item, LABEL) for item in kept), counts


conditions = st.lists(
    st.sampled_from(
        [
            Condition("colour", "=", ("red",)),
            Condition("colour", "in", ("red", "blue")),
            Condition("price", "<", ("12",)),
            Condition("year", "!=", ("2001",)),
            Condition("label", "=", ("dog",)),
            Condition("label", "!=", ("pet",)),
            Condition("colour", "^=", ("gr",)),
            Condition("colour", "=", ("pink",)),
        ]
    ),
    max_size=3,
)


some_words = st.lists(st.sampled_from(["text", "7", "12", "30", "61", "none"]))


@given(
    conditions,
    st.none() | st.integers(0, 32),
    st.integers(0, 5),
    st.none() | some_words.map(lambda words: list(dict.fromkeys(words))),
)
def test_facets_are_those_of_a_plain_loop(shop, where, radius, seed, words):
    near = None if radius is None else (random_codes(1, seed=seed), radius)
    query = None if words is None else WordQuery(tuple(words), 0.0)
    found = shop.facets(where, most=100, near=near, words=query)
    codes = random_codes(COUNT + 20)[:COUNT]
    items, counts = count_plainly(sample_items(COUNT), codes, where, near, words)
    assert found.items == items
    assert {
        name: {str(v): n for v, n in counted} for name, counted in found.columns.items()
    } == counts
    for counted in found.columns.values():
        numbers = [count for _, count in counted]
        assert numbers == sorted(numbers, reverse=True)


def test_the_most_frequent_values_come_first(shop):
    found = shop.facets(most=2)
    assert found.columns["label"] == [("cat", 40), ("dog", 20)]
    assert found.columns["year"] == [(2000, 12), (2001, 12)]


def test_counts_follow_changes(tmp_path):
    with CodeFolder.create(tmp_path / "index", 32, "model") as folder:
        folder.add(sample_items(6), random_codes(6))
        assert folder.facets().columns["colour"] == [
            ("blue", 2),
            ("green", 2),
            ("red", 2),
        ]
        folder.remove(["item 0", "item 1"])
        assert folder.facets().columns["colour"][0] == ("blue", 2)
        assert folder.facets().items == 4
        folder.compact()
        assert folder.facets([Condition("colour", "=", ("red",))]).items == 1


def test_a_column_of_very_many_values_is_named(shop, monkeypatch):
    monkeypatch.setattr(facets, "MAX_VALUES", 10)
    with CodeFolder.open(shop.path) as fresh:
        found = fresh.facets()
    assert found.uncounted == {"price": "it has more than 10 values."}
    assert "price" not in found.columns
    assert len(found.columns["year"]) == 5


def test_an_unknown_column_is_refused(shop):
    with pytest.raises(DataError, match="did you mean 'colour'"):
        shop.facets([Condition("color", "=", ("red",))])
