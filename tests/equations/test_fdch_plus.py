"""FDCH+ against loops: supposed similarity, pairs alone, the order of candidates."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from fdch.errors import SettingError
from fdch.methods.fdch_plus import FDCHPlus, PairLoss
from fdch.training import batches, pair_numbers
from fdch.training.label_numbers import LabelNumbers
from fdch.training.ordering import Numbers, to_units
from fdch.training.pair_ordering import LABEL_WEIGHTS, PAIR_WEIGHTS
from fdch.training.two_stage import ModalityWeights, Rarity

ROWS = [0, 3, 7]
WITHOUT = (3, 5, 8)  # pairs without labels


@pytest.fixture
def partly(toy):
    """The toy with labels of some pairs taken away, and stage 1's outputs H."""
    Y = toy["Y"].copy()
    Y[list(WITHOUT)] = 0
    return toy | {"Y": Y, "H": np.random.default_rng(4).standard_normal((9, 5))}


def similarity(i, j, Y, H):
    if i in WITHOUT or j in WITHOUT:
        return 1 / (1 + math.exp(-(H[i] @ H[j]) / 2))
    return float((Y[i] * Y[j]).any())


def image_loss(F, toy, weights):
    """Eq. 10 of a batch of F, labels known in part, in loops."""
    Y, H, G, B = toy["Y"], toy["H"], toy["G"], toy["B"]
    W = np.linalg.solve(Y.T @ Y + np.eye(4), Y.T @ toy["F"])
    all_F = toy["F"].copy()
    all_F[ROWS] = F
    total = 0.0
    for i, f in zip(ROWS, F, strict=True):
        for j, g in enumerate(G):
            theta, s = f @ g / 2, similarity(i, j, Y, H)
            total += weights.pairwise * (np.logaddexp(0, theta) - s * theta)
        total += weights.imitation * ((f - B[i]) ** 2).sum()
        if i not in WITHOUT:
            total += weights.classification * ((f - Y[i] @ W) ** 2).sum()
    total += weights.balance * (all_F.sum(axis=0) ** 2).sum()
    contrast = pair_loss(F, G[ROWS], weights.temperature, 0.0)
    return total / (9 * len(ROWS)) + weights.contrastive * contrast


def test_pairs_without_labels_are_as_similar_as_stage_one_supposes(
    partly, modality_stage, numerical_gradient, batch_gradient
):
    weights = ModalityWeights(1.5, 0.4, 0.3, 0.2, contrastive=0.6, temperature=0.3)
    stage = modality_stage(partly, weights, H=torch.tensor(partly["H"]))
    F = partly["F"][ROWS]
    found = stage.image_loss(torch.tensor(ROWS))[0].detach()
    assert float(found) == pytest.approx(image_loss(F, partly, weights))
    expected = numerical_gradient(lambda X: image_loss(X, partly, weights), F)
    gradient = batch_gradient(stage, "F", ROWS)
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-8)


def test_log_odds_are_those_of_the_labels_that_are_known(partly, modality_stage):
    weights = ModalityWeights(1.0, 0.0, 0.0, 0.0, Rarity(prior=1.0))
    stage = modality_stage(partly, weights, H=torch.tensor(partly["H"]))
    known = [i for i in range(9) if i not in WITHOUT]
    alike = [(partly["Y"][i] * partly["Y"][j]).any() for i in known for j in known]
    share = np.mean(alike)
    assert stage._shift == pytest.approx(math.log(share / (1 - share)))


def pair_loss(F, G, temperature, pull):
    """InfoNCE in both directions, and the mean distance of outputs to -1 or +1."""
    total = 0.0
    for one, other in ((F, G), (G, F)):
        for i, x in enumerate(one):
            scores = [
                math.exp(x @ y / np.linalg.norm(x) / np.linalg.norm(y) / temperature)
                for y in other
            ]
            total -= math.log(scores[i] / sum(scores))
    total /= 2 * len(F)
    for X in (F, G):
        total += pull * np.mean([(abs(x) - 1) ** 2 for x in X.ravel()])
    return total


