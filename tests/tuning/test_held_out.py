"""The score that settings are chosen by, against loops over queries."""

import itertools

import numpy as np
import pytest

from fdch.errors import LabelError
from fdch.methods.cmfh import CMFH
from fdch.methods.dch import DCH
from fdch.tuning.held_out import score_held_out


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
    asked = [(images, texts), (texts, images)]
    if method.about.unified:
        both = method.encode_pairs(pairs).signs()
        asked += [(images, both), (texts, both)]
    found = []
    for i in range(len(pairs)):
        others = np.arange(len(pairs)) != i
        relevant = (pairs.labels[others] @ pairs.labels[i]) > 0
        if relevant.any():
            parts = [naive_score(q[i], g[others], relevant) for q, g in asked]
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
