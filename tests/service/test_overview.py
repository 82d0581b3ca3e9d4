"""How the codes of an index lie, estimated from a sample."""

import json
from math import comb

import numpy as np
import pytest

from fdch.codes import Codes, binarize
from fdch.index.opening import create_store
from fdch.index.storage.folder import CodeFolder
from fdch.index.store import Item
from fdch.service.index import overview as overviews
from fdch.service.index.overview import colour_items, group_codes, map_codes, overview

BITS = 16


def two_groups(items=60):
    """Codes around two opposite ones; labels and ids say which."""
    rng = np.random.default_rng(0)
    which = np.arange(items) % 3 == 0
    signs = np.where(which[:, None], 1, -1) * np.ones((1, BITS))
    signs[np.arange(items), rng.integers(BITS, size=items)] *= -1
    labels = ["night" if each else "day" for each in which]
    return [
        Item(f"item {row}", text=f"text {row}", labels=(label, "all"), kind="text")
        for row, label in enumerate(labels)
    ], binarize(signs)


@pytest.fixture(
    params=["folder", pytest.param("milvus", marks=pytest.mark.integration)]
)
def store(request, tmp_path):
    name = str(tmp_path / "index")
    if request.param == "milvus":
        name = request.getfixturevalue("milvus_url")
    made = create_store(name, BITS, "a model")
    yield made
    made.close()


def test_an_empty_index_has_nothing_to_show(store):
    found = overview(store)
    assert found["items"] == found["sampled"] == found["distinct"] == 0
    assert found["groups"] == found["points"] == found["distances"] == []


def test_groups_are_found_with_their_labels_largest_first(store, monkeypatch):
    monkeypatch.setattr(overviews, "GROUPS", 2)
    store.add(*two_groups())
    found = overview(store)
    assert [group["size"] for group in found["groups"]] == [40, 20]
    labels = [set(group["labels"]) for group in found["groups"]]
    assert labels == [{"all", "day"}, {"all", "night"}]
    assert found["groups"][0]["text"].startswith("text ")
    assert found["groups"][0]["has_picture"] is False
    assert {point[2] for point in found["points"]} == {0, 1}


def test_the_item_of_a_group_has_the_labels_that_it_is_shown_with(store, monkeypatch):
    monkeypatch.setattr(overviews, "GROUPS", 1)
    labels = [("watch",), *[("bag",)] * 4, *[("watch",)] * 3]
    codes = binarize(np.ones((8, BITS)) - 2 * np.eye(8, BITS, -1))  # row 0: the middle
    store.add(
        [Item(f"item {row}", labels=own) for row, own in enumerate(labels)], codes
    )
    [group] = overview(store)["groups"]
    assert {*group["labels"]} == {"bag", "watch"}
    [shown] = store.items([group["id"]])
    assert list(shown.labels) == group["own_labels"] == group["labels"][:1]