@pytest.mark.parametrize("pull", [0.0, 0.3])
def test_pairs_alone_teach_to_find_the_other_half(toy, joint_stage, pull):
    stage = joint_stage(toy, PairLoss(0.2, pull), is_bounded=False)
    loss = stage.batch_loss(torch.tensor(ROWS))[0].detach()
    expected = pair_loss(toy["F"][ROWS], toy["G"][ROWS], 0.2, pull)
    assert float(loss) == pytest.approx(expected)


def small(**settings: Any) -> FDCHPlus:
    sizes: dict[str, Any] = {
        "image_hidden": 8,
        "text_hidden": 8,
        "fusion_width": 8,
        "fusion_hidden": 8,
    }
    epochs = ("stage_one_epochs", "stage_two_epochs", "label_epochs", "pair_epochs")
    sizes["pair_width"] = 12
    return FDCHPlus(bits=8, **{**sizes, **dict.fromkeys(epochs, 2), **settings})


def spread(odds):
    return -np.log(1 - 0.9 / (1 + np.exp(-odds.astype(np.float64))))


@pytest.mark.parametrize("pair_bits", [1, 2, 4])
def test_candidates_are_ordered_by_codes_labels_and_likeness(factor_pairs, pair_bits):
    pairs = factor_pairs(80)
    method = small(
        label_numbers=6,
        label_bits=4,
        pair_numbers=8,
        pair_bits=pair_bits,
        pair_weight=0.7,
        shared_weight=1.4,
    ).fit(pairs)
    images, texts = pairs.images.values, pairs.texts.matrix
    order, networks = method.ordering, method._networks
    vectors, codes = order.text_vectors(texts), method.encode_texts(pairs.texts)
    assert vectors.dtype == np.int8 and vectors.shape == (80, 14)
    assert (vectors % 2 == 1).all()  # odd, negative ones too
    assert np.abs(vectors[:, :6]).max() <= 15
    assert np.abs(vectors[:, 6:]).max() <= 2**pair_bits - 1
    found = order.weigh_images(images).score(codes, vectors)
    outputs, signs = method.image_outputs(images), codes.signs()
    labels, likeness = order._labels, order._pairs
    assert labels is not None and likeness is not None
    own = spread(batches.image_outputs(networks["label_image"], images))
    units = to_units(batches.image_outputs(networks["pair_image"], images))
    turned = (units - likeness.image_mean) @ likeness.axes
    steps = likeness.half_step if pair_bits > 1 else np.ones(8)
    for i in range(3):
        for j in range(80):
            by_code = outputs[i] @ signs[j] / np.linalg.norm(outputs[i]) / math.sqrt(8)
            stored = vectors[j, :6] * labels.half_step
            by_labels = (own[i] @ labels.axes) @ stored
            alike = turned[i] @ (vectors[j, 6:] * steps) / np.linalg.norm(turned[i])
            expected = by_code / order.scales.codes
            expected += 1.4 * by_labels / order.scales.labels
            expected += 0.7 * max(0.0, alike / order.scales.pairs - 1.5)
            assert found[i, j] == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_every_turn_brings_rows_nearer_to_their_signs(monkeypatch):
    X = np.random.default_rng(0).standard_normal((200, 6)) * [3, 2, 1, 1, 0.5, 0.5]
    errors = []
    for turns in (0, 1, 5, 50):
        monkeypatch.setattr(pair_numbers, "TURNS", turns)
        R = pair_numbers.find_turn(X, 0)
        np.testing.assert_allclose(R @ R.T, np.eye(6), atol=1e-9)
        error = 0.0
        for row in X @ R:
            error += sum((abs(value) - 1) ** 2 for value in row)
        errors.append(error)
    assert errors == sorted(errors, reverse=True) and errors[-1] < errors[0]


