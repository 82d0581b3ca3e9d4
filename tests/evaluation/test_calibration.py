"""Probabilities that mean what they say and never rise with the distance."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdch.codes import binarize, hamming_distances, weighted_distances
from fdch.errors import DataError
from fdch.evaluation import calibration
from fdch.evaluation.calibration import (
    STEPS,
    Calibration,
    calibration_error,
    falling,
    fit_calibration,
)

BITS = 24


def noisy_outputs(labels, seed, noise=1.5):
    """Outputs that know the labels, more or less."""
    random = np.random.default_rng(seed)
    meaning = np.random.default_rng(5).normal(size=(labels.shape[1], BITS))
    return labels @ meaning + noise * random.normal(size=(len(labels), BITS))


def drawn_labels(items, seed):
    random = np.random.default_rng(seed)
    labels = (random.random((items, 5)) < 0.15).astype(np.uint8)
    labels[np.arange(items), random.integers(0, 5, items)] = 1
    return labels


@pytest.fixture(scope="module")
def fitted():
    labels = drawn_labels(250, 1)
    outputs = {"image": noisy_outputs(labels, 2), "pair": noisy_outputs(labels, 3, 0.7)}
    found = fit_calibration(outputs, labels)
    assert found is not None
    return found


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("asking", "noise"), [("image", 1.5), ("pair", 0.7)])
def test_new_pairs_are_relevant_as_often_as_said(fitted, asking, noise, weighted):
    asks, held = drawn_labels(300, 11), drawn_labels(900, 12)
    outputs = noisy_outputs(asks, 13, noise)
    codes = binarize(noisy_outputs(held, 14, 0.7))
    distances = (
        weighted_distances(outputs, codes)
        if weighted
        else hamming_distances(binarize(outputs), codes)
    )
    said = [
        fitted.probabilities(asking, ["pair"] * len(row), row, weighted)
        for row in distances
    ]
    relevant = asks @ held.T > 0
    assert calibration_error(np.ravel(said), relevant.ravel()) < 0.03
    nearest = np.argsort(distances, axis=1, kind="stable")[:, :10]
    shown = np.take_along_axis(np.array(said), nearest, 1).ravel()
    true = np.take_along_axis(relevant, nearest, 1).ravel()
    assert calibration_error(shown, true) < 0.06


def test_curves_never_rise(fitted):
    for curves in fitted.curves.values():
        for curve in curves.values():
            assert len(curve.plain) == BITS + 1
            assert len(curve.weighted) == STEPS * BITS + 1
            for shares in (curve.plain, curve.weighted):
                assert np.all(np.diff(shares) <= 0)
                assert 0 < shares[-1] <= shares[0] < 1


def test_what_was_not_fitted_has_no_probability(fitted):
    assert fitted.probabilities("text", ["pair"], [3]) == [None]
    said = fitted.probabilities("image", ["pair", "code", "text"], [0, 0, 0])
    assert said == [fitted.curves["image"]["pair"].plain[0], None, None]


def test_the_farthest_distance_holds_all_that_are_probable(fitted):
    for least in (0.2, 0.5, 0.8):
        radius = fitted.farthest("image", least)
        curves = fitted.curves["image"].values()
        assert any(curve.plain[radius] >= least for curve in curves)
        assert all(curve.plain[radius + 1] < least for curve in curves)
    assert fitted.farthest("image", 1.0) == -1
    assert fitted.farthest("text", 0.1) == -1
    assert fitted.farthest("image", 0.0) == BITS


def test_the_surest_is_as_sure_as_anything_can_be(fitted):
    surest = fitted.surest("image")
    assert fitted.farthest("image", surest + 1e-6) == -1
    assert surest == max(
        found
        for kind in fitted.curves["image"]
        for weighted in (False, True)
        for found in fitted.probabilities("image", [kind], [0], weighted)
    )
    assert fitted.surest("text") == 0


def test_a_pair_does_not_find_itself():
    labels = np.eye(2, dtype=np.uint8)[[0, 0, 1]]
    outputs = {"image": np.array([[1.0] * 4, [-1.0] * 4, [1.0] * 4])}
    found = fit_calibration(outputs, labels)
    assert found is not None
    # of six comparisons two are right, both at distance 4; none at distance 0
    assert (found.curves["image"]["image"].plain < 0.5).all()


def test_too_few_pairs_give_no_calibration():
    one = {"image": np.ones((1, 4))}
    assert fit_calibration(one, np.ones((1, 2), np.uint8)) is None
    two = {"image": np.ones((2, 4))}
    assert fit_calibration(two, np.eye(2, dtype=np.uint8)) is None


def test_rows_taken_some_at_a_time_give_the_same(monkeypatch):
    labels = drawn_labels(40, 1)
    outputs = {"image": noisy_outputs(labels, 2)}
    whole = fit_calibration(outputs, labels)
    monkeypatch.setattr(calibration, "ROWS_AT_A_TIME", 7)
    parts = fit_calibration(outputs, labels)
    assert whole is not None and parts is not None
    assert whole.to_json() == parts.to_json()


def test_of_many_pairs_some_are_drawn_the_same_each_time(monkeypatch):
    monkeypatch.setattr(calibration, "MAX_PAIRS", 120)
    labels = drawn_labels(400, 1)
    outputs = {"image": noisy_outputs(labels, 2), "text": noisy_outputs(labels, 3)}
    found = fit_calibration(outputs, labels)
    again = fit_calibration(outputs, labels)
    assert found is not None and again is not None
    assert found.pairs == 120
    assert found.to_json() == again.to_json()
    # rows of outputs and labels stay together: near is more probable than far
    for curves in found.curves.values():
        for curve in curves.values():
            assert curve.plain[0] > curve.plain[-1] + 0.2


def test_as_many_pairs_as_may_be_are_all_taken(monkeypatch):
    labels = drawn_labels(120, 1)
    outputs = {"image": noisy_outputs(labels, 2)}
    free = fit_calibration(outputs, labels)
    monkeypatch.setattr(calibration, "MAX_PAIRS", 120)
    bound = fit_calibration(outputs, labels)
    assert free is not None and bound is not None
    assert free.to_json() == bound.to_json()


def test_memory_does_not_grow_with_the_square_of_the_pairs(monkeypatch):
    monkeypatch.setattr(calibration, "ROWS_AT_A_TIME", 16)
    labels = drawn_labels(3000, 1)
    outputs = {"image": noisy_outputs(labels, 2)}
    tracemalloc.start()
    try:
        fit_calibration(outputs, labels)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 3000**2


counted = st.tuples(st.integers(0, 1000), st.integers(0, 1000)).map(sorted)


@given(st.lists(counted, min_size=1, max_size=70))
def test_shares_of_any_counts_fall(counts):
    relevant, total = np.array(counts).T
    shares = falling(relevant, total)
    assert len(shares) == len(counts)
    assert np.all(np.diff(shares) <= 0)
    assert shares.min() >= 0
    assert shares.max() <= 1


def test_rich_counts_are_left_alone_and_poor_ones_borrow():
    total = np.array([0, 5, 10_000, 10_000, 10_000])
    relevant = np.array([0, 0, 9_000, 5_000, 1_000])
    shares = falling(relevant, total)
    assert shares[2:] == pytest.approx([0.9, 0.5, 0.1], abs=1e-3)
    assert shares[1] == pytest.approx(shares[2], abs=1e-3)


def test_it_returns_from_json(fitted):
    again = Calibration.from_json(fitted.to_json())
    assert again.to_json() == fitted.to_json()


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda d: d.update(bits=0), "whole number of 1"),
        (lambda d: d["curves"].update(sound={}), "has 'sound'"),
        (lambda d: d["curves"]["image"]["pair"].pop("plain"), "no 'plain'"),
        (lambda d: d["curves"]["image"]["pair"]["plain"].pop(), "25 numbers"),
        (lambda d: d["curves"]["image"]["pair"]["plain"].reverse(), "never rise"),
        (lambda d: d["curves"]["image"]["pair"]["plain"].append("x"), "numbers"),
    ],
)
def test_what_was_changed_is_named(fitted, change, complaint):
    document = fitted.to_json()
    change(document)
    with pytest.raises(DataError, match=complaint):
        Calibration.from_json(document)
