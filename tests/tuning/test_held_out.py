"""The score that settings are chosen by, against loops over queries."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from fdch.data.split_drawing import SplitSizes
from fdch.data.splits import Split
from fdch.errors import DataError, LabelError
from fdch.methods.cmfh import CMFH
from fdch.methods.dch import DCH
from fdch.tuning.held_out import FOLDS, Folds, score_held_out, training_part


def naive_score(query, gallery, relevant):
    """Mean of AP and P@10 over all orders of tied items, by writing them out."""
    distances = (gallery != query).sum(axis=1)
    by_distance = sorted(set(distances))
    tied = [np.flatnonzero(distances == d).tolist() for d in by_distance]
    values = []
    for order in itertools.product(*(itertools.permutations(g) for g in tied)):
        ranked = relevant[[item for group in order for item in group]]
        ranks = np.flatnonzero(ranked) + 1
        average = np.mean([(i + 1) / rank for i, rank in enumerate(ranks)])
        values.append((average + ranked[:10].mean()) / 2)
    return np.mean(values)


def naive_scores(method, pairs):
    images = method.encode_images(pairs.images).signs()
    texts = method.encode_texts(pairs.texts).signs()
    searches = [(images, texts), (texts, images)]
    if method.about.unified:
        both = method.encode_pairs(pairs).signs()
        searches += [(images, both), (texts, both)]
    found = []
    for i in range(len(pairs)):
        others = np.arange(len(pairs)) != i
        relevant = (pairs.labels[others] @ pairs.labels[i]) > 0
        if relevant.any():
            parts = [naive_score(q[i], g[others], relevant) for q, g in searches]
            found.append(np.mean(parts))
    return found


@pytest.mark.parametrize("method", [DCH(bits=5), CMFH(bits=5)])
def test_every_pair_searches_among_the_others(method, factor_pairs):
    pairs = factor_pairs(80)
    method.fit(pairs[:60])
    few = pairs[60:67]
    expected = naive_scores(method, few)
    np.testing.assert_allclose(score_held_out(method, few), expected)


def test_a_pair_without_another_of_its_labels_is_left_out(factor_pairs):
    pairs = factor_pairs(80, classes=6)
    method = DCH(bits=8).fit(pairs[:60])
    rows = pairs.labels[60:].sum(axis=1)
    assert rows.min() >= 1
    scores = score_held_out(method, pairs[60:])
    alone = (pairs.labels[60:] @ pairs.labels[60:].T > 0).sum(axis=1) == 1
    assert len(scores) == 20 - alone.sum()
    assert ((scores > 0) & (scores <= 1)).all()


def test_pairs_that_share_nothing_are_refused(factor_pairs):
    pairs = factor_pairs(80)
    method = DCH(bits=8).fit(pairs)
    own = np.flatnonzero((pairs.labels == np.eye(6, dtype=np.uint8)[0]).all(axis=1))
    other = np.flatnonzero((pairs.labels == np.eye(6, dtype=np.uint8)[1]).all(axis=1))
    with pytest.raises(LabelError, match="no two of 2 held-out pairs share a label"):
        score_held_out(method, pairs[[own[0], other[0]]])


def test_the_training_part_has_no_query(factor_pairs):
    pairs = factor_pairs(100)
    split = Split.draw(pairs, 3, SplitSizes(query=20, train=50))
    part = training_part(pairs, split)
    assert set(part.ids) == {*split.train, *split.validation}
    assert not set(part.ids) & set(split.query)


def test_each_pair_is_held_out_once(factor_pairs):
    pairs = factor_pairs(50)
    found = [Folds(pairs, 0)[number] for number in range(FOLDS)]
    held_out = [name for fold in found for name in fold.held_out.ids]
    assert sorted(held_out) == sorted(pairs.ids)
    for fold in found:
        assert sorted([*fold.train.ids, *fold.held_out.ids]) == sorted(pairs.ids)


def test_one_in_ten_of_the_pairs_to_train_on_is_for_validation(factor_pairs):
    fold = Folds(factor_pairs(50), 0)[2]
    train, validation = fold.divide()
    assert (len(train), len(validation)) == (36, 4)
    assert sorted([*train.ids, *validation.ids]) == sorted(fold.train.ids)


def test_seeds_draw_folds(factor_pairs):
    pairs = factor_pairs(50)
    first, same, other = (Folds(pairs, seed)[0].held_out.ids for seed in (0, 0, 1))
    assert list(first) == list(same) != list(other)


def test_large_parts_hold_out_enough_and_no_more(factor_pairs, monkeypatch):
    monkeypatch.setattr("fdch.tuning.held_out.MAX_HELD_OUT", 7)
    fold = Folds(factor_pairs(100), 0)[4]
    assert (len(fold.train), len(fold.held_out)) == (93, 7)


def test_few_pairs_are_refused(factor_pairs):
    with pytest.raises(DataError, match="9 training pairs are too few for 5 folds"):
        Folds(factor_pairs(9), 0)


def test_pairs_without_labels_are_refused(factor_pairs):
    pairs = factor_pairs(50)
    bare = replace(pairs, labels=np.zeros_like(pairs.labels))
    with pytest.raises(LabelError, match="none of the 50 training pairs"):
        Folds(bare, 0)
