"""Queries of several parts: what they find, what they leave out, what is refused."""

import numpy as np
import pytest
from tests.vector_model import give_vectors

from fdch.codes import binarize
from fdch.errors import DataError, SettingError, UnknownWords
from fdch.index.store import Item
from fdch.methods.scm_seq import SCMSeq
from fdch.retrieval.arranging import LOOKAHEAD, group_results
from fdch.retrieval.composed import ComposedQuery, contains_phrase, split_avoided
from fdch.retrieval.index import Index
from fdch.retrieval.results import Result
from fdch.retrieval.searcher import Searcher
from fdch.runs.encoding import calibrate

BITS = 16


@pytest.fixture(scope="module")
def pairs(sentence_pairs):
    return sentence_pairs(600)


@pytest.fixture(scope="module")
def searcher(pairs, tmp_path_factory):
    method = SCMSeq(bits=BITS).fit(pairs[:300])
    path = tmp_path_factory.mktemp("composed") / "index"
    calibration = calibrate(method, pairs[300:450])
    with Index.create(path, method, calibration=calibration) as index:
        index.add(pairs)
    with Searcher(path) as searcher:
        yield searcher


def share(pairs, found, labels):
    """Give how many of the items found have all labels."""
    rows = [int(name.removeprefix("pair ")) for name in found]
    return pairs.labels[rows][:, list(labels)].all(axis=1).mean()


def test_words_and_a_picture_find_what_has_both(searcher, pairs):
    Y, figures = pairs.labels, []
    for first in range(6):
        for second in range(6):
            rows = np.flatnonzero((Y[:, first] == 1) & (Y.sum(axis=1) == 1))
            if first == second or not len(rows):
                continue
            text = " ".join(f"w{second}-{word}" for word in range(6))
            image = pairs.images.values[rows[0]]
            ways = (
                searcher.by_text(text),
                searcher.by_image(image),
                searcher.query(text, image),
            )
            figures.append([share(pairs, f.ids, (first, second)) for f in ways])
    by_text, by_image, together = np.mean(figures, axis=0)
    assert together > max(by_text, by_image) + 0.1


def test_feedback_raises_the_precision_of_the_first_ten(searcher, pairs):
    figures = []
    for label in range(6):
        for other in range(6):
            text = f"w{label}-1 w{other}-2"  # one of two meanings is wanted
            first = searcher.by_text(text, k=20, match="codes").ids
            fits = [name for name in first[:10] if share(pairs, [name], [label])]
            others = [name for name in first[:10] if name not in fits]
            if label == other or not fits or not others:
                continue
            refined = searcher.query(text, like=fits, unlike=others)
            assert not set(refined.ids) & set(first[:10])
            ways = first[10:], refined.ids
            figures.append([share(pairs, ids, [label]) for ids in ways])
    assert len(figures) > 10
    plain, refined = np.mean(figures, axis=0)
    assert refined > plain + 0.05


def test_no_result_has_an_avoided_word(searcher, pairs):
    texts = dict(zip(map(str, pairs.ids), pairs.texts.values, strict=True))
    plain = searcher.by_text("w0-1 w0-2", k=50)
    assert any("w0-3" in texts[name].split() for name in plain.ids)
    found = searcher.query("w0-1 w0-2", avoid=["W0-3"], k=50)
    assert len(found) == 50
    assert not any("w0-3" in texts[name].split() for name in found.ids)
    assert found.query["avoid"] == ["W0-3"]


def test_parts_have_no_probability_and_one_part_has(searcher):
    one = searcher.query("w0-1")
    assert [*one] == [*searcher.by_text("w0-1")]
    assert None not in {each.probability for each in one}
    several = searcher.query("w0-1", like=["pair 3"])
    assert {each.probability for each in several} == {None}
    with pytest.raises(SettingError, match="nor for several of them together"):
        searcher.query("w0-1", like=["pair 3"], min_probability=0.5)