def test_the_axes_of_pairs_are_those_along_which_they_vary_most():
    rng = np.random.default_rng(0)
    F, G = (rng.standard_normal((100, 5)) * [5, 4, 1, 0.1, 0.1] + 1 for _ in range(2))
    fitted = pair_numbers.PairNumbers.fit(F, G, Numbers(2, 1), seed=0)
    units = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in (F, G)]
    X = np.concatenate([x - x.mean(axis=0) for x in units])
    C = np.zeros((5, 5))
    for x in X:
        C += np.outer(x, x)
    largest = np.linalg.eigh(C)[1][:, -2:]
    # turned within their plane
    np.testing.assert_allclose(
        fitted.axes @ fitted.axes.T, largest @ largest.T, atol=1e-5
    )
    expected = np.where(X[:100] @ fitted.axes >= 0, 1, -1)
    assert (fitted.numbers(fitted.project_images(F)) == expected).mean() > 0.99


def test_the_projection_keeps_what_labels_two_items_share():
    odds = np.random.default_rng(0).normal(-2, 2, (300, 6))
    fitted = LabelNumbers.fit(odds, Numbers(6, 4))
    # rounded to 16 steps, else exact: as many axes as labels
    products = spread(odds) @ (spread(odds) - fitted.mean).T
    found = fitted.weights(odds) @ fitted.numbers(odds).T
    assert np.corrcoef(found.ravel(), products.ravel())[0, 1] > 0.98
    p = 1 / (1 + np.exp(-odds))
    for query in range(20):
        together = [1 - np.prod(1 - p[query] * b) for b in p]
        first, second = (np.argsort(np.argsort(x)) for x in (together, found[query]))
        assert np.corrcoef(first, second)[0, 1] > 0.8


def test_more_numbers_than_labels_say_nothing_more():
    odds = np.random.default_rng(0).normal(-2, 2, (50, 3))
    fitted = LabelNumbers.fit(odds, Numbers(5, 4))
    assert (fitted.weights(odds)[:, 3:] == 0).all()


def test_a_pair_is_stored_by_what_both_sides_say(factor_pairs):
    pairs = factor_pairs(60)
    method = small(label_numbers=6, pair_numbers=8, pair_bits=4).fit(pairs)
    images, texts = pairs.images.values, pairs.texts.matrix
    order, networks = method.ordering, method._networks
    labels, likeness = order._labels, order._pairs
    assert labels is not None and likeness is not None
    share = pairs.labels.mean(axis=0)
    odds = batches.image_outputs(networks["label_image"], images)
    odds = odds + batches.text_outputs(networks["label_text"], texts)
    odds = odds - np.log(share / (1 - share))
    F = likeness.project_images(batches.image_outputs(networks["pair_image"], images))
    G = likeness.project_texts(batches.text_outputs(networks["pair_text"], texts))
    found = order.pair_vectors(images, texts)
    assert (found[:, :6] == labels.numbers(odds)).all()
    for row, f, g in zip(found[:, 6:], F, G, strict=True):
        length = (np.linalg.norm(f) + np.linalg.norm(g)) / 2
        between = (f + g) / np.linalg.norm(f + g) * length
        odd = 2 * np.floor(between / (2 * likeness.half_step)) + 1
        assert (row == np.clip(odd, -15, 15)).mean() > 0.8  # but for rounding


def test_without_numbers_outputs_alone_order(factor_pairs):
    pairs = factor_pairs(60)
    method = small(label_numbers=0, pair_numbers=0).fit(pairs)
    order = method.ordering
    assert (order.width, order.bytes, method.bytes_per_item) == (0, 0, 1)
    assert order.weigh_texts(pairs.texts.matrix).weights.shape == (60, 8)
    assert order.text_vectors(pairs.texts.matrix).shape == (60, 0)


