"""Train, index and search: the same on every kind of store."""

import json
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from fdch import Index, Searcher
from fdch.codes import Codes, binarize, hamming_distances, weighted_distances
from fdch.data.pictures.images import PictureArray, PictureFiles
from fdch.data.texts import Sentences
from fdch.errors import (
    BrokenPicture,
    DataError,
    ModelMismatch,
    SettingError,
    UnknownWords,
)
from fdch.index.milvus import MilvusStore
from fdch.index.store import Condition
from fdch.retrieval import searcher as searching
from fdch.retrieval.adding import encode_gallery
from fdch.retrieval.queries import encode_image_queries, encode_text_queries
from fdch.runs.encoding import encode_pairs


def unified(scenes):
    codes = encode_pairs(scenes.run.method, scenes.pairs).unified
    assert codes is not None
    return codes


def nearest(scenes, query: Codes, rows=None):
    """The rows by distance, then by insertion."""
    distances = hamming_distances(query, unified(scenes))[0]
    order = np.argsort(distances, kind="stable")
    chosen = [row for row in order if rows is None or rows[row]]
    return [(scenes.pairs.ids[row], int(distances[row])) for row in chosen]


def labels_of(pairs, row):
    return set(np.array(pairs.label_names)[pairs.labels[row] == 1])


def pairs_of(found):
    return [(result.id, result.distance) for result in found]


def only(pairs, row, *, image=True, text=True, **changes):
    """One row, perhaps without a side."""
    one = pairs[[row]]
    return replace(
        one,
        images=one.images if image else PictureFiles([None]),
        texts=one.texts if text else Sentences([None]),
        **changes,
    )


def test_words_find_the_nearest_pairs(searcher, scenes):
    text = scenes.pairs.texts.values[7]
    found = searcher.by_text(text, k=25, match="codes")
    query = encode_text_queries(scenes.run.method, [text]).codes
    assert pairs_of(found) == nearest(scenes, query)[:25]
    first = found[0]
    row = scenes.pairs.ids.tolist().index(first.id)
    assert first.text == scenes.pairs.texts.values[row]
    assert first.image == str(scenes.pairs.images.paths[row])
    assert first.columns["scene"] == scenes.pairs.columns["scene"][row]
    assert set(first.labels) == labels_of(scenes.pairs, row)
    assert found.scanned == len(scenes.pairs)
    assert found.milliseconds > 0


@pytest.mark.parametrize("kind", ["text", "image"])
def test_the_time_of_a_search_begins_after_loading(kind, searcher, scenes, monkeypatch):
    events = []

    def load(index):
        events.append("model")
        return index.run.method

    def read_clock():
        events.append("clock")
        return 0.0

    monkeypatch.setattr(Index, "method", property(load))
    monkeypatch.setattr(searching, "time", SimpleNamespace(perf_counter=read_clock))
    fresh = Searcher(searcher.index)
    if kind == "text":
        fresh.by_text("beach")
    else:
        fresh.by_image(scenes.pairs.images.paths[0])
        assert fresh._has_image_network
    assert events == ["model", "clock", "clock"]


def test_a_store_that_cannot_match_words_says_so(searcher):
    found = searcher.by_text("a boat", facets=True)
    obstacle = searcher.index.store.words_obstacle()
    note = f"codes alone were compared: {obstacle}"
    assert found.notes == ((note,) if obstacle else ())
    assert found.query["match"] == ("codes" if obstacle else "both")
    assert bool(obstacle) == isinstance(searcher.index.store, MilvusStore)
    assert found.facets.items == len(searcher.index)


def test_warming_leaves_nothing_in_the_cache(searcher, tmp_path, monkeypatch):
    monkeypatch.setenv("FDCH_CACHE", str(tmp_path))
    searcher.warm()
    assert not list(tmp_path.rglob("*"))


def test_what_is_found_is_mostly_right(searcher, scenes):
    texts = scenes.pairs.texts.values[:40].tolist()
    labels = scenes.pairs.labels.astype(int)
    shares = labels @ labels.T > 0
    right = [
        bool(set(each.labels) & labels_of(scenes.pairs, row))
        for row, found in enumerate(searcher.by_texts(texts, k=10))
        for each in found
    ]
    assert np.mean(right) > shares.mean() + 0.2


