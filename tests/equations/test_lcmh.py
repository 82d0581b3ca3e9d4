"""LCMH: weights on centroids, and the eigenproblem that makes both sides agree."""

import numpy as np
import pytest
from scipy import linalg
from scipy.sparse import csr_array

from fdch.errors import DataError, SettingError
from fdch.methods import lcmh
from fdch.methods.lcmh import LCMH, SoftAssignment, projections
from fdch.training.closed_form import centre

N, WIDTHS, BITS = 60, (7, 9), 3


def normal(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape)


@pytest.fixture
def P():
    """Centred weights of two sides that have something in common."""
    common = normal(0, N, 2)
    sides = []
    for seed, width in enumerate(WIDTHS, start=1):
        rows = common @ normal(seed, 2, width) + normal(seed + 10, N, width)
        weights = np.exp(rows)
        sides.append(centre(weights / weights.sum(axis=1, keepdims=True))[0])
    return sides[0], sides[1]


def agreement_matrix(P):
    """Z, blocks written out."""
    return np.block([[P[0].T @ P[0], -P[0].T @ P[1]], [-P[1].T @ P[0], P[1].T @ P[1]]])


def disagreement(P, W):
    return ((P[0] @ W[0] - P[1] @ W[1]) ** 2).sum()


def test_weights_are_those_of_the_stated_formula():
    rows, centroids, width = normal(0, 5, 4), normal(1, 3, 4), 0.7
    found = SoftAssignment(centroids, width)(rows)
    for row, weights in zip(rows, found, strict=True):
        unit = row / np.sqrt(sum(value**2 for value in row))
        raw = [np.exp(-(((unit - c) ** 2).sum()) / width) for c in centroids]
        np.testing.assert_allclose(weights, np.array(raw) / sum(raw))


def test_sparse_rows_have_the_weights_of_dense_ones():
    rows = (normal(0, 6, 8) > 0.5).astype(np.float32)
    rows[2] = 0  # a text without a known word
    assign = SoftAssignment(normal(1, 3, 8), 0.7)
    np.testing.assert_allclose(assign(csr_array(rows)), assign(rows))
    np.testing.assert_allclose(assign(rows).sum(axis=1), 1)
    assert assign(csr_array(rows)[:0]).shape == (0, 3)


def test_width_is_a_quarter_of_the_mean_squared_distance():
    rows = normal(0, 50, 4) + 3
    assign = SoftAssignment.fit(rows, 6, 0, seed=0)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    distances = [[((x - c) ** 2).sum() for c in assign.centroids] for x in unit]
    assert assign.width == pytest.approx(np.mean(distances) / 4)
    assert assign.centroids.shape == (6, 4)


def test_only_the_nearest_centroids_keep_weights():
    rows, centroids = normal(0, 5, 4), normal(1, 6, 4)
    whole = SoftAssignment(centroids, 0.7)(rows)
    few = SoftAssignment(centroids, 0.7, nearest=2)(rows)
    assert ((few > 0).sum(axis=1) == 2).all()
    np.testing.assert_allclose(few.sum(axis=1), 1)
    assert (few.argmax(axis=1) == whole.argmax(axis=1)).all()
    np.testing.assert_array_equal(SoftAssignment(centroids, 0.7, 9)(rows), whole)


def test_far_items_have_weights_that_are_numbers():
    assign = SoftAssignment(np.array([[1.0, 0.0], [0.0, 1.0]]), 1e-4)
    assert assign(np.array([[-1.0, -0.9]])).tolist() == [[0.0, 1.0]]


def test_ones_are_null_vectors_and_are_left_out(P):
    Z = agreement_matrix(P)
    for null in ([1] * 7 + [0] * 9, [0] * 7 + [1] * 9):
        assert np.abs(Z @ null).max() < 1e-12
    assert (np.abs(np.linalg.eigvalsh(Z)) < 1e-12).sum() == 2
    for constraint in ("whiten", "orth"):
        W = projections(P, BITS, constraint)
        for side, weights in zip(P, W, strict=True):
            assert (side @ weights).var(axis=0).min() > 1e-8


