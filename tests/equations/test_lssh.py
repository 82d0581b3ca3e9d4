"""LSSH: its steps against the objective written out, with weights that differ."""

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from fdch.errors import SettingError
from fdch.evaluation import code_health
from fdch.methods.lssh import LSSH, Preparation, SparseFactors
from fdch.training.context import Context
from fdch.training.shallow.sparse_coding import sparse_codes

MU, GAMMA, RHO = 0.3, 1.7, 0.25
N, P, WORDS, ATOMS, BITS = 11, 5, 7, 9, 3


def normal(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape)


@pytest.fixture
def factors():
    return SparseFactors(
        normal(0, ATOMS, P), normal(1, ATOMS, BITS), normal(2, BITS, WORDS), MU, GAMMA
    )


def smooth_part(X, T, S, A, factors):
    """The objective but for the penalty on S."""
    return (
        ((X - S @ factors.D) ** 2).sum()
        + MU * ((T - A @ factors.U) ** 2).sum()
        + GAMMA * ((A - S @ factors.R) ** 2).sum()
    )


def test_latent_factors_have_no_gradient(factors):
    X, T, S = normal(3, N, P), normal(4, N, WORDS), normal(5, N, ATOMS)
    A = factors.latent(T, S @ factors.R)
    for index in np.ndindex(A.shape):
        shift = np.zeros_like(A)
        shift[index] = 1e-5
        above = smooth_part(X, T, S, A + shift, factors)
        below = smooth_part(X, T, S, A - shift, factors)
        assert abs(above - below) / 2e-5 < 1e-7


def test_one_stacked_lasso_stands_for_both_terms(factors):
    X, A, S = normal(3, N, P), normal(4, N, BITS), normal(5, N, ATOMS)
    root = np.sqrt(GAMMA)
    target = np.hstack([X, root * A])
    dictionary = np.hstack([factors.D, root * factors.R])
    stacked = ((target - S @ dictionary) ** 2).sum()
    apart = ((X - S @ factors.D) ** 2).sum() + GAMMA * ((A - S @ factors.R) ** 2).sum()
    assert stacked == pytest.approx(apart)


def test_a_round_takes_the_five_steps_in_order(factors):
    X, T, S = normal(3, N, P), normal(4, N, WORDS), normal(5, N, ATOMS)
    D, R, U = factors.D, factors.R, factors.U
    found = factors.improve(X, T, S, RHO)
    share = GAMMA / MU
    A = np.linalg.solve(U @ U.T + share * np.eye(BITS), (T @ U.T + share * S @ R).T).T
    root = np.sqrt(GAMMA)
    expected = sparse_codes(np.hstack([X, root * A]), np.hstack([D, root * R]), RHO)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    for left, atoms, right in (
        (A, factors.U, T),
        (found, factors.D, X),
        (found, factors.R, A),
    ):
        assert np.linalg.norm(atoms, axis=1).max() <= 1 + 1e-12
        rng = np.random.default_rng(6)
        least = ((right - left @ atoms) ** 2).sum()
        for _ in range(30):
            other = atoms + 0.1 * rng.standard_normal(atoms.shape)
            other /= np.maximum(np.linalg.norm(other, axis=1, keepdims=True), 1)
            assert ((right - left @ other) ** 2).sum() >= least - 1e-7


def test_rows_are_centred_and_projected_before_they_get_length_one():
    rows = normal(0, 50, 6) * [9, 5, 3, 0.1, 0.1, 0.1] + 4
    prepared = Preparation.of_images(rows, 3, seed=0)
    unit = prepared.unit_rows(rows)
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1)
    _, _, Q = np.linalg.svd(rows - rows.mean(axis=0))
    expected = (rows - rows.mean(axis=0)) @ Q[:3].T
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(np.abs(unit), np.abs(expected), atol=1e-8)
    # other rows are moved by the training mean, not by their own
    np.testing.assert_allclose(prepared.unit_rows(rows[:2]), unit[:2])