def test_a_picture_is_found_by_path_bytes_and_pixels(searcher, scenes):
    path = scenes.pairs.images.paths[3]
    by_path = searcher.by_image(path, k=5)
    query = encode_image_queries(scenes.run.method, [path]).codes
    assert pairs_of(by_path) == nearest(scenes, query)[:5]
    pixels = np.asarray(scenes.pairs.images[[3]].decode(0, 64))
    assert pairs_of(searcher.by_image(path.read_bytes(), k=5)) == pairs_of(by_path)
    mixed = searcher.by_images([str(path), path.read_bytes(), pixels, path], k=5)
    assert [pairs_of(found) for found in mixed[:2]] == [pairs_of(by_path)] * 2
    assert len(mixed[2]) == 5
    assert pairs_of(mixed[3]) == pairs_of(by_path)
    assert by_path.query["image"] == str(path)


def test_more_like_an_item_leaves_the_item_out(searcher, scenes):
    row = 11
    name = scenes.pairs.ids[row]
    expected = [
        each for each in nearest(scenes, unified(scenes)[[row]]) if each[0] != name
    ]
    assert pairs_of(searcher.by_id(name, k=8)) == expected[:8]
    both = searcher.by_ids([name, scenes.pairs.ids[0]], k=3)
    assert [found.query["id"] for found in both] == [name, scenes.pairs.ids[0]]
    with pytest.raises(DataError, match="nobody"):
        searcher.by_id("nobody")


def test_no_queries_have_no_results(searcher):
    assert searcher.by_texts([]) == searcher.by_images([]) == searcher.by_ids([]) == []


def test_a_radius_gives_all_that_are_near(searcher, scenes):
    text = scenes.pairs.texts.values[0]
    ranked = nearest(scenes, encode_text_queries(scenes.run.method, [text]).codes)
    radius = ranked[30][1]
    expected = [each for each in ranked if each[1] <= radius]

    def find(**params):
        return pairs_of(searcher.by_text(text, radius=radius, match="codes", **params))

    assert find() == expected
    assert find(k=None) == expected
    assert find(k=4) == expected[:4]
    fused = searcher.by_text(text, radius=radius)
    assert sorted(pairs_of(fused)) == sorted(expected)


@pytest.mark.parametrize(
    ("where", "holds"),
    [
        (["scene=beach"], lambda p: p.columns["scene"] == "beach"),
        (
            ["scene in beach,street"],
            lambda p: np.isin(p.columns["scene"], ["beach", "street"]),
        ),
        (
            ["objects>=2", "objects<4"],
            lambda p: (
                (p.columns["objects"].astype(int) >= 2)
                & (p.columns["objects"].astype(int) < 4)
            ),
        ),
        (["label=car"], lambda p: p.labels[:, p.label_names.index("car")] == 1),
        (
            [Condition("scene", "!=", ("beach",))],
            lambda p: p.columns["scene"] != "beach",
        ),
    ],
)
def test_conditions_hold_before_results_are_counted(searcher, scenes, where, holds):
    text = scenes.pairs.texts.values[5]
    rows = holds(scenes.pairs)
    assert 5 < rows.sum() < len(rows)
    query = encode_text_queries(scenes.run.method, [text]).codes
    found = searcher.by_text(text, k=12, where=where, match="codes")
    assert pairs_of(found) == nearest(scenes, query, rows)[:12]


def test_probabilities_are_those_of_the_calibration(searcher, scenes):
    text = scenes.pairs.texts.values[9]
    found = searcher.by_text(text, k=50, match="codes")
    facts = encode_text_queries(scenes.run.method, [text]).facts(0)
    said = [each.probability for each in found]
    assert said == scenes.run.calibration.probabilities(
        facts, ["pair"] * 50, [d for _, d in pairs_of(found)], len(scenes.pairs)
    )
    assert said == sorted(said, reverse=True)


def test_a_least_probability_cuts_the_list(searcher, scenes):
    text = scenes.pairs.texts.values[9]
    whole = searcher.by_text(text, k=len(scenes.pairs))
    for least in (0.3, 0.5, 0.7, 1.0):
        found = searcher.by_text(text, k=40, min_probability=least)
        assert pairs_of(found) == pairs_of(
            [r for r in whole if r.probability >= least][:40]
        )
    assert len(searcher.by_text(text, min_probability=1.0)) == 0


