"""FDCH+ against loops: supposed similarity, pairs alone, the order of candidates."""

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch

from fdch.errors import SettingError
from fdch.methods.fdch_plus import FDCHPlus, PairLoss
from fdch.runs.encoding import encode_pairs
from fdch.training import batches
from fdch.training.ordering import to_units
from fdch.training.pair_ordering import (
    LABEL_WEIGHTS,
    PAIR_WEIGHTS,
    PairOrdering,
    spread_odds,
)
from fdch.training.quantizer import fit_books, quantize, restore
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


def ordering_of(method: FDCHPlus) -> PairOrdering:
    assert method.ordering is not None
    return method.ordering


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


def read_bytes(stored, books):
    """Add up what bytes stand for, one by one."""
    return sum(books[place, byte] for place, byte in enumerate(stored.view(np.uint8)))


def test_candidates_are_ordered_by_codes_labels_and_likeness(factor_pairs):
    pairs = factor_pairs(80)
    method = small(pair_weight=0.7, shared_weight=1.4).fit(pairs)
    images, texts = pairs.images.values, pairs.texts.matrix
    order, networks = ordering_of(method), method._networks
    vectors, codes = order.text_vectors(texts), method.encode_texts(pairs.texts)
    assert vectors.dtype == np.int8 and vectors.shape == (80, 8)
    found = order.weigh_images(images).score(codes, vectors)
    outputs, signs = method.image_outputs(images), codes.signs()
    own = spread(batches.image_outputs(networks["label_image"], images))
    likeness = to_units(batches.image_outputs(networks["pair_image"], images))
    likeness = likeness - order.means[0]
    for i in range(3):
        for j in range(80):
            by_code = outputs[i] @ signs[j] / np.linalg.norm(outputs[i]) / math.sqrt(8)
            by_labels = own[i] @ read_bytes(vectors[j, :3], order.label_books)
            alike = likeness[i] @ read_bytes(vectors[j, 3:], order.pair_books)
            alike /= np.linalg.norm(likeness[i])
            expected = by_code / order.scales.codes
            expected += 1.4 * by_labels / order.scales.labels
            expected += 0.7 * max(0.0, alike / order.scales.pairs - 1.5)
            assert found[i, j] == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_known_outputs_of_queries_are_not_computed_again(factor_pairs, monkeypatch):
    pairs = factor_pairs(40)
    method = small().fit(pairs)
    images, texts = pairs.images.values, pairs.texts.matrix
    order = ordering_of(method)
    known = method.image_outputs(images), method.text_outputs(texts)
    found = order.weigh_images(images), order.weigh_texts(texts)
    for role in ("image", "text"):
        monkeypatch.delitem(method._networks, role)
    again = order.weigh_images(images, known[0]), order.weigh_texts(texts, known[1])
    for one, other in zip(found, again, strict=True):
        assert (one.weights == other.weights).all()
        for part, same in zip(one.parts, other.parts, strict=True):
            assert (part.weights == same.weights).all()


def test_vectors_are_stored_as_the_centres_nearest_to_what_is_left():
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((300, 5)).astype(np.float32)
    books = fit_books(vectors, 3, seed=0)
    stored = quantize(vectors, books).view(np.uint8)
    for vector, own in zip(vectors[:50], stored, strict=False):
        rest = vector.astype(float)
        for book, byte in zip(books, own, strict=True):
            distances = [((rest - centre) ** 2).sum() for centre in book]
            assert distances[byte] == pytest.approx(min(distances), rel=1e-5)
            rest = rest - book[byte]


def test_every_byte_brings_unseen_vectors_nearer():
    rng = np.random.default_rng(0)
    turn = rng.standard_normal((4, 12))
    drawn = rng.standard_normal((3200, 4)) @ turn
    seen, unseen = np.split(drawn.astype(np.float32), [3000])
    books = fit_books(seen, 4, seed=0)
    errors = [
        np.square(unseen - restore(quantize(unseen, books[:n]), books[:n])).sum()
        for n in range(5)
    ]
    assert all(after < 0.6 * before for before, after in pairwise(errors))


def test_few_vectors_are_not_learned_by_heart():
    vectors = np.random.default_rng(0).standard_normal((50, 6)).astype(np.float32)
    books = fit_books(vectors, 2, seed=0)
    assert books.shape == (2, 256, 6)
    assert np.any(books, axis=2).sum(axis=1).tolist() == [5, 5]


