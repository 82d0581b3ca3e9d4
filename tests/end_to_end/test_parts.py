"""Queries of several parts, and groups of near-duplicates, on every kind of store."""

import numpy as np
import pytest

from fdch.codes import binarize, hamming_distances
from fdch.data.words import cut_words
from fdch.retrieval.queries import encode_image_queries, encode_text_queries
from fdch.runs.encoding import encode_pairs

PLACES = ("beach", "meadow", "city", "lake", "mountains")
THINGS = ("tree", "house", "ball", "car", "tent")
CASES = [(place, thing) for place in PLACES for thing in THINGS]


@pytest.fixture(scope="module")
def codes(scenes):
    return encode_pairs(scenes.run.method, scenes.pairs).unified


def unit(rows):
    """The mean of rows of length 1."""
    rows = np.asarray(rows, float)
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).mean(axis=0)


def text_part(scenes, *texts):
    return unit(encode_text_queries(scenes.run.method, list(texts)).outputs)


def nearest(scenes, codes, wanted, rows):
    """The ids and distances of some rows, by distance, then by insertion."""
    distances = hamming_distances(binarize(wanted[None]), codes)[0]
    order = np.argsort(distances, kind="stable")
    return [(scenes.pairs.ids[row], distances[row]) for row in order if rows[row]]


def pairs_of(found):
    return [(each.id, each.distance) for each in found]


def test_what_is_liked_is_added_and_what_is_not_is_subtracted(searcher, scenes, codes):
    ids, signs = scenes.pairs.ids, codes.signs()
    like, unlike = ids[[3, 8]].tolist(), ids[[5, 6, 7]].tolist()
    photo = scenes.pairs.images.paths[20]
    picture = unit(encode_image_queries(scenes.run.method, [photo]).outputs)
    wanted = text_part(scenes, "boat") + picture
    wanted = wanted + unit(signs[[3, 8]]) - 0.5 * unit(signs[[5, 6, 7]])
    parts = {"text": "boat", "image": photo, "like": like, "unlike": unlike}
    found = searcher.query(**parts, k=30, match="codes")
    expected = nearest(scenes, codes, wanted, ~np.isin(ids, [*like, *unlike]))
    assert pairs_of(found) == expected[:30]
    later = searcher.query(**parts, k=10, offset=10, match="codes")
    assert pairs_of(later) == expected[10:20]


def test_no_text_found_has_an_avoided_word(searcher, scenes, codes):
    wanted = text_part(scenes, "beach") - 0.5 * text_part(scenes, "tree")
    rows = ["tree" not in cut_words(text) for text in scenes.pairs.texts.values]
    assert 10 < np.sum(rows) < len(rows)
    found = searcher.query("beach", avoid=["Tree"], k=len(rows), match="codes")
    assert pairs_of(found) == nearest(scenes, codes, wanted, np.array(rows))


def test_near_duplicates_are_put_under_the_first(searcher, scenes, codes):
    row = {name: place for place, name in enumerate(scenes.pairs.ids)}
    words = [set(cut_words(text)) for text in scenes.pairs.texts.values]

    def are_near(one, other):
        shared = len(words[one] & words[other]) / len(words[one] | words[other])
        return hamming_distances(codes[[one]], codes[[other]]) <= 2 and shared >= 0.8

    ranked = [row[name] for name in searcher.by_text("a", k=300, match="codes").ids]
    groups: dict[int, list[int]] = {}
    for place, one in enumerate(ranked):
        before = [
            head for head in groups if head in ranked[max(0, place - 100) : place]
        ]
        head = next((each for each in before if are_near(each, one)), None)
        if head is None:
            groups[one] = []
        else:
            groups[head].append(one)
    expected = [
        (scenes.pairs.ids[head], tuple(scenes.pairs.ids[others]))
        for head, others in groups.items()
    ]
    assert any(others for _, others in expected)
    found = searcher.by_text("a", k=300, group=2, match="codes")
    assert [(each.id, each.similar) for each in found] == expected


@pytest.fixture(scope="module")
def has(scenes):
    """Which scenes have a label."""
    columns = scenes.pairs.labels.T.astype(bool)
    return dict(zip(scenes.pairs.label_names, columns, strict=True))


@pytest.fixture(scope="module")
def share(scenes, has):
    """Give the share of items that have all labels."""
    rows = {name: row for row, name in enumerate(scenes.pairs.ids)}

    def of_items(ids, *labels):
        return np.mean([all(has[each][rows[name]] for each in labels) for name in ids])

    return of_items


def test_words_with_a_picture_find_what_has_both(searcher, scenes, has, share):
    figures = []
    for place, thing in CASES:
        row = np.flatnonzero(has[place] & ~has[thing])[0]
        photo = scenes.pairs.images.paths[row]
        ways = (
            searcher.by_image(photo, k=11),
            searcher.by_text(thing, k=11, match="codes"),
            searcher.query(thing, photo, k=11, match="codes"),
        )
        own = scenes.pairs.ids[row]
        others = [[name for name in each.ids if name != own][:10] for each in ways]
        figures.append([share(ids, place, thing) for ids in others])
    by_picture, by_words, by_both = np.mean(figures, axis=0)
    assert by_both > 1.3 * max(by_picture, by_words)


def test_avoided_words_keep_pictures_of_them_away(searcher, share, monkeypatch):
    # as where items have no text: then none is left out for its words
    monkeypatch.setattr("fdch.retrieval.ranking.contains_phrase", lambda *_: False)
    figures = [
        (
            share(searcher.by_text(place, match="codes").ids, thing),
            share(searcher.query(place, avoid=[thing], match="codes").ids, thing),
        )
        for place, thing in CASES
    ]
    plain, avoided = np.mean(figures, axis=0)
    assert avoided < plain - 0.02


def test_feedback_finds_more_of_what_was_liked(searcher, share):
    figures = []
    for place, thing in CASES:
        first = searcher.by_text(thing, k=20, match="codes").ids
        fits = [name for name in first[:10] if share([name], place, thing)]
        others = [name for name in first[:10] if name not in fits]
        if fits and others:
            refined = searcher.query(thing, like=fits, unlike=others, match="codes")
            ways = first[10:], refined.ids
            figures.append([share(ids, place, thing) for ids in ways])
    assert len(figures) >= 5
    plain, refined = np.mean(figures, axis=0)
    assert refined > plain + 0.02
