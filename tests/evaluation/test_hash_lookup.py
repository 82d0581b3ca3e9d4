import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdch.errors import DataError, LabelError
from fdch.evaluation.hash_lookup import LookupCurve, LookupTotals
from fdch.evaluation.histograms import Histograms


def lookup_curve(*blocks):
    totals = LookupTotals()
    for block in blocks:
        totals.add(block)
    return totals.curve()


# Two queries, distances 0 to 2: the first retrieves nothing at radius 0.
HAND = Histograms(np.array([[0, 2, 2], [1, 0, 3]]), np.array([[0, 1, 0], [1, 0, 1]]))


def test_the_queries_are_pooled():
    curve = lookup_curve(HAND)
    assert curve.radius == (0, 1, 2)
    assert curve.precision == pytest.approx((1 / 1, 2 / 3, 3 / 8))
    assert curve.recall == pytest.approx((1 / 3, 2 / 3, 3 / 3))


def test_chance_is_the_share_of_relevant_items():
    assert lookup_curve(HAND).chance == pytest.approx(3 / 8)


def test_a_radius_where_nobody_retrieves_anything_has_no_precision():
    curve = lookup_curve(Histograms(np.array([[0, 2]]), np.array([[0, 1]])))
    assert curve.precision == (None, 0.5)
    assert curve.recall == (0.0, 1.0)


def test_queries_without_answers_take_no_part():
    more = Histograms(
        np.vstack([HAND.items, [[4, 0, 0]]]), np.vstack([HAND.relevant, [[0, 0, 0]]])
    )
    assert lookup_curve(more) == lookup_curve(HAND)


def slow_curve(counts):
    points = []
    for radius in range(counts.items.shape[1]):
        hits = retrieved = answers = 0
        for items, relevant in zip(counts.items, counts.relevant, strict=True):
            if relevant.sum():
                hits += relevant[: radius + 1].sum()
                retrieved += items[: radius + 1].sum()
                answers += relevant.sum()
        points.append((hits / retrieved if retrieved else np.nan, hits / answers))
    return np.array(points).T


@given(st.integers(0, 999))
def test_blocks_of_queries_give_the_curve_of_a_plain_loop(seed):
    rng = np.random.default_rng(seed)
    items = rng.integers(0, 3, (6, 5))
    items[:, -1] += 1
    relevant = rng.integers(0, items + 1)
    relevant[0, -1] = 1
    blocks = [Histograms(items[i : i + 2], relevant[i : i + 2]) for i in (0, 2, 4)]
    curve = lookup_curve(*blocks)
    points = np.array([curve.precision, curve.recall], dtype=float)
    np.testing.assert_allclose(points, slow_curve(Histograms(items, relevant)))
    assert curve.recall[-1] == 1


def test_no_answers_at_all_is_an_error():
    with pytest.raises(LabelError, match="shares a label"):
        lookup_curve(Histograms(np.array([[1]]), np.array([[0]])))


def test_a_curve_has_one_point_to_each_radius():
    with pytest.raises(DataError, match="got 3, 2, 1"):
        LookupCurve((0, 1, 2), (0.5, 0.5), (1.0,))
    with pytest.raises(DataError, match="radius 0, 1, 2"):
        LookupCurve((1, 2), (0.5, 0.5), (1.0, 1.0))