def test_products_of_spread_odds_say_which_labels_two_items_share():
    odds = np.random.default_rng(0).normal(-2, 2, (300, 6))
    np.testing.assert_allclose(spread_odds(odds), spread(odds), rtol=1e-6)
    p, found = 1 / (1 + np.exp(-odds)), spread(odds) @ spread(odds).T
    for query in range(20):
        together = [1 - np.prod(1 - p[query] * b) for b in p]
        first, second = (np.argsort(np.argsort(x)) for x in (together, found[query]))
        assert np.corrcoef(first, second)[0, 1] > 0.8


def test_odds_may_be_certain():
    found = spread_odds(np.array([-1e9, 1e9]))
    np.testing.assert_allclose(found, [0, -np.log(0.1)], rtol=1e-6)


def test_a_pair_is_stored_by_what_both_sides_say(factor_pairs):
    pairs = factor_pairs(60)
    method = small().fit(pairs)
    images, texts = pairs.images.values, pairs.texts.matrix
    order, networks = ordering_of(method), method._networks
    share = pairs.labels.mean(axis=0)
    odds = batches.image_outputs(networks["label_image"], images)
    odds = odds + batches.text_outputs(networks["label_text"], texts)
    odds = odds - np.log(share / (1 - share))
    F = to_units(batches.image_outputs(networks["pair_image"], images)) - order.means[0]
    G = to_units(batches.text_outputs(networks["pair_text"], texts)) - order.means[1]
    between = []
    for f, g in zip(F, G, strict=True):
        length = (np.linalg.norm(f) + np.linalg.norm(g)) / 2
        between.append((f + g) / np.linalg.norm(f + g) * length)
    found = order.pair_vectors(images, texts)
    labels = quantize(spread(odds), order.label_books)
    likeness = quantize(np.array(between), order.pair_books)
    assert (found == np.hstack([labels, likeness])).mean() > 0.95  # but for rounding


def test_without_bytes_codes_alone_order(factor_pairs):
    pairs = factor_pairs(60)
    method = small(label_bytes=0, pair_bytes=0).fit(pairs)
    assert (method.ordering, method.bytes_per_item) == (None, 1)
    encoded = encode_pairs(method, pairs)
    assert (encoded.orders, encoded.vectors) == ({}, {})
    again = small(label_bytes=0, pair_bytes=0).restore(method.state())
    assert again.ordering is None


def test_weights_are_those_that_find_labels_and_partners_best(factor_pairs):
    pairs = factor_pairs(200)
    method = small().fit(pairs[:80], pairs[80:])
    order, rest = ordering_of(method), pairs[80:]
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
    method = small().fit(pairs[:80], pairs[80:])
    assert ordering_of(method).weights == (1.0, 0.5)


def test_a_weight_that_is_set_is_kept(factor_pairs):
    pairs = factor_pairs(200)
    method = small(shared_weight=0.9)
    method.fit(pairs[:80], pairs[80:])
    assert ordering_of(method).weights.labels == 0.9
    assert ordering_of(method).weights.pairs in PAIR_WEIGHTS
    assert "shared_weight" not in method.chosen


def test_no_weight_is_chosen_for_what_is_not_stored(factor_pairs):
    pairs = factor_pairs(60)
    bare = replace(pairs, labels=np.zeros_like(pairs.labels))
    assert {"pair_weight", "shared_weight"} <= set(small().fit(pairs).chosen)
    assert "shared_weight" not in small().fit(bare).chosen
    assert "pair_weight" not in small(pair_bytes=0).fit(pairs).chosen


def test_settings_out_of_range_are_refused():
    with pytest.raises(SettingError, match="label_bytes must be 0 or more; got -1"):
        FDCHPlus(label_bytes=-1)
    with pytest.raises(SettingError, match="an index keeps 1,024 bytes an item"):
        FDCHPlus(label_bytes=24, pair_bytes=1001)


@pytest.mark.parametrize("bits", [8, 512])
def test_short_and_long_codes_are_trained(factor_pairs, bits):
    pairs = factor_pairs(60)
    method = replace(small(label_bytes=1, pair_bytes=2), bits=bits).fit(pairs)
    assert method.encode_texts(pairs.texts).bits == bits
    assert method.bytes_per_item == bits // 8 + 1 + 2
