"""SCM against plain n x n forms: the label correlation, both solvers, the fill."""

import logging
from dataclasses import replace

import numpy as np
import pytest
from scipy import linalg
from scipy.sparse import csr_array

from fdch.data.pictures.images import ImageFeatures
from fdch.errors import SettingError
from fdch.methods.scm_orth import SCMOrth, orthogonal_directions
from fdch.methods.scm_seq import SCMSeq, sequential_directions
from fdch.progress import Update
from fdch.training.closed_form import cca_directions, signs
from fdch.training.shallow.semantic_correlation import (
    Directions,
    Views,
    fill_with_cca,
    normalize_labels,
    white_correlation,
)

N, CLASSES, RIDGE, BITS = 60, 6, 0.3, 5


@pytest.fixture
def labels():
    Y = (np.random.default_rng(0).random((N, CLASSES)) < 0.3).astype(np.uint8)
    Y[0] = 0
    return Y


@pytest.fixture
def views(labels):
    rng = np.random.default_rng(1)
    X = labels @ rng.standard_normal((CLASSES, 9)) + rng.standard_normal((N, 9))
    Z = labels @ rng.standard_normal((CLASSES, 8)) + rng.standard_normal((N, 8))
    return Views.fit(X, csr_array(Z), RIDGE)


def similarity(labels):
    """S̃ as two loops."""
    S = np.full((N, N), -1.0)
    for i in range(N):
        for j in range(N):
            lengths = np.sqrt(labels[i].sum() * labels[j].sum())
            if lengths:
                S[i, j] += 2 * (labels[i] & labels[j]).sum() / lengths
    return S


def covariance(X):
    return X.T @ X + RIDGE * np.eye(X.shape[1])


def test_rows_without_labels_stay_zero(labels):
    L = normalize_labels(labels)
    assert not L[0].any()
    np.testing.assert_allclose(np.linalg.norm(L[labels.any(axis=1)], axis=1), 1)


def test_factors_are_the_whitened_correlation_with_label_similarity(views, labels):
    A, B = white_correlation(views, labels, BITS)
    Rx, Rz = linalg.cholesky(covariance(views.X)), linalg.cholesky(covariance(views.Z))
    Cxz = BITS * views.X.T @ similarity(labels) @ views.Z
    np.testing.assert_allclose(Rx.T @ A @ B.T @ Rz, Cxz, atol=1e-9)
    assert np.linalg.matrix_rank(A @ B.T, tol=1e-9) == CLASSES


def test_orthogonal_directions_solve_the_generalised_eigenproblem(views, labels):
    Wx, Wz = orthogonal_directions(views, labels, BITS)
    Cxx, Czz = covariance(views.X), covariance(views.Z)
    Cxz = BITS * views.X.T @ similarity(labels) @ views.Z
    squares, vectors = linalg.eigh(Cxz @ linalg.solve(Czz, Cxz.T), Cxx)
    squares, vectors = squares[::-1][:BITS], vectors[:, ::-1][:, :BITS]
    turned = np.sign(np.diag(vectors.T @ Cxx @ Wx))
    np.testing.assert_allclose(Wx * turned, vectors, atol=1e-8)
    expected = linalg.solve(Czz, Cxz.T @ Wx) / np.sqrt(squares)
    np.testing.assert_allclose(Wz, expected, atol=1e-8)
    np.testing.assert_allclose(Wx.T @ Cxx @ Wx, np.eye(BITS), atol=1e-9)


def test_orthogonal_directions_end_at_the_rank_of_the_labels(views, labels):
    assert orthogonal_directions(views, labels, 30).Wx.shape == (9, CLASSES)
    doubled = np.hstack([labels, labels])
    assert orthogonal_directions(views, doubled, 30).Wx.shape == (9, CLASSES)


def test_sequential_directions_fit_the_residual_of_the_similarity(views, labels):
    """The factored update equals Xᵀ(k S̃ - Σ signs)Z formed in full."""
    Wx, Wz = sequential_directions(views, labels, BITS)
    residual = BITS * similarity(labels)
    Cxx, Czz = covariance(views.X), covariance(views.Z)
    for bit in range(BITS):
        Cxz = views.X.T @ residual @ views.Z
        squares, vectors = linalg.eigh(Cxz @ linalg.solve(Czz, Cxz.T), Cxx)
        assert np.abs(vectors[:, -1] @ Cxx @ Wx[:, bit]) == pytest.approx(1)
        expected = linalg.solve(Czz, Cxz.T @ Wx[:, bit]) / np.sqrt(squares[-1])
        np.testing.assert_allclose(Wz[:, bit], expected, atol=1e-7)
        shares = signs(views.X @ Wx[:, bit]), signs(views.Z @ Wz[:, bit])
        residual -= np.outer(*shares)