def test_vectors_order_what_several_parts_find(pairs, tmp_path, monkeypatch):
    give_vectors(monkeypatch, SCMSeq)
    with Index.create(tmp_path / "index", SCMSeq(bits=BITS).fit(pairs)) as index:
        index.add(pairs)
        searcher = Searcher(index)
        found = searcher.query("w0-1", like=["pair 3", "pair 4"], unlike=["pair 5"])
        assert found.query["rerank"] is True
        plain = searcher.query(
            "w0-1", like=["pair 3", "pair 4"], unlike=["pair 5"], rerank=False
        )
        distances = [each.distance or 0 for each in plain]
        assert distances == sorted(distances)
        assert found.ids != plain.ids


@pytest.mark.parametrize(
    ("parts", "error", "message"),
    [
        ({}, SettingError, "nothing to search for; give text, image or like"),
        ({"unlike": ["a"], "avoid": ["b"]}, SettingError, "nothing to search for"),
        ({"like": ["a", "b"], "unlike": ["b"]}, SettingError, "'b' is in like and in"),
        ({"like": "pair 3"}, DataError, "several like are a list"),
        ({"like": [3]}, SettingError, "like must be a list of texts"),
        ({"like": [str(i) for i in range(33)]}, SettingError, "32 entries at most"),
        ({"text": "w0-1", "avoid": ["a"] * 2 + ["?"]}, SettingError, "no word in it"),
        ({"like": ["pair 3", "par 3"]}, DataError, "has no item 'par 3'"),
        ({"text": "%", "like": ["pair 3"]}, UnknownWords, "no word of '%' is known"),
    ],
    ids=str,
)
def test_what_cannot_be_combined_is_refused(searcher, parts, error, message):
    with pytest.raises(error, match=message):
        searcher.query(**parts)


def test_words_to_avoid_are_recognized_by_their_hyphen():
    assert split_avoided("bag -red -t-shirt") == ("bag", ["red", "t-shirt"])
    assert split_avoided('a t-shirt - "-red"') == ('a t-shirt - "-red"', [])
    assert split_avoided("-red") == ("", ["red"])


def test_an_avoided_word_is_whole_and_without_case():
    assert contains_phrase("A Red-hot bag", ["red"])
    assert contains_phrase("the paper kite", ["Paper Kite"])
    assert not contains_phrase("kite of paper", ["paper kite"])
    assert not contains_phrase("reddish", ["red"])
    assert not contains_phrase(None, ["red"])


def make_results(texts):
    return [Result(Item(str(at), text), 0, None) for at, text in enumerate(texts)]


def test_near_duplicates_are_put_under_the_first():
    texts = ["a red bag of cloth", "a red bag of cloth!", "a blue car", None, "a red"]
    codes = binarize(np.array([[1, 1, 1], [1, 1, -1], [1, 1, 1], [1, 1, 1], [-1] * 3]))
    found = group_results(make_results(texts), codes, 1, True)
    assert {each.id: each.similar for each in found} == {
        "0": ("1", "3"),
        "2": (),
        "4": (),
    }
    exact = group_results(make_results(texts), codes, 0, True)
    assert [each.id for each in exact] == ["0", "1", "2", "4"]


def test_groups_that_may_grow_are_left_out():
    texts = [f"text {at}" for at in range(LOOKAHEAD + 3)]
    codes = binarize(np.ones((len(texts), 8)))
    assert len(group_results(make_results(texts), codes, 0, False)) == 3
    assert len(group_results(make_results(texts), codes, 0, True)) == len(texts)
    same = ["same"] * (LOOKAHEAD + 2)
    found = group_results(make_results(same), codes[: len(same)], 0, True)
    assert [len(each.similar or ()) for each in found] == [LOOKAHEAD, 0]


def test_a_query_keeps_each_id_once():
    assert ComposedQuery(like=["a", "a"], unlike=["b"]).ids == ("a", "b")
