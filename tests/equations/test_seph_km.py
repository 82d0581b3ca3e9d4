"""SePH_km: gradients by differences, identities of its fused code and kernels."""

import numpy as np
import pytest
import torch

from fdch.errors import DataError, LabelError, SettingError
from fdch.methods.seph_km import SePHkm, log_odds
from fdch.training.closed_form import signs
from fdch.training.shallow.affinities import (
    SCHEDULES,
    DescentSchedule,
    LabelAffinities,
    descend,
    descent_bytes,
)
from fdch.training.shallow.kernel_logistic import fit_logistic, logistic_loss

N, BITS, CLASSES, PENALTY = 11, 3, 4, 0.3


@pytest.fixture
def labels():
    Y = (np.random.default_rng(0).random((N, CLASSES)) < 0.4).astype(np.uint8)
    Y[4] = 0
    return Y


@pytest.fixture
def outputs():
    return np.random.default_rng(1).standard_normal((N, BITS))


def wanted(labels):
    """P as two loops."""
    P = np.zeros((N, N))
    for i in range(N):
        for j in range(N):
            lengths = np.sqrt(labels[i].sum() * labels[j].sum())
            if i != j and lengths:
                P[i, j] = (labels[i] & labels[j]).sum() / lengths
    return P / P.sum()


def nearness(H):
    """Q before it is scaled to sum 1, as two loops."""
    near = np.zeros((N, N))
    for i in range(N):
        for j in range(N):
            if i != j:
                near[i, j] = 1 / (1 + ((H[i] - H[j]) ** 2).sum() / 4)
    return near


def cross_entropy(P, H, exaggeration=1.0):
    """-ΣP log Q; an exaggerated P has another sum, and Q is not scaled for it."""
    near = nearness(H)
    shared = P > 0
    expected = -exaggeration * (P[shared] * np.log(near[shared])).sum()
    return expected + np.log(near.sum())


def compared(labels, H, strip):
    affinities = LabelAffinities(labels, torch.float64, strip=strip)
    affinities.update(torch.from_numpy(H))
    return affinities


@pytest.mark.parametrize("strip", [1, 4, 11, 50])
def test_divergence_is_that_of_two_loops_in_strips_of_any_height(
    strip, labels, outputs
):
    affinities = compared(labels, outputs, strip)
    P, near = wanted(labels), nearness(outputs)
    Q = near / near.sum()
    expected = -(P[P > 0] * np.log(Q[P > 0])).sum()
    assert affinities.divergence() == pytest.approx(expected, rel=1e-12)
    assert cross_entropy(P, outputs) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("strip", [4, 50])
def test_affinities_of_labels_and_of_outputs_sum_to_one(strip, labels, outputs):
    affinities = compared(labels, outputs, strip)
    P, Q = np.zeros((N, N)), np.zeros((N, N))
    for (i, j), p, near in zip(
        affinities._strips, affinities._P, affinities._N, strict=True
    ):
        P[i:j, i:], Q[i:j, i:] = p, near / affinities._total
        P[i:, i:j], Q[i:, i:j] = p.T, near.T / affinities._total
    np.fill_diagonal(P, 0)
    assert P.sum() == pytest.approx(1) == Q.sum()
    np.testing.assert_allclose(P, wanted(labels), atol=1e-12)
    np.testing.assert_allclose(Q, nearness(outputs) / nearness(outputs).sum())