def test_a_text_like_the_mean_stays_zero():
    texts = csr_array(np.array([[1.0, 0.0], [1.0, 0.0]]))
    assert Preparation.of_texts(texts).unit_rows(texts).tolist() == [[0, 0], [0, 0]]


@pytest.fixture
def pairs(factor_pairs):
    return factor_pairs(150)


SMALL: dict[str, Any] = {"bits": 8, "atoms": 24, "components": 6, "iterations": 4}


def test_outputs_are_those_of_the_stated_formulas(pairs):
    method = LSSH(text_weight=MU, link_weight=GAMMA, sparsity=RHO, **SMALL).fit(pairs)
    X, T = pairs.images.values.astype(float), pairs.texts.matrix.toarray()
    state = method.state()
    D, R, U = state["D"], state["R"], state["U"]
    x = (X - X.mean(axis=0)) @ state["image.basis"]
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    t = T - T.mean(axis=0)
    t /= np.linalg.norm(t, axis=1, keepdims=True)
    S = sparse_codes(x, D, RHO)
    share = GAMMA / MU
    inverse = np.linalg.inv(U @ U.T + share * np.eye(8))
    images, texts = pairs.images.values, pairs.texts.matrix
    np.testing.assert_allclose(method.image_outputs(images), S @ R, atol=1e-5)
    np.testing.assert_allclose(method.text_outputs(texts), t @ U.T @ inverse, atol=1e-5)
    np.testing.assert_allclose(
        method.pair_outputs(images, texts),
        (t @ U.T + share * S @ R) @ inverse,
        atol=1e-5,
    )


def test_no_bit_is_constant_on_the_training_pairs(pairs):
    method = LSSH(**SMALL).fit(pairs)
    for codes in (
        method.encode_images(pairs.images),
        method.encode_texts(pairs.texts),
        method.encode_pairs(pairs),
    ):
        assert not code_health(codes).constant_bits


def test_both_sets_of_weights_are_there():
    port, release = LSSH(), LSSH(**LSSH.presets["release"])
    assert (port.sparsity, port.text_weight, port.link_weight) == (0.5, 0.05, 0.2)
    assert (release.sparsity, release.text_weight, release.link_weight) == (0.2, 0.5, 1)
    assert port.atoms == release.atoms == 512


def test_a_larger_sparsity_uses_fewer_atoms(pairs):
    used = []
    for sparsity in (0.2, 0.5):
        LSSH(sparsity=sparsity, **SMALL).fit(
            pairs,
            context=Context(lambda update: used.append(update.values["atoms used"])),
        )
    assert used[3] > used[7]


def test_no_more_pairs_are_learned_from_than_allowed(pairs):
    few = LSSH(max_pairs=60, **SMALL).fit(pairs)
    mean = few.state()["text.mean"]
    counts = mean * 60
    np.testing.assert_allclose(counts, counts.round(), atol=1e-6)
    assert np.abs(mean - pairs.texts.matrix.toarray().mean(axis=0)).max() > 1e-3


def test_state_of_another_shape_is_refused(pairs):
    state = LSSH(**SMALL).fit(pairs).state()
    with pytest.raises(ValueError, match="expected"):
        LSSH(**{**SMALL, "bits": 9}).restore(state)
    with pytest.raises(ValueError, match=r"image.mean has shape \(3,\)"):
        LSSH(**SMALL).restore(state | {"image.mean": np.zeros(3)})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sparsity": 1.0}, "sparsity must lie between 0 and 1; got 1.0"),
        ({"text_weight": 0.0}, "must be positive: text_weight=0.0"),
        ({"atoms": 0, "components": -1}, "must be positive: components=-1, atoms=0"),
    ],
)
def test_settings_outside_their_range_are_refused(settings, message, pairs):
    with pytest.raises(SettingError, match=message):
        LSSH(**settings).fit(pairs)
