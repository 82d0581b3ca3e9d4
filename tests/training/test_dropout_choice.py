"""Dropout by what a side says about the labels."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from fdch.training.dropout_choice import (
    RIDGES,
    STATIC,
    USUAL,
    choose_image_dropout,
    choose_static_dropout,
    choose_word_dropout,
    explained_share,
)

LEAST, MOST = USUAL.least, USUAL.most


def labels(n=40, classes=3, seed=0):
    drawn = np.random.default_rng(seed).integers(classes, size=n)
    return np.eye(classes, dtype=np.uint8)[drawn]


def test_explained_share_is_that_of_regressions_without_each_row():
    rng = np.random.default_rng(1)
    Y = labels(20)
    X = Y @ rng.normal(size=(3, 6)) + rng.normal(0, 0.7, size=(20, 6))
    penalties = RIDGES * ((X - X.mean(axis=0)) ** 2).sum() / 20
    errors = []
    for penalty in penalties:
        error = 0.0
        for row in range(20):
            others = np.arange(20) != row
            mean, level = X[others].mean(axis=0), Y[others].mean(axis=0)
            rest, targets = X[others] - mean, Y[others] - level
            W = np.linalg.solve(rest.T @ rest + penalty * np.eye(6), rest.T @ targets)
            error += ((Y[row] - level - (X[row] - mean) @ W) ** 2).sum()
        errors.append(error)
    expected = 1 - min(errors) / ((Y - Y.mean(axis=0)) ** 2).sum()
    assert 0.1 < expected < 0.9
    assert explained_share(X, Y) == pytest.approx(expected, rel=1e-9)


def test_features_that_are_the_labels_are_hardly_dropped():
    Y = labels()
    assert choose_image_dropout(10 * Y.astype(np.float32), Y) == LEAST


def test_features_that_say_nothing_are_dropped_most():
    noise = np.random.default_rng(2).normal(size=(40, 5)).astype(np.float32)
    assert choose_image_dropout(noise, labels()) == MOST


def test_static_features_are_dropped_more_than_others():
    Y = labels()
    assert choose_static_dropout(Y.astype(np.float32), Y) == STATIC.least > LEAST
    noise = np.random.default_rng(2).normal(size=(40, 5)).astype(np.float32)
    assert choose_static_dropout(noise, Y) == STATIC.most > MOST


@pytest.mark.parametrize("Y", [np.zeros((10, 2)), np.ones((10, 2)), np.zeros((10, 0))])
def test_without_anything_to_explain_dropout_is_the_most(Y):
    features = np.arange(10, dtype=np.float32)[:, None]
    assert choose_image_dropout(features, Y.astype(np.uint8)) == MOST


def test_constant_features_explain_nothing():
    assert explained_share(np.ones((5, 2)), labels(5)) == 0


def test_the_scale_of_a_feature_does_not_matter():
    Y = labels()
    rng = np.random.default_rng(3)
    X = (Y @ rng.normal(size=(3, 4)) + rng.normal(size=(40, 4))).astype(np.float32)
    scaled = X * np.array([1, 1e3, 1e-3, 7], np.float32)
    assert choose_image_dropout(X, Y) == pytest.approx(choose_image_dropout(scaled, Y))


def test_long_texts_are_dropped_from_less_than_short_ones():
    rng = np.random.default_rng(4)
    Y = labels(60)
    short, long = (
        csr_array((rng.random((60, 200)) < share).astype(np.float32))
        for share in (0.02, 0.08)
    )
    assert choose_word_dropout(short, Y) == MOST
    assert LEAST < choose_word_dropout(long, Y) < MOST


def test_only_a_thousand_pairs_are_compared():
    Y = labels(5000)
    features = Y.astype(np.float32)
    features[1::2] = features[::2]  # every other row is wrong, but none is looked at
    rows = np.linspace(0, 4999, 1000).astype(int)
    features[rows] = Y[rows]
    assert choose_image_dropout(features, Y) == LEAST
