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
    stated = random.random(100_000)
    found = measure_reliability(stated, random.random(100_000) < stated)
    assert found.error < 0.01
    assert abs(found.gap) < 0.01
    assert measure_reliability([1.0], [1]).curve == ((1.0, 1.0, 1),)