def test_re_ranking_orders_candidates_by_the_sure_bits(searcher, scenes):
    text = scenes.pairs.texts.values[2]
    queries = encode_text_queries(scenes.run.method, [text])
    ids = [name for name, _ in nearest(scenes, queries.codes)[:100]]
    rows = [scenes.pairs.ids.tolist().index(name) for name in ids]
    assert queries.outputs is not None
    weighted = weighted_distances(queries.outputs, unified(scenes)[rows])[0]
    order = np.argsort(weighted, kind="stable")
    found = searcher.by_text(text, k=10, rerank=True, match="codes")
    assert found.ids == [ids[place] for place in order[:10]]
    said = scenes.run.calibration.probabilities(
        queries.facts(0),
        ["pair"] * 10,
        weighted[order[:10]],
        len(scenes.pairs),
        "weighted",
    )
    assert [each.probability for each in found] == said
    least = found[4].probability
    fewer = searcher.by_text(
        text, k=10, rerank=True, min_probability=least, match="codes"
    )
    assert fewer.ids == [each.id for each in found if each.probability >= least]


def test_items_are_removed_and_replaced(place, scenes):
    with Index.create(place, scenes.run) as index:
        index.add(scenes.pairs)
        _remove_and_replace(index, Searcher(index), scenes)


def _remove_and_replace(index, searcher, scenes):
    name = scenes.pairs.ids[4]
    assert index.remove([name, "nobody"]) == ["nobody"]
    assert len(index) == len(scenes.pairs) - 1
    found = searcher.by_text(scenes.pairs.texts.values[4], k=len(scenes.pairs))
    assert name not in found.ids
    ids = np.array([scenes.pairs.ids[0]], dtype=object)
    added = index.add(only(scenes.pairs, 8, ids=ids))
    assert (added.new, added.replaced, added.joined) == (0, 1, 0)
    item = index.store.items([ids[0]])[0]
    assert item is not None
    assert item.text == scenes.pairs.texts.values[8]
    assert index.store.fetch(ids.tolist()).codes == unified(scenes)[[8]]


def test_halves_have_codes_of_their_own_until_they_meet(place, scenes):
    codes = encode_pairs(scenes.run.method, scenes.pairs)
    with Index.create(place, scenes.run) as index:
        added = index.add(only(scenes.pairs, 0, image=False))
        assert (added.new, added.joined) == (1, 0)
        name = str(scenes.pairs.ids[0])
        assert index.store.fetch([name]).codes == codes.text[[0]]
        none = scenes.pairs.labels[[0]] * 0
        second = index.add(only(scenes.pairs, 0, text=False, labels=none, columns={}))
        assert (second.new, second.replaced, second.joined) == (0, 1, 1)
        assert index.store.fetch([name]).codes == unified(scenes)[[0]]
        item = index.store.items([name])[0]
        assert item is not None
        assert (item.kind, item.text) == ("pair", scenes.pairs.texts.values[0])
        assert item.image == str(scenes.pairs.images.paths[0])
        assert item.labels
        assert item.columns["scene"] == scenes.pairs.columns["scene"][0]
        index.add(only(scenes.pairs, 1, text=False))
        assert index.store.fetch([str(scenes.pairs.ids[1])]).codes == codes.image[[1]]
        kinds = [
            item.kind
            for item in index.store.items(scenes.pairs.ids[:2].tolist())
            if item
        ]
        assert kinds == ["pair", "image"]


def test_halves_added_by_two_threads_are_joined(place, scenes, monkeypatch):
    """None of the two is lost, though both read before the other has written."""
    name = str(scenes.pairs.ids[0])
    halves = [only(scenes.pairs, 0, image=False), only(scenes.pairs, 0, text=False)]
    both = threading.Barrier(2, timeout=2)

    def waiting(*args):
        with suppress(threading.BrokenBarrierError):  # the other waits for its turn
            both.wait()
        return encode_gallery(*args)

    with Index.create(place, scenes.run) as index, ThreadPoolExecutor(2) as threads:
        monkeypatch.setattr("fdch.retrieval.adding.encode_gallery", waiting)
        added = list(threads.map(index.add, halves))
        assert sorted(each.joined for each in added) == [0, 1]
        item = index.store.items([name])[0]
        assert item is not None
        assert item.kind == "pair"
        assert item.text
        assert item.image


def test_a_half_that_replaces_the_same_half_keeps_nothing_of_it(place, scenes):
    with Index.create(place, scenes.run) as index:
        first = only(scenes.pairs, 0, image=False)
        index.add(first)
        none = first.labels * 0
        added = index.add(replace(first, labels=none, columns={}))
        assert (added.replaced, added.joined) == (1, 0)
        item = index.store.items([str(first.ids[0])])[0]
        assert item is not None
        assert (item.labels, dict(item.columns)) == ((), {})


