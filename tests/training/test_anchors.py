"""Anchors, distances and kernels against plain loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from fdch.training.shallow.anchors import (
    AnchorKernel,
    kmeans_centroids,
    mean_squared_distance,
    squared_distances,
)


def normal(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape)


def test_centroids_of_separate_groups_are_their_means():
    groups = [normal(seed, 20, 3) * 0.1 + 10 * seed for seed in range(2)]
    found = kmeans_centroids(np.concatenate(groups), 2, seed=0)
    expected = [group.mean(axis=0) for group in groups]
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_a_seed_gives_its_centroids_again():
    X = normal(0, 300, 6)
    one, again, other = (kmeans_centroids(X, 20, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)


def test_there_are_no_more_centroids_than_distinct_items():
    X = csr_array(np.repeat(np.eye(4, dtype=np.float32), 5, axis=0))
    found = kmeans_centroids(X, 10, seed=3)
    np.testing.assert_allclose(
        np.sort(found, axis=0)[::-1], np.sort(np.eye(4), 0)[::-1]
    )


@given(st.integers(1, 7), st.integers(1, 5), st.integers(1, 5), st.integers(0, 99))
def test_distances_are_those_of_a_loop(n, m, d, seed):
    X, anchors = normal(seed, n, d).round(1), normal(seed + 1, m, d)
    looped = [[((x - z) ** 2).sum() for z in anchors] for x in X]
    np.testing.assert_allclose(squared_distances(X, anchors), looped, atol=1e-9)
    sparse = squared_distances(csr_array(X), anchors)
    np.testing.assert_allclose(sparse, looped, atol=1e-9)


def test_no_distance_is_negative():
    X = 1e4 + normal(0, 30, 40)
    assert (squared_distances(X, X) >= 0).all()


@given(st.integers(1, 8), st.integers(1, 5), st.integers(0, 99))
def test_mean_distance_needs_no_pairs(n, d, seed):
    X = 3 + normal(seed, n, d)
    looped = np.mean([[((x - z) ** 2).sum() for z in X] for x in X])
    assert mean_squared_distance(X) == pytest.approx(looped, abs=1e-9)
    assert mean_squared_distance(csr_array(X)) == pytest.approx(looped, abs=1e-9)
    centred = X - X.mean(axis=0)
    shortcut = 2 * (centred**2).sum(axis=1).mean()
    assert shortcut == pytest.approx(looped, abs=1e-9)


def test_kernels_have_no_factor_two_and_do_not_see_a_shift():
    X = normal(0, 60, 4)
    kernel = AnchorKernel.fit(X, 5, seed=0)
    distance = ((X[3] - kernel.anchors[2]) ** 2).sum()
    expected = np.exp(-distance / mean_squared_distance(X))
    assert kernel(X)[3, 2] == pytest.approx(expected)
    shifted = AnchorKernel(kernel.anchors + 7, kernel.width)
    np.testing.assert_allclose(shifted(X + 7), kernel(X), rtol=1e-9)


def test_items_all_alike_have_a_width():
    kernel = AnchorKernel.fit(np.ones((6, 3)), 2, seed=0)
    assert kernel(np.ones((2, 3))).tolist() == [[1.0], [1.0]]
