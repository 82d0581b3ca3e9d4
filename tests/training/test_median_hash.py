"""Outputs cut at their training medians."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdch.training.closed_form import LinearMap
from fdch.training.shallow.median_hash import MedianHash


def normal(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape)


def made(rows, bits=3, seed=1):
    linear = LinearMap(normal(seed, rows.shape[1], bits), rows.mean(axis=0))
    return MedianHash.fit(linear, rows)


@given(st.integers(2, 40), st.integers(0, 99))
def test_half_of_the_training_rows_are_above_zero(n, seed):
    rows = normal(seed, n, 5)
    above = (made(rows)(rows) >= 0).sum(axis=0)
    assert above.tolist() == [(n + 1) // 2] * 3


def test_other_rows_are_cut_at_the_training_medians():
    rows = normal(0, 30, 5)
    cut = made(rows)
    np.testing.assert_array_equal(cut(rows[:4]), cut(rows)[:4])
    shifted = rows + 100 * cut.linear.W[:, 0]
    assert (cut(shifted)[:, 0] > 0).all()


def test_it_round_trips_through_arrays_of_the_right_shape():
    cut = made(normal(0, 30, 5))
    arrays = cut.to_arrays("text")
    back = MedianHash.from_arrays(arrays, "text", (5, 3))
    assert back.medians is cut.medians and back.linear.W is cut.linear.W
    with pytest.raises(ValueError, match=r"medians has shape \(3,\); expected \(4,\)"):
        MedianHash.from_arrays(arrays, "text", (5, 4))
    with pytest.raises(ValueError, match=r"text.W has shape \(5, 3\)"):
        MedianHash.from_arrays(arrays, "text", (6, 3))