def test_sequential_learning_stops_where_a_bit_would_explain_more(views, labels):
    """One label alone is soon explained; what the signs add then grows again."""
    seen: list[Update] = []
    found = sequential_directions(views, labels[:, :1], 40, seen.append)
    have = found.Wx.shape[1]
    assert have < 40
    explained = [update.values["theta"] for update in seen]
    assert len(explained) == have
    assert explained == sorted(explained, reverse=True)


def test_missing_columns_are_the_later_canonical_directions(views, caplog):
    found = Directions(np.ones((9, 2)), np.ones((8, 2)))
    filled = fill_with_cca(views, found, 5, "two bits were found")
    Wx, Wz, _ = cca_directions(views.X, views.Z, views.white_x, views.white_z, 5)
    np.testing.assert_array_equal(filled.Wx[:, :2], 1)
    np.testing.assert_allclose(filled.Wx[:, 2:], Wx[:, 2:])
    np.testing.assert_allclose(filled.Wz[:, 2:], Wz[:, 2:])
    assert caplog.messages == [
        "two bits were found; the other 3 of 5 bits are filled with canonical "
        "correlation."
    ]


def test_more_bits_than_labels_are_filled_with_a_warning(factor_pairs, caplog):
    pairs = factor_pairs(120, classes=6)
    SCMOrth(bits=6).fit(pairs)
    assert not caplog.records
    method = SCMOrth(bits=12).fit(pairs)
    assert caplog.records[0].levelno == logging.WARNING
    assert "6 meaningful bits; the other 6 of 12 bits" in caplog.text
    assert method.encode_images(pairs.images).bits == 12


@pytest.mark.parametrize("make", [SCMOrth, SCMSeq])
@pytest.mark.parametrize("bits", [4, 20])
def test_no_bit_is_constant_on_the_training_pairs(make, bits, factor_pairs):
    pairs = factor_pairs(150)
    method = make(bits=bits).fit(pairs)
    for codes in (method.encode_images(pairs.images), method.encode_texts(pairs.texts)):
        share = codes.signs().mean(axis=0)
        assert np.abs(share).max() < 1


def test_bits_that_the_data_cannot_carry_are_refused(factor_pairs):
    with pytest.raises(SettingError, match="only 24 related directions, too few"):
        SCMOrth(bits=64).fit(factor_pairs(100))


@pytest.mark.parametrize("make", [SCMOrth, SCMSeq])
@pytest.mark.parametrize("value", [0.0, 0.1])
def test_pictures_that_are_all_alike_are_refused(make, value, factor_pairs):
    pairs = factor_pairs(60)
    alike = ImageFeatures(np.full_like(pairs.images.values, value))
    with pytest.raises(SettingError, match=r"only 0 related directions.*more varied"):
        make(bits=8).fit(replace(pairs, images=alike))


def test_sequential_learning_stops_where_nothing_is_left(views, labels):
    found = sequential_directions(views, 0 * labels, 4)
    assert (found.Wx.shape, found.Wz.shape) == ((9, 0), (8, 0))


@pytest.mark.parametrize("make", [SCMOrth, SCMSeq])
def test_a_negative_ridge_is_refused(make, factor_pairs):
    with pytest.raises(SettingError, match="ridge must be 0 or more; got -1"):
        make(ridge=-1).fit(factor_pairs(50))


def test_a_relative_ridge_makes_codes_independent_of_scale(factor_pairs):
    pairs = factor_pairs(100)
    images = pairs.images.values
    codes = []
    for scale in (1, 1024):
        views = Views.fit(scale * images, pairs.texts.matrix, 0.1, True)
        Wx, _ = orthogonal_directions(views, pairs.labels, 6)
        codes.append(signs(views.X @ Wx) * signs(Wx[:1]))
    np.testing.assert_array_equal(codes[0], codes[1])
