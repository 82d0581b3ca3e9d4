"""Neighbour graphs against a plain loop, and what makes them Laplacians."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from fdch.methods import imh
from fdch.methods.imh import neighbor_laplacian


def slow_laplacian(X, neighbors):
    n = len(X)
    links = np.zeros((n, n))
    for i in range(n):
        distances = [((X[i] - X[j]) ** 2).sum() for j in range(n)]
        distances[i] = np.inf
        for j in np.argsort(distances, kind="stable")[:neighbors]:
            links[i, j] += 0.5
            links[j, i] += 0.5
    return np.diag(links.sum(axis=1)) - links


@given(st.integers(3, 12), st.integers(1, 4), st.integers(0, 99))
def test_laplacian_is_that_of_the_plain_loop(n, neighbors, seed):
    X = np.random.default_rng(seed).standard_normal((n, 3))
    few = min(neighbors, n - 1)
    L = neighbor_laplacian(X, neighbors).toarray()
    np.testing.assert_allclose(L, slow_laplacian(X, few), atol=1e-12)


def test_laplacian_is_half_the_sum_of_squared_differences_over_links():
    rng = np.random.default_rng(0)
    X, f = rng.standard_normal((20, 4)), rng.standard_normal(20)
    L = neighbor_laplacian(X, 3)
    links = -L.toarray()
    np.fill_diagonal(links, 0)
    expected = sum(
        links[i, j] * (f[i] - f[j]) ** 2 / 2 for i in range(20) for j in range(20)
    )
    np.testing.assert_allclose(f @ (L @ f), expected)


@given(st.integers(3, 30), st.integers(1, 6), st.integers(0, 99))
def test_of_items_equally_far_the_first_are_nearest(n, neighbors, seed):
    words = (np.random.default_rng(seed).random((n, 4)) < 0.4).astype(np.float32)
    few = min(neighbors, n - 1)
    expected = slow_laplacian(words, few)
    for X in (words, csr_array(words)):
        np.testing.assert_array_equal(
            neighbor_laplacian(X, neighbors).toarray(), expected
        )


def test_rows_taken_in_parts_have_the_same_neighbors(monkeypatch):
    words = (np.random.default_rng(0).random((600, 6)) < 0.4).astype(np.float32)
    whole = neighbor_laplacian(words, 5).toarray()
    monkeypatch.setattr(imh, "WORKING_MEMORY", 1)  # so 218 rows at a time
    np.testing.assert_array_equal(neighbor_laplacian(words, 5).toarray(), whole)


def test_no_item_is_its_own_neighbor_even_among_copies():
    L = neighbor_laplacian(np.zeros((6, 2)), 2).toarray()
    np.testing.assert_allclose(L.sum(axis=1), 0, atol=1e-12)
    assert np.trace(L) == 12


def test_far_away_from_the_origin_neighbors_stay_the_same():
    X = np.random.default_rng(0).standard_normal((30, 4))
    near, far = neighbor_laplacian(X, 3), neighbor_laplacian(X + 100, 3)
    assert np.abs(near - far).sum() == 0


def test_a_single_item_has_no_links():
    assert neighbor_laplacian(np.zeros((1, 2)), 3).toarray().tolist() == [[0]]