def test_no_half_takes_the_place_of_a_pair_whose_picture_is_gone(
    place, scenes, tmp_path
):
    moved = tmp_path / "moved.png"
    shutil.copyfile(scenes.pairs.images.paths[0], moved)
    first = replace(only(scenes.pairs, 0), images=PictureFiles([moved]))
    pathless = replace(
        only(scenes.pairs, 1), images=PictureArray(np.zeros((1, 8, 8, 3), np.uint8))
    )
    ids = [str(name) for name in scenes.pairs.ids[:3]]
    with Index.create(place, scenes.run) as index:
        index.add(first)
        index.add(pathless)
        before = index.store.items(ids[:2]), index.store.fetch(ids[:2]).codes
        moved.unlink()
        texts = replace(scenes.pairs[:3], images=PictureFiles([None] * 3))
        for row, words in ((0, "no such file"), (1, "cannot be read again")):
            with pytest.raises(BrokenPicture, match=words) as refused:
                index.add(texts[[row]])
            assert ids[row] in str(refused.value)
        added = index.add(texts, broken="skip")
        assert (added.new, added.replaced) == (1, 0)
        assert {row.name for row in added.skipped} == set(ids[:2])
        assert (index.store.items(ids[:2]), index.store.fetch(ids[:2]).codes) == before
        index.remove(ids[:1])
        index.add(texts[[0]])
        item = index.store.items(ids[:1])[0]
        assert item is not None
        assert item.kind == "text"


def test_kinds_of_items_have_their_own_probabilities(place, scenes):
    """Improbable texts near by do not hide probable pairs farther away."""
    query = scenes.pairs.texts.values[0]
    with Index.create(place, scenes.run) as index:
        texts = replace(scenes.pairs, images=PictureFiles([None] * len(scenes.pairs)))
        text_ids = np.array(
            [f"text of {name}" for name in scenes.pairs.ids], dtype=object
        )
        index.add(replace(texts, ids=text_ids))
        index.add(scenes.pairs)
        searcher = Searcher(index)
        whole = searcher.by_text(query, k=len(index))
        for least in (0.4, 0.6, 0.8):
            expected = [r for r in whole if (r.probability or 0) >= least][:7]
            found = searcher.by_text(query, k=7, min_probability=least)
            assert pairs_of(found) == pairs_of(expected)
            names = [text_ids[0], scenes.pairs.ids[0]]  # queries of two kinds at once
            several = searcher.by_ids(names, k=7, min_probability=least)
            for name, found in zip(names, several, strict=True):
                whole_of = searcher.by_id(name, k=len(index))
                near = [r for r in whole_of if (r.probability or 0) >= least][:7]
                assert pairs_of(found) == pairs_of(near)


def test_texts_without_a_known_word(place, scenes):
    with Index.create(place, scenes.run) as index:
        odd = replace(
            scenes.pairs[[0, 1]],
            texts=Sentences(["qwertz", "qwertz"]),
            images=PictureFiles([scenes.pairs.images.paths[0], None]),
        )
        with pytest.raises(UnknownWords, match="Some that it knows are"):
            index.add(odd)
        assert len(index) == 0
        added = index.add(odd, broken="skip")
        assert added.new == 1
        assert [row.name for row in added.skipped] == [scenes.pairs.ids[1]]
        item = index.store.items([str(scenes.pairs.ids[0])])[0]
        assert item is not None
        assert item.kind == "image"
        searcher = Searcher(index)
        with pytest.raises(UnknownWords, match="Near ones are"):
            searcher.by_text("beech")
        partly = searcher.by_text("beach asdfgh")
        assert partly.query["unknown_words"] == ["asdfgh"]
        # a text of the index has the other word, where texts are matched
        partly = searcher.by_text("beach qwertz")
        is_matched = partly.query["match"] == "both"
        assert partly.query["unknown_words"] == ([] if is_matched else ["qwertz"])


def test_codes_of_another_model_are_refused(searcher, scenes):
    index = searcher.index
    codes = encode_pairs(scenes.other.method, scenes.pairs).image
    ids = scenes.pairs.ids.tolist()
    with pytest.raises(ModelMismatch) as refused:
        index.add_codes(ids, codes, model=scenes.other.fingerprint)
    assert scenes.other.fingerprint in str(refused.value)
    assert scenes.run.fingerprint in str(refused.value)
    with pytest.raises(DataError, match="ids were given"):
        index.add_codes(ids[:3], codes, model=scenes.run.fingerprint)


