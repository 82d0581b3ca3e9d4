"""Closed forms against their definitions: zero gradients, identities, scipy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import linalg
from scipy.sparse import csr_array

from fdch.training.closed_form import (
    LinearMap,
    Ridge,
    Whitening,
    cca_directions,
    centre,
    factored_svd,
    top_singular_pair,
    top_singular_vectors,
)

shapes = st.integers(1, 9)


def normal(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape)


def test_centring_takes_off_the_mean_and_leaves_the_rows_given_alone():
    X = np.array([[1, 4], [3, 0]], dtype=np.float32)
    rows, mean = centre(X)
    assert rows.dtype == np.float64
    assert rows.tolist() == [[-1, 2], [1, -2]]
    assert mean.tolist() == [2, 2]
    assert X.tolist() == [[1, 4], [3, 0]]


def test_sparse_rows_are_centred_and_mapped_as_dense_ones():
    X = (normal(0, 7, 5) > 0.5).astype(np.float32)
    sparse = csr_array(X)
    for one, other in zip(centre(X), centre(sparse), strict=True):
        np.testing.assert_array_equal(one, other)
    map_rows = LinearMap(normal(1, 5, 3), X.mean(axis=0))
    np.testing.assert_allclose(map_rows(sparse), map_rows(X), atol=1e-6)
    expected = (X - X.mean(axis=0)) @ map_rows.W
    np.testing.assert_allclose(map_rows(X), expected, atol=1e-6)
    assert map_rows(X).dtype == np.float32


def test_a_linear_map_round_trips_through_arrays_of_the_right_shape():
    made = LinearMap(normal(0, 5, 3), normal(1, 5))
    back = LinearMap.from_arrays(made.to_arrays("image"), "image", (5, 3))
    assert back.W is made.W and back.mean is made.mean
    with pytest.raises(ValueError, match=r"shape \(5, 3\); expected \(5, 4\)"):
        LinearMap.from_arrays(made.to_arrays("image"), "image", (5, 4))


@given(shapes, shapes, st.floats(1e-3, 10), st.integers(0, 99))
def test_ridge_weights_have_no_gradient_whichever_system_is_smaller(n, d, delta, seed):
    X, B = normal(seed, n, d), normal(seed + 1, n, 2)
    W = Ridge(X, delta).weights(B)
    gradient = 2 * X.T @ (X @ W - B) + 2 * delta * W
    assert np.abs(gradient).max() < 1e-8 * (1 + np.abs(X.T @ B).max() / delta)


@given(shapes, shapes, st.integers(0, 99))
def test_ridge_residuals_are_what_the_weights_leave(n, d, seed):
    X, B = normal(seed, n, d), normal(seed + 1, n, 2)
    ridge = Ridge(X, 0.3)
    np.testing.assert_allclose(
        ridge.residuals(B), B - X @ ridge.weights(B), rtol=1e-7, atol=1e-9
    )
    np.testing.assert_allclose(ridge.weights(B, X.T @ B), ridge.weights(B))
    np.testing.assert_allclose(
        ridge.residual_matrix() @ B, ridge.residuals(B), rtol=1e-7, atol=1e-9
    )


@pytest.mark.parametrize("shape", [(60, 120), (120, 60), (50, 50)])
@pytest.mark.parametrize("scale", [1e5, 1e9])
def test_a_ridge_lost_in_round_off_is_raised_until_it_counts(shape, scale):
    X = centre(scale * normal(0, shape[0], 3) @ normal(1, 3, shape[1]))[0]
    B = X @ normal(2, shape[1], 2) / scale
    ridge = Ridge(X, 1e-9)
    np.testing.assert_allclose(X @ ridge.weights(B), B, atol=1e-6 * np.abs(B).max())
    left = ridge.residuals(B)
    assert np.abs(left).max() < 1e-6 * np.abs(B).max()
    np.testing.assert_allclose(ridge.residual_matrix() @ B, left, atol=1e-6)


def test_a_ridge_that_counts_is_taken_as_it_is():
    X, B = normal(0, 9, 4), normal(1, 9, 2)
    gram = X.T @ X
    gram[np.diag_indices(4)] += 1e-3
    expected = linalg.cho_solve(linalg.cho_factor(gram), X.T @ B)
    np.testing.assert_array_equal(Ridge(X, 1e-3).weights(B), expected)


def test_nothing_has_no_singular_pair():
    p, value, q = top_singular_pair(np.zeros((4, 2)), normal(0, 3, 2))
    assert value == 0 and not p.any() and not q.any()


def test_whitened_columns_are_uncorrelated_with_variance_one():
    X = normal(0, 50, 6) @ normal(1, 6, 6)
    white = Whitening(X, 0.0)
    rows = X @ white.directions(np.eye(6))
    np.testing.assert_allclose(rows.T @ rows, np.eye(6), atol=1e-8)
    np.testing.assert_allclose(white.whiten(X.T).T, rows, atol=1e-8)


def test_whitening_takes_dependent_and_constant_columns():
    X = normal(0, 5, 12)
    X[:, 3] = 0
    assert np.isfinite(Whitening(X, 0.0).directions(np.eye(12))).all()


def test_relative_ridge_follows_the_scale_of_the_data():
    X, P = normal(0, 30, 4), normal(1, 4, 2)
    small = Whitening(X, 0.1, is_relative=True).directions(P)
    large = Whitening(100 * X, 0.1, is_relative=True).directions(P)
    np.testing.assert_allclose(small, 100 * large, rtol=1e-9)
    trace = np.trace(X.T @ X)
    fixed = Whitening(X, 0.1 * trace / 4).directions(P)
    np.testing.assert_allclose(small, fixed, rtol=1e-9)


@given(shapes, shapes, st.integers(1, 4), st.integers(0, 99))
def test_factored_svd_is_the_svd_of_the_product(d, e, rank, seed):
    A, B = normal(seed, d, rank), normal(seed + 1, e, rank)
    P, values, Q = factored_svd(A, B)
    np.testing.assert_allclose(P * values @ Q.T, A @ B.T, atol=1e-9)
    np.testing.assert_allclose(P.T @ P, np.eye(len(values)), atol=1e-9)
    direct = np.linalg.svd(A @ B.T, compute_uv=False)[: len(values)]
    np.testing.assert_allclose(values, direct, atol=1e-9)
    p, value, q = top_singular_pair(A, B)
    assert value == pytest.approx(values[0])
    assert np.linalg.norm(p) == pytest.approx(1) == np.linalg.norm(q)
    assert p @ A @ B.T @ q == pytest.approx(value)


@given(shapes, shapes, st.integers(1, 12), st.integers(0, 99))
def test_leading_singular_vectors_are_those_of_the_full_svd(d, e, most, seed):
    M = normal(seed, d, e)
    P, values, Q = top_singular_vectors(M, most)
    assert P.shape == (d, len(values)) and Q.shape == (e, len(values))
    full = np.linalg.svd(M, compute_uv=False)
    np.testing.assert_allclose(values, full[: len(values)], rtol=1e-6)
    np.testing.assert_allclose(np.diag(P.T @ M @ Q), values, rtol=1e-6)


def test_directions_beyond_the_rank_are_left_out():
    M = np.outer(normal(0, 6), normal(1, 5))
    assert top_singular_vectors(M, 4)[1].shape == (1,)
    assert top_singular_vectors(np.zeros((3, 2)), 2)[1].shape == (0,)


def test_canonical_directions_solve_the_generalised_eigenproblem():
    X, Z = centre(normal(0, 40, 5))[0], centre(normal(1, 40, 4))[0]
    Z[:, 0] += X[:, 1]
    Wx, Wz, correlations = cca_directions(X, Z, Whitening(X, 0), Whitening(Z, 0), 3)
    C = X.T @ Z
    squares, vectors = linalg.eigh(C @ np.linalg.solve(Z.T @ Z, C.T), X.T @ X)
    np.testing.assert_allclose(correlations**2, squares[::-1][:3], rtol=1e-8)
    aligned = np.abs(np.diag(Wx.T @ X.T @ X @ vectors[:, ::-1][:, :3]))
    np.testing.assert_allclose(aligned, 1, rtol=1e-8)
    for bit in range(3):
        found = np.corrcoef(X @ Wx[:, bit], Z @ Wz[:, bit])[0, 1]
        assert found == pytest.approx(correlations[bit])
