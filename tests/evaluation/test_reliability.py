"""Stated probabilities beside the truth."""

import numpy as np
import pytest

from fdch.evaluation.calibration.reliability import measure_reliability


def test_a_curve_by_hand():
    found = measure_reliability([[0.95, 0.85], [0.83, 0.1]], [[1, 1], [0, 0]])
    assert found.stated == pytest.approx(0.6825)
    assert found.true == 0.5
    assert found.gap == pytest.approx(0.1825)
    assert found.curve == ((0.1, 0.0, 1), (0.84, 0.5, 2), (0.95, 1.0, 1))
    # |.1 - 0| + |1.68 - 1| + |.95 - 1|, of four results
    assert found.error == pytest.approx((0.1 + 0.68 + 0.05) / 4)
    document = found.to_json()
    assert document["curve"]["results"] == [1, 2, 1]
    assert document["gap"] == pytest.approx(0.1825)


def test_probabilities_that_hold_have_no_error():
    random = np.random.default_rng(0)
    stated = random.random((10_000, 10))
    found = measure_reliability(stated, random.random(stated.shape) < stated)
    assert found.error < 0.01
    assert abs(found.gap) < 0.01
    assert measure_reliability([[1.0]], [[1]]).curve == ((1.0, 1.0, 1),)


def test_lists_are_compared_by_fifths_of_the_queries():
    """Twelve queries of two results: the lowest fifth has the first three of them."""
    means = np.array([0.5, 0.1, 0.9, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.85, 0.95, 0.55])
    stated = np.stack([means - 0.05, means + 0.05], axis=1)
    relevant = np.stack([means > 0.15, means > 0.65], axis=1)
    found = measure_reliability(stated, relevant).lists
    assert [queries for *_, queries in found] == [3, 2, 3, 2, 2]
    assert found[0] == pytest.approx(((0.1 + 0.2 + 0.3) / 3, 2 / 6, 3), abs=1e-6)
    assert found[-1] == pytest.approx(((0.9 + 0.95) / 2, 1.0, 2))
    document = measure_reliability(stated, relevant).to_json()
    assert document["lists"]["queries"] == [3, 2, 3, 2, 2]
    assert sum(document["curve"]["results"]) == 24
    assert len(measure_reliability(stated[:2], relevant[:2]).lists) == 2