@pytest.mark.parametrize("strip", [1, 4, 50])
@pytest.mark.parametrize("exaggeration", [1.0, 3.7])
def test_gradient_is_that_of_finite_differences(
    strip, exaggeration, labels, outputs, numerical_gradient
):
    def objective(H):
        return cross_entropy(wanted(labels), H, exaggeration)

    found = compared(labels, outputs, strip).gradient(
        torch.from_numpy(outputs), exaggeration
    )
    expected = numerical_gradient(objective, outputs)
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_descent_follows_the_gradient_of_the_whole_cost(
    labels, outputs, numerical_gradient
):
    """One plain step moves against KL + a‖|Ĥ| - 1‖², the columns recentred."""
    rate, weight = 0.1, 0.07
    schedule = DescentSchedule(10, rate, 0.0, 0.0, 0, 1.0, 0)
    start = outputs - outputs.mean(axis=0)
    seen = []

    class Watched(LabelAffinities):
        def update(self, H):
            seen.append(H.numpy().copy())
            super().update(H)

    affinities = Watched(labels, torch.float64)
    descend(affinities, torch.from_numpy(start), weight, schedule)

    def cost(H):
        pull = weight * ((np.abs(H) - 1) ** 2).sum()
        return cross_entropy(wanted(labels), H) + pull

    # the first step differs in sign from no step at all: the gain is 1.2
    moved = start - 1.2 * rate * numerical_gradient(cost, start)
    np.testing.assert_allclose(seen[1], moved - moved.mean(axis=0), atol=1e-8)


def test_descent_gives_the_outputs_of_lowest_cost():
    """A rate far too large throws the outputs about; the best are kept."""
    Y = (np.random.default_rng(0).random((40, 4)) < 0.4).astype(np.uint8)
    wild = DescentSchedule(60, 3000.0, 0.5, 0.5, 0, 1.0, 0)
    start = torch.from_numpy(np.random.default_rng(2).standard_normal((40, 3)))
    costs = []
    affinities = LabelAffinities(Y, torch.float64)
    best = descend(
        affinities, start, 0.01, wild, lambda update: costs.append(update.values)
    )
    affinities.update(best)
    off = float((best.abs() - 1).square().sum())
    lowest = min(values["cost"] for values in costs)
    assert affinities.divergence() + 0.01 * off == pytest.approx(lowest)
    assert costs[-1]["cost"] > lowest


def test_schedules_are_those_of_the_two_releases():
    assert SCHEDULES["A"] == DescentSchedule(1000, 100, 0.5, 0.8, 250, 4, 100)
    assert SCHEDULES["B"] == DescentSchedule(100, 500, 0.5, 0.5, 0, 1, 0)


def test_labels_without_a_common_one_are_refused():
    with pytest.raises(LabelError, match="no two of the 3 training pairs share"):
        LabelAffinities(np.eye(3))


@pytest.fixture
def regression():
    rng = np.random.default_rng(3)
    K = np.exp(-rng.random((30, 6)))
    root = rng.standard_normal((6, 6))
    return K, root @ root.T, signs(rng.standard_normal((30, 4)))


def test_logistic_gradient_is_that_of_finite_differences(
    regression, numerical_gradient
):
    K, K0, H = regression
    W = np.random.default_rng(4).standard_normal((6, 4))

    def looped(W):
        total = 0.0
        for bit in range(4):
            w = W[:, bit]
            total += PENALTY * w @ K0 @ w
            for item in range(30):
                total += np.log1p(np.exp(-H[item, bit] * K[item] @ w))
        return total

    loss, gradient = logistic_loss(W, K, K0, H, PENALTY)
    assert loss == pytest.approx(looped(W))
    np.testing.assert_allclose(gradient, numerical_gradient(looped, W), atol=1e-6)


def test_logistic_loss_stays_finite_for_large_scores(regression):
    K, K0, H = regression
    loss, gradient = logistic_loss(np.full((6, 4), 1e4), K, K0, H, PENALTY)
    assert np.isfinite(loss) and np.isfinite(gradient).all()


def test_fitted_weights_have_no_gradient(regression):
    K, K0, H = regression
    W = fit_logistic(K, K0, H, PENALTY)
    assert np.abs(logistic_loss(W, K, K0, H, PENALTY)[1]).max() < 0.01
    lowest = logistic_loss(W, K, K0, H, PENALTY)[0]
    for seed in range(5):
        shift = 0.1 * np.random.default_rng(seed).standard_normal(W.shape)
        assert logistic_loss(W + shift, K, K0, H, PENALTY)[0] > lowest