def test_an_item_with_a_wrong_label_does_not_stand_for_its_group(store, monkeypatch):
    monkeypatch.setattr(overviews, "GROUPS", 1)
    between = np.repeat([1, -1], BITS // 2)  # nearest to the middle of all
    signs = [*[np.ones(BITS)] * 4, between, *[-np.ones(BITS)] * 4]
    labels = [*["bag"] * 5, *["watch"] * 4]
    items = [Item(f"item {row}", labels=(own,)) for row, own in enumerate(labels)]
    store.add(items, binarize(np.array(signs)))
    [group] = overview(store)["groups"]
    assert group["labels"][0] == "bag" and group["id"] != "item 4"


def test_the_item_of_a_mixed_group_is_shown_with_its_own_label(store, monkeypatch):
    monkeypatch.setattr(overviews, "GROUPS", 1)
    items = [Item(f"item {row}", labels=(f"label {row}",)) for row in range(5)]
    store.add(items, binarize(np.ones((5, BITS))))
    [group] = overview(store)["groups"]
    [shown] = store.items([group["id"]])
    assert group["labels"] == [] and group["own_labels"] == list(shown.labels)


def test_points_have_names_and_the_colour_of_their_rarest_label(store):
    items, codes = two_groups()
    store.add([*items[:-1], Item("bare")], codes)
    found = overview(store)
    assert found["labels"] == ["all", "day", "night"]
    assert len(found["points"]) == len(found["names"]) == 60
    by_name = dict(zip(found["names"], found["points"], strict=True))
    for item in items[:-1]:
        assert found["labels"][by_name[item.text][3]] == item.labels[0]
    assert by_name["bare"][3] == -1


def test_a_few_frequent_labels_colour_points():
    items = [
        Item(str(row), labels=tuple(f"label {at}" for at in range(row + 1)))
        for row in range(20)
    ]
    labels, colours = colour_items([*items, None])
    assert labels == [f"label {at}" for at in range(8)]
    assert colours == [*range(8), *[7] * 12, -1]


def test_all_is_returned_as_plain_values_that_add_up(store):
    items, codes = two_groups()
    store.add(items, codes)
    found = json.loads(json.dumps(overview(store)))
    assert found["items"] == found["sampled"] == 60
    ones = (codes.signs() == 1).mean(axis=0)
    assert found["balance"] == pytest.approx(ones.tolist(), abs=1e-6)
    for name in ("distances", "distances_alike", "chance"):
        assert len(found[name]) == BITS + 1
        assert sum(found[name]) == pytest.approx(1, abs=1e-4)
    assert found["chance"][8] == pytest.approx(comb(16, 8) / 2**16, abs=1e-6)
    assert found["distances_unlike"] == []  # all share the label "all"
    assert found["largest"] >= 2 and found["distinct"] < 60


def test_like_items_are_nearer_than_unlike_ones(store):
    items, codes = two_groups()
    bare = [Item(item.id, labels=item.labels[:1]) for item in items]
    store.add(bare, codes)
    found = overview(store)
    mean = {
        name: sum(distance * share for distance, share in enumerate(found[name]))
        for name in ("distances_alike", "distances", "distances_unlike")
    }
    assert mean["distances_alike"] < mean["distances"] < mean["distances_unlike"]


def test_items_without_labels_have_distances_all_the_same(store):
    store.add([Item("a"), Item("b")], binarize(np.eye(2, BITS) - 0.5))
    found = overview(store)
    assert found["distances"][2] == 1
    assert found["distances_alike"] == found["distances_unlike"] == []


def test_a_large_index_is_described_by_a_sample(tmp_path, monkeypatch):
    monkeypatch.setattr(overviews, "SAMPLE", 50)
    rng = np.random.default_rng(0)
    codes = Codes(rng.integers(256, size=(3000, 2), dtype=np.uint8), BITS)
    with CodeFolder.create(tmp_path / "index", BITS, "a model") as folder:
        folder.add_numbered(codes)
        found = overview(folder)
    assert found["items"] == 3000 and found["sampled"] == 50
    assert sum(group["size"] for group in found["groups"]) == 50
    assert len(found["points"]) == 50


def test_equal_codes_make_one_group_and_lie_in_one_place():
    codes = binarize(np.ones((5, BITS)))
    owners, centres = group_codes(codes, 4, np.random.default_rng(0))
    assert owners.tolist() == [0] * 5 and len(centres) == 1
    assert np.ptp(map_codes(codes), axis=0).tolist() == [0, 0]


def test_opposite_codes_lie_at_opposite_ends():
    plane = map_codes(two_groups()[1])
    assert np.abs(plane).max(axis=0) == pytest.approx([1, 1], abs=1e-5)
    is_night = np.arange(60) % 3 == 0
    sides = np.sign(plane[:, 0])
    assert len(set(sides[is_night])) == len(set(sides[~is_night])) == 1
    assert sides[is_night][0] != sides[~is_night][0]


def test_codes_of_one_bit_can_be_laid_out_too():
    assert map_codes(binarize([[1.0], [-1.0]])).shape == (2, 2)