def test_bare_codes_are_found_without_a_probability(place, scenes):
    codes = unified(scenes)
    with Index.create(place, scenes.run) as index:
        ids = [f"code {row}" for row in range(len(codes))]
        assert index.add_codes(ids, codes, model=scenes.run.fingerprint).new == len(ids)
        found = Searcher(index).by_id("code 3", k=5)
        assert found[0].probability is None
        assert "code 3" not in found.ids
        with pytest.raises(SettingError, match="only a code is known"):
            Searcher(index).by_id("code 3", min_probability=0.5)
        text = scenes.pairs.texts.values[0]
        assert len(Searcher(index).by_text(text, min_probability=0.5)) == 0


def test_an_index_is_opened_again_with_its_model(place, scenes):
    text = scenes.pairs.texts.values[0]
    with Index.create(place, scenes.run) as index:
        index.add(scenes.pairs)
        before = pairs_of(Searcher(index).by_text(text))
    with Index.open(place) as index:
        assert index.fingerprint == scenes.run.fingerprint
        assert index.bits == scenes.run.method.bits
        assert pairs_of(Searcher(index).by_text(text)) == before
    assert pairs_of(Searcher(place).by_text(text)) == before


def test_a_method_that_was_never_saved_can_be_indexed(place, scenes):
    with Index.create(place, scenes.run.method) as index:
        assert index.fingerprint == scenes.run.fingerprint
        index.add(scenes.pairs[:20])
        searcher = Searcher(index)
        found = searcher.by_text(scenes.pairs.texts.values[0])
        assert found[0].probability is None
        with pytest.raises(SettingError, match="how probable"):
            searcher.by_text("beach", min_probability=0.5)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"k": 0}, "1 or more"),
        ({"radius": -1}, "0 or more"),
        ({"min_probability": 1.5}, "from 0 to 1"),
        ({"where": ["nonsense"]}, "not a condition"),
        ({"where": {"scene": "beach"}}, "where must be a condition"),
        ({"where": [("scene", "=", "beach")]}, "where must be a condition"),
        ({"where": 5}, "where must be a condition"),
        ({"k": "5"}, "k must be a whole number; got '5'"),
        ({"k": True}, "k must be a whole number"),
        ({"radius": 2.5}, "radius must be a whole number; got 2.5"),
        ({"min_probability": "0.5"}, "min_probability must be a number"),
        ({"rerank": "no"}, "True or False"),
    ],
)
def test_what_cannot_be_meant_is_refused(searcher, options, complaint):
    with pytest.raises(SettingError, match=complaint):
        searcher.by_text("beach", **options)


def test_one_text_is_not_taken_for_its_letters(searcher):
    for search in (searcher.by_texts, searcher.by_images, searcher.by_ids):
        with pytest.raises(DataError, match=r"are a list, such as \['scene3'\]"):
            search("scene3")
    index = searcher.index
    with pytest.raises(DataError, match="several ids"):
        index.remove("scene3")
    codes = index.store.fetch(["scene1", "scene2"]).codes
    with pytest.raises(DataError, match="several ids"):
        index.add_codes("ab", codes, model=index.fingerprint)


def test_numbers_of_numpy_are_taken(searcher):
    found = searcher.by_text("beach", k=np.int64(3), radius=np.uint8(24))
    assert len(found) == 3
    assert json.dumps(found.to_json())


def test_queries_that_cannot_be_encoded_are_refused(searcher, scenes, tmp_path):
    with pytest.raises(BrokenPicture):
        searcher.by_image(b"no picture")
    with pytest.raises(BrokenPicture):
        searcher.by_image(tmp_path / "gone.png")
    with pytest.raises(DataError):
        searcher.by_image(np.zeros(5))
    with pytest.raises(SettingError, match="only its code"):
        searcher.by_id(scenes.pairs.ids[0], rerank=True)


def test_results_are_plain_values(searcher, scenes):
    document = searcher.by_text(scenes.pairs.texts.values[0], k=2).to_json()
    assert list(document) == ["query", "results", "scanned", "milliseconds", "notes"]
    assert list(document["results"][0]) == [
        "id",
        "distance",
        "probability",
        "text",
        "image",
        "labels",
        "columns",
        "matched",
    ]
    assert document["query"]["text"] == scenes.pairs.texts.values[0]


def test_codes_are_binary_signs_of_the_outputs(scenes):
    texts = list(scenes.pairs.texts.values[:5])
    queries = encode_text_queries(scenes.run.method, texts)
    assert queries.outputs is not None
    assert queries.codes == binarize(queries.outputs)