def test_bits_fitted_together_are_those_fitted_alone(regression):
    K, K0, H = regression
    together = fit_logistic(K, K0, H, PENALTY)
    alone = [fit_logistic(K, K0, H[:, [bit]], PENALTY) for bit in range(4)]
    np.testing.assert_allclose(K @ together, K @ np.hstack(alone), atol=1e-2)


def test_a_repeated_anchor_does_not_stop_the_fit(regression):
    K, K0, H = regression
    twice = [0, 0, 1, 2, 3, 4, 5]
    W = fit_logistic(K[:, twice], K0[np.ix_(twice, twice)], H, PENALTY)
    expected = K @ fit_logistic(K, K0, H, PENALTY)
    np.testing.assert_allclose(K[:, twice] @ W, expected, atol=1e-2)


@pytest.fixture(scope="module")
def fitted(factor_pairs):
    pairs = factor_pairs(150)
    return pairs, SePHkm(bits=12, schedule="B", anchors=40).fit(pairs)


def test_fused_codes_weigh_the_odds_of_both_modalities(fitted):
    """sgn(p1 p2 - (1 - p1)(1 - p2)) = sgn(s1 + s2) with p = 1/(1 + exp(-s))."""
    pairs, method = fitted
    s1 = method.image_outputs(pairs.images.values).astype(float)
    s2 = method.text_outputs(pairs.texts.matrix).astype(float)
    p1, p2 = 1 / (1 + np.exp(-s1)), 1 / (1 + np.exp(-s2))
    fused = signs(p1 * p2 - (1 - p1) * (1 - p2))
    np.testing.assert_array_equal(method.encode_pairs(pairs).signs(), fused)
    np.testing.assert_array_equal(fused, signs(s1 + s2))


def test_the_prior_shifts_fused_codes_by_its_log_odds(fitted):
    pairs, method = fitted
    inputs = pairs.images.values, pairs.texts.matrix
    plain = method.pair_outputs(*inputs)
    shifted = SePHkm(bits=12, use_prior=True).restore(method.state())
    difference = plain - shifted.pair_outputs(*inputs)
    expected = np.broadcast_to(method.state()["prior"], difference.shape)
    np.testing.assert_allclose(difference, expected, atol=1e-5)


def test_log_odds_of_a_constant_bit_are_finite():
    H = np.array([[1.0, 1.0], [-1.0, 1.0], [1.0, 1.0]])
    np.testing.assert_allclose(log_odds(H), np.log([3 / 2, 4 / 1]))


@pytest.mark.parametrize("schedule", ["A", "B"])
def test_no_bit_is_constant_on_the_training_pairs(schedule, factor_pairs):
    pairs = factor_pairs(120)
    method = SePHkm(bits=24, schedule=schedule, anchors=30).fit(pairs)
    for codes in (
        method.encode_images(pairs.images),
        method.encode_texts(pairs.texts),
        method.encode_pairs(pairs),
    ):
        assert np.abs(codes.signs().mean(axis=0)).max() < 1


def test_too_many_items_are_refused_with_the_memory_they_need(factor_pairs):
    pairs = factor_pairs(200)
    assert descent_bytes(200) == 4 * 200 * (200 + 2 * 256)
    with pytest.raises(
        DataError, match=r"its 200 training items, which takes 0\.00057"
    ):
        SePHkm(memory_limit=0.0005).fit(pairs)
    SePHkm(memory_limit=0.0006, bits=2, schedule="B", anchors=5).fit(pairs)


def test_five_thousand_items_take_little_of_the_memory_allowed():
    assert descent_bytes(5000) < 0.12e9 < SePHkm().memory_limit * 1e9


def test_settings_outside_their_range_are_refused():
    with pytest.raises(SettingError, match="positive: anchors=0, memory_limit=-1"):
        SePHkm(anchors=0, memory_limit=-1).check()
    with pytest.raises(SettingError, match="binary_weight must be 0 or more; got -1"):
        SePHkm(binary_weight=-1).check()


def test_weights_of_another_shape_are_refused(fitted):
    _, method = fitted
    with pytest.raises(
        ValueError, match=r"image\.W has shape \(40, 12\); expected \(40, 13\)"
    ):
        SePHkm(bits=13).restore(method.state())
