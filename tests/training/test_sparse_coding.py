"""Lasso codes and bounded dictionaries against slow solvers and their conditions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdch.training.shallow.sparse_coding import (
    ROWS_AT_A_TIME,
    bounded_dictionary,
    sparse_codes,
)


def normal(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape)


def penalty(x, D, ratio):
    return ratio * np.abs(D @ x).max()


def lasso_objective(x, D, s, z):
    return 0.5 * ((x - s @ D) ** 2).sum() + z * np.abs(s).sum()


def coordinate_descent(x, D, z, sweeps=3000):
    """The lasso of one item, one coordinate at a time."""
    s = np.zeros(len(D))
    for _ in range(sweeps):
        for j in range(len(D)):
            rest = x - s @ D + s[j] * D[j]
            pull = D[j] @ rest
            s[j] = np.sign(pull) * max(abs(pull) - z, 0) / (D[j] @ D[j])
    return s


def fista_by_the_book(x, D, z, iterations):
    """One item, as Beck and Teboulle write it."""
    steepest = np.linalg.norm(D, 2) ** 2
    s = y = np.zeros(len(D))
    t = 1.0
    for _ in range(iterations):
        gradient = D @ (y @ D - x)
        moved = y - gradient / steepest
        following = np.sign(moved) * np.maximum(np.abs(moved) - z / steepest, 0)
        t_following = (1 + np.sqrt(1 + 4 * t * t)) / 2
        y = following + (t - 1) / t_following * (following - s)
        s, t = following, t_following
    return s


def test_many_steps_find_what_coordinate_descent_finds():
    X, D = normal(0, 4, 6), normal(1, 9, 6)
    S = sparse_codes(X, D, 0.3, iterations=20_000)
    for x, s in zip(X, S, strict=True):
        slow = coordinate_descent(x, D, penalty(x, D, 0.3))
        np.testing.assert_allclose(s, slow, atol=1e-6)


@given(st.integers(0, 99), st.floats(0.05, 0.95))
def test_rows_follow_the_accelerated_gradient_of_one_item(seed, ratio):
    X, D = normal(seed, 3, 5), normal(seed + 1, 8, 5)
    S = sparse_codes(X, D, ratio)
    for x, s in zip(X, S, strict=True):
        expected = fista_by_the_book(x, D, penalty(x, D, ratio), 30)
        np.testing.assert_allclose(s, expected, atol=1e-9)


@given(st.integers(0, 99), st.floats(0.1, 0.9))
def test_thirty_steps_come_close_to_the_least_objective(seed, ratio):
    X, D = normal(seed, 2, 5), normal(seed + 1, 8, 5)
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    for x, s in zip(X, sparse_codes(X, D, ratio), strict=True):
        z = penalty(x, D, ratio)
        best = sparse_codes(x[None], D, ratio, iterations=500)[0]
        least = lasso_objective(x, D, best, z)
        assert lasso_objective(x, D, s, z) <= 1.05 * least + 1e-12


def test_codes_meet_the_conditions_of_the_lasso():
    X, D = normal(0, 20, 6), normal(1, 10, 6)
    S = sparse_codes(X, D, 0.4, iterations=20_000)
    for x, s in zip(X, S, strict=True):
        z, pull = penalty(x, D, 0.4), D @ (x - s @ D)
        used = s != 0
        np.testing.assert_allclose(pull[used], z * np.sign(s[used]), atol=1e-7)
        assert (np.abs(pull[~used]) <= z + 1e-7).all()


def test_a_larger_ratio_uses_fewer_atoms():
    X, D = normal(0, 50, 8), normal(1, 30, 8)
    used = [(sparse_codes(X, D, ratio) != 0).mean() for ratio in (0.1, 0.4, 0.8)]
    assert used[0] > used[1] > used[2] > 0


@given(st.floats(1e-3, 1e3))
def test_codes_grow_in_step_with_items(scale):
    X, D = normal(0, 3, 5), normal(1, 8, 5)
    np.testing.assert_allclose(
        sparse_codes(scale * X, D, 0.3), scale * sparse_codes(X, D, 0.3), rtol=1e-7
    )


def test_codes_do_not_depend_on_the_items_beside_them():
    X, D = normal(0, ROWS_AT_A_TIME + 300, 4), normal(1, 6, 4)
    together = sparse_codes(X, D, 0.3)
    for rows in (slice(0, 1), slice(3, 300), slice(ROWS_AT_A_TIME - 9, None)):
        np.testing.assert_allclose(
            sparse_codes(X[rows], D, 0.3), together[rows], atol=1e-12
        )


def test_items_and_atoms_of_zero_get_codes_of_zero():
    X, D = normal(0, 3, 4), normal(1, 6, 4)
    X[1], D[2] = 0, 0
    S = sparse_codes(X, D, 0.3)
    assert not S[1].any() and not S[:, 2].any() and S[0].any()
    assert sparse_codes(X, np.zeros((6, 4)), 0.3).tolist() == [[0.0] * 6] * 3
    assert sparse_codes(X[:0], D, 0.3).shape == (0, 6)


def misfit(S, X, D):
    return ((X - S @ D) ** 2).sum()


@given(st.integers(0, 99), st.integers(2, 7), st.floats(0.1, 30))
def test_dictionary_closes_the_gap_to_its_dual(seed, atoms, scale):
    S, X = normal(seed, 25, atoms), scale * normal(seed + 1, 25, 4)
    D = bounded_dictionary(S, X)
    lengths = np.linalg.norm(D, axis=1)
    assert lengths.max() <= 1 + 1e-12
    # prices that explain D: 2Sᵀ(X - SD) = 2 diag(price) D, 0 where an atom is below 1
    pull = S.T @ (X - S @ D)
    prices = np.maximum(np.einsum("ij,ij->i", pull, D) / lengths**2, 0)
    gram = S.T @ S + np.diag(prices)
    products = S.T @ X
    dual = (X**2).sum() - np.vdot(products, np.linalg.solve(gram, products))
    dual -= prices.sum()
    primal = misfit(S, X, D)
    assert dual <= primal + 1e-9 * primal
    assert primal - dual <= 1e-6 * primal


def test_every_atom_has_length_one_where_all_want_to_be_longer():
    S, X = 0.01 * normal(0, 30, 5), normal(1, 30, 4)
    lengths = np.linalg.norm(bounded_dictionary(S, X), axis=1)
    np.testing.assert_allclose(lengths, 1, atol=1e-6)


def test_no_bound_is_felt_where_least_squares_is_short_enough():
    S, X = 10 * normal(0, 30, 5), normal(1, 30, 4)
    free = np.linalg.lstsq(S, X)[0]
    assert np.linalg.norm(free, axis=1).max() < 1
    np.testing.assert_allclose(bounded_dictionary(S, X), free, atol=1e-6)


def test_no_short_change_of_the_atoms_fits_better():
    S, X = normal(0, 30, 5), 5 * normal(1, 30, 4)
    D = bounded_dictionary(S, X)
    rng = np.random.default_rng(2)
    for _ in range(200):
        other = D + 0.05 * rng.standard_normal(D.shape)
        other /= np.maximum(np.linalg.norm(other, axis=1, keepdims=True), 1)
        assert misfit(S, X, other) > misfit(S, X, D)


def test_an_atom_without_use_is_zero():
    S, X = normal(0, 30, 5), normal(1, 30, 4)
    S[:, 2] = 0
    D = bounded_dictionary(S, X)
    assert np.abs(D[2]).max() == pytest.approx(0, abs=1e-12)
    assert np.abs(D).max(axis=1)[[0, 1, 3, 4]].min() > 0