def test_weights_are_those_that_find_labels_and_partners_best(factor_pairs):
    pairs = factor_pairs(200)
    method = small(label_numbers=6, pair_numbers=8).fit(pairs[:80], pairs[80:])
    order, rest = method.ordering, pairs[80:]
    shared = rest.labels.astype(int) @ rest.labels.T.astype(int)

    def measure(sides):
        averages, firsts, gains, partners = [], [], [], []
        for side in sides:
            for i, row in enumerate(side):
                partners.append(sum(value > row[i] for value in row) < 10)
                ranking = [j for j in np.argsort(-row, kind="stable") if j != i]
                found = [shared[i, j] for j in ranking]
                hits = [grade > 0 for grade in found]
                if not any(hits):
                    continue
                precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
                averages.append(precision[hits].mean())
                firsts.append(np.mean(hits[:10]))
                reached, best = (
                    sum((2.0**g - 1) / math.log2(r + 2) for r, g in enumerate(x[:10]))
                    for x in (found, sorted(found, reverse=True))
                )
                gains.append(reached / best)
        labels = 3 * np.mean(averages) + np.mean(firsts) + np.mean(gains)
        return labels, np.mean(partners)

    parts = order.score_parts(rest.images.values, rest.texts.matrix)
    codes, labels, alike = (x / s for x, s in zip(parts, order.scales, strict=True))
    sums = {each: measure(codes + each * labels)[0] for each in LABEL_WEIGHTS}
    best = max(LABEL_WEIGHTS, key=lambda each: sums[each])
    assert sums[best] > min(sums.values()) + 0.01  # there is something to choose

    def worth(weight):
        scores = codes + best * labels + weight * np.maximum(alike - 1.5, 0)
        by_labels, by_partners = measure(scores)
        return by_labels + 0.5 * by_partners

    expected = max(PAIR_WEIGHTS, key=worth)
    assert order.weights == (best, expected)
    assert method.chosen["pair_weight"] == expected
    assert method.chosen["shared_weight"] == best


def test_few_validation_pairs_choose_no_weight(factor_pairs):
    pairs = factor_pairs(120)
    method = small(label_numbers=6, pair_numbers=8).fit(pairs[:80], pairs[80:])
    assert method.ordering.weights == (1.0, 0.5)


def test_a_weight_that_is_set_is_kept(factor_pairs):
    pairs = factor_pairs(200)
    method = small(label_numbers=6, pair_numbers=8, shared_weight=0.9)
    method.fit(pairs[:80], pairs[80:])
    assert method.ordering.weights.labels == 0.9
    assert method.ordering.weights.pairs in PAIR_WEIGHTS
    assert "shared_weight" not in method.chosen


def test_a_run_without_a_weight_of_labels_keeps_that_of_likeness(factor_pairs):
    sizes = {"label_numbers": 6, "pair_numbers": 8}
    method = small(**sizes, shared_weight=0.9, pair_weight=0.25).fit(factor_pairs(80))
    state = method.state()
    *scales, _, likeness = state["ordering.scales"]
    state["ordering.scales"] = np.array([*scales, likeness])
    weights = small(**sizes).restore(state).ordering.weights
    assert (weights.labels, weights.pairs) == (1, 0.25)


def test_settings_out_of_range_are_refused():
    with pytest.raises(SettingError, match="pair_bits is 1, 2 or 4; got 3"):
        FDCHPlus(pair_bits=3)
    with pytest.raises(SettingError, match="label_numbers must be 0 or more; got -1"):
        FDCHPlus(label_numbers=-1)


@pytest.mark.parametrize("bits", [8, 512])
def test_short_and_long_codes_are_trained(factor_pairs, bits):
    pairs = factor_pairs(60)
    method = replace(small(label_numbers=4, pair_numbers=8), bits=bits).fit(pairs)
    assert method.encode_texts(pairs.texts).bits == bits
    assert method.bytes_per_item == bits // 8 + 1 + 1


@pytest.mark.parametrize("bits", [1, 2, 4])
def test_numbers_are_read_as_they_were_packed(bits):
    layout = Numbers(13, bits)
    rng = np.random.default_rng(bits)
    numbers = 2 * rng.integers(0, 2**bits, (50, 13)) - (2**bits - 1)
    packed = layout.pack(numbers.astype(np.int8))
    assert packed.shape == (50, layout.bytes)
    np.testing.assert_array_equal(layout.unpack(packed), numbers)