def test_orthonormal_projections_disagree_by_the_sum_of_their_eigenvalues(P):
    W = projections(P, BITS, "orth")
    stacked = np.vstack(W)
    np.testing.assert_allclose(stacked.T @ stacked, np.eye(BITS), atol=1e-10)
    values = np.linalg.eigvalsh(agreement_matrix(P))
    assert disagreement(P, W) == pytest.approx(values[2 : 2 + BITS].sum())
    Z = agreement_matrix(P)
    np.testing.assert_allclose(Z @ stacked, stacked * values[2 : 2 + BITS], atol=1e-10)


def test_white_projections_solve_the_generalised_eigenproblem(P):
    W = projections(P, BITS, "whiten")
    for side, weights in zip(P, W, strict=True):
        outputs = side @ weights
        np.testing.assert_allclose(outputs.T @ outputs, np.eye(BITS), atol=1e-4)
    blocks = linalg.block_diag(*(side.T @ side for side in P))
    # without the null vectors, which any amount may be added to
    basis = linalg.block_diag(
        linalg.null_space(np.ones((1, 7))), linalg.null_space(np.ones((1, 9)))
    )
    values = linalg.eigh(
        basis.T @ agreement_matrix(P) @ basis,
        basis.T @ blocks @ basis,
        eigvals_only=True,
    )
    assert disagreement(P, W) == pytest.approx(2 * values[:BITS].sum(), rel=1e-3)


def test_white_projections_agree_better_than_others_of_the_same_spread(P):
    least = disagreement(P, projections(P, BITS, "whiten"))
    rng = np.random.default_rng(3)
    for _ in range(50):
        others = []
        for side in P:
            outputs = side @ rng.standard_normal((side.shape[1], BITS))
            others.append(np.linalg.qr(outputs)[0])
        assert ((others[0] - others[1]) ** 2).sum() > least


@pytest.mark.parametrize("constraint", ["whiten", "orth"])
def test_sides_that_hardly_vary_are_refused(P, constraint):
    with pytest.raises(DataError, match="only 0 projections of these pairs vary"):
        projections((P[0], np.zeros((N, 9))), BITS, constraint)


def test_white_projections_are_no_more_than_a_side_has_ways_to_vary(P):
    two_texts = centre(np.eye(2)[np.arange(N) % 2])[0]
    with pytest.raises(DataError, match="only 1 projections of these pairs vary"):
        projections((P[0], two_texts), BITS, "whiten")


@pytest.fixture
def pairs(factor_pairs):
    return factor_pairs(120)


@pytest.mark.parametrize("constraint", ["whiten", "orth"])
def test_half_of_the_training_pairs_are_on_either_side_of_every_bit(constraint, pairs):
    method = LCMH(bits=8, centroids=30, constraint=constraint).fit(pairs)
    for codes in (
        method.encode_images(pairs.images),
        method.encode_texts(pairs.texts),
    ):
        assert np.abs(codes.signs().mean(axis=0)).max() <= 0.1


def test_nearest_is_kept_when_a_method_is_restored(pairs):
    method = LCMH(bits=8, centroids=30, nearest=5).fit(pairs)
    again = LCMH(bits=8, centroids=30, nearest=5).restore(method.state())
    assert again.encode_texts(pairs.texts) == method.encode_texts(pairs.texts)
    with pytest.raises(ValueError, match=r"image\.centroids has shape"):
        again.restore(method.state() | {"image.centroids": np.zeros((30, 3))})


def test_runs_of_earlier_versions_may_say_all_centroids_by_zero():
    assert LCMH(nearest=0).nearest is None
    assert LCMH(nearest=0).changed_settings() == {}


def test_it_says_that_it_is_a_reconstruction():
    assert "reconstruction" in LCMH.about.paper
    assert "reconstruction" in (LCMH.__doc__ or "")
    assert "reconstruction" in (lcmh.__doc__ or "")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bits": 16, "centroids": 31}, "16 bits need at least 32 centroids; got 31"),
        ({"nearest": -1}, "these settings must be positive: nearest=-1"),
    ],
)
def test_settings_outside_their_range_are_refused(settings, message, pairs):
    with pytest.raises(SettingError, match=message):
        LCMH(**settings).fit(pairs)
