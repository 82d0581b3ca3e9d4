"""IMH: the eigenproblem against the objective written out, weights that differ."""

import numpy as np
import pytest

from fdch.errors import DataError, SettingError
from fdch.methods.imh import IMH, neighbor_laplacian, smoothest
from fdch.training.closed_form import Ridge

STEP = 1e-5  # of a difference
LAMBDA, BETA, NEIGHBORS = 0.7, 0.4, 3
N, BITS, WIDTHS = 14, 4, (5, 20)


@pytest.fixture
def views():
    rng = np.random.default_rng(0)
    views = [rng.standard_normal((N, width)) for width in WIDTHS]
    return [X - X.mean(axis=0) for X in views]


def residual_matrix(X):
    """A = I - X(XᵀX + βI)⁻¹Xᵀ."""
    return np.eye(N) - X @ np.linalg.inv(X.T @ X + BETA * np.eye(X.shape[1])) @ X.T


def costs(views):
    """A + λL of each side."""
    return [
        residual_matrix(X) + LAMBDA * neighbor_laplacian(X, NEIGHBORS).toarray()
        for X in views
    ]


def total_of(views):
    method = IMH(neighbors=NEIGHBORS, smoothness_weight=LAMBDA, ridge=BETA)
    total = np.zeros((N, N))
    for X in views:
        method._add_costs(total, X, Ridge(X, BETA))
    return total


def objective(views, F1, F2, W, u):
    """The sum as the paper writes it, all items paired."""
    value = u * ((F1 - F2) ** 2).sum()
    for X, F, weights in zip(views, (F1, F2), W, strict=True):
        L = neighbor_laplacian(X, NEIGHBORS).toarray()
        value += LAMBDA * np.trace(F.T @ L @ F)
        value += ((X @ weights - F) ** 2).sum() + BETA * (weights**2).sum()
    return value


def second_embedding(views, u):
    """E, by which F2 = E F1 is best for given F1."""
    _, second = costs(views)
    return np.linalg.solve(second + u * np.eye(N), u * np.eye(N))


def test_total_is_the_sum_of_both_sides(views):
    np.testing.assert_allclose(total_of(views), sum(costs(views)), atol=1e-10)


def test_hash_functions_have_no_gradient(views, numerical_gradient):
    F = np.linalg.qr(np.random.default_rng(1).standard_normal((N, BITS)))[0]
    W = [Ridge(X, BETA).weights(F) for X in views]
    for t in (0, 1):

        def value(weights, t=t):
            both = [weights if s == t else W[s] for s in (0, 1)]
            return objective(views, F, F, both, u=3.0)

        assert np.abs(numerical_gradient(value, W[t], STEP)).max() < 1e-7


def test_second_embedding_has_no_gradient_at_finite_u(views, numerical_gradient):
    F1 = np.random.default_rng(1).standard_normal((N, BITS))
    F2 = second_embedding(views, u=3.0) @ F1

    def value(F2):
        W = [Ridge(X, BETA).weights(F) for X, F in zip(views, (F1, F2), strict=True)]
        return objective(views, F1, F2, W, u=3.0)

    assert np.abs(numerical_gradient(value, F2, STEP)).max() < 1e-6


@pytest.mark.parametrize(("u", "apart"), [(1e4, 1e-2), (1e10, 1e-8)])
def test_the_limit_is_what_large_u_comes_to(views, u, apart):
    first, second = costs(views)
    E = second_embedding(views, u)
    gap = np.eye(N) - E
    at_u = first + E.T @ second @ E + u * gap.T @ gap
    limit = total_of(views)
    difference = np.linalg.norm(at_u - limit) / np.linalg.norm(limit)
    assert 1e-12 < difference < apart


def test_objective_is_the_sum_of_the_chosen_eigenvalues(views):
    values, F = smoothest(total_of(views), BITS)
    W = [Ridge(X, BETA).weights(F) for X in views]
    assert objective(views, F, F, W, u=5.0) == pytest.approx(values.sum())
    np.testing.assert_allclose(F.T @ F, np.eye(BITS), atol=1e-10)


def test_no_other_orthonormal_embedding_without_the_constant_is_smoother(views):
    values, _ = smoothest(total_of(views), BITS)
    rng = np.random.default_rng(2)
    for _ in range(100):
        other = rng.standard_normal((N, BITS))
        other = np.linalg.qr(other - other.mean(axis=0))[0]
        assert np.trace(other.T @ total_of(views) @ other) > values.sum()


def test_the_constant_vector_is_an_eigenvector_and_is_left_out(views):
    ones = np.ones(N)
    total = total_of(views)
    np.testing.assert_allclose(total @ ones, 2 * ones, atol=1e-9)
    every = np.linalg.eigvalsh(total)
    values, F = smoothest(total, N - 1)
    assert np.abs(F.sum(axis=0)).max() < 1e-9
    constant = np.abs(every - 2).argmin()
    np.testing.assert_allclose(values, np.delete(every, constant), atol=1e-9)


@pytest.fixture
def pairs(factor_pairs):
    return factor_pairs(80)


def test_half_of_the_training_pairs_are_on_either_side_of_every_bit(pairs):
    method = IMH(bits=8).fit(pairs)
    for codes in (
        method.encode_images(pairs.images),
        method.encode_texts(pairs.texts),
    ):
        assert np.abs(codes.signs().mean(axis=0)).max() <= 0.1


def test_thresholds_are_those_of_the_training_pairs(pairs):
    method = IMH(bits=8).fit(pairs)
    whole = method.encode_images(pairs.images)
    alike = pairs.images[whole.signs()[:, 0] > 0]
    assert (method.encode_images(alike).signs()[:, 0] > 0).all()


def test_too_many_pairs_are_refused_with_the_memory_they_would_need(pairs):
    expected = (
        r"80 training pairs need about 0.0 GiB for matrices of 80 x 80 numbers; "
        "max_pairs allows 60 pairs"
    )
    with pytest.raises(DataError, match=expected):
        IMH(bits=8, max_pairs=60).fit(pairs)
    with pytest.raises(DataError, match=r"100,000 training pairs need about 223\.5 G"):
        IMH()._require_size(100_000)


def test_more_bits_than_pairs_allow_are_refused(pairs):
    with pytest.raises(DataError, match="8 training pairs give at most 7 bits"):
        IMH(bits=8).fit(pairs[:8])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"neighbors": 0}, "must be positive: neighbors=0"),
        ({"ridge": 0.0}, "must be positive: ridge=0.0"),
        ({"smoothness_weight": -1.0}, "smoothness_weight must be 0 or more"),
    ],
)
def test_settings_outside_their_range_are_refused(settings, message, pairs):
    with pytest.raises(SettingError, match=message):
        IMH(**settings).fit(pairs)
