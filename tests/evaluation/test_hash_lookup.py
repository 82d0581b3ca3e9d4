import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdch.errors import LabelError, SettingError
from fdch.evaluation.hash_lookup import LookupTotals
from fdch.evaluation.histograms import Histograms


def lookup_curve(blocks, average="micro", empty="zero"):
    totals = LookupTotals(average, empty)
    for block in [blocks] if isinstance(blocks, Histograms) else blocks:
        totals.add(block)
    return totals.curve()


# Two queries, distances 0 to 2: the first retrieves nothing at radius 0.
HAND = Histograms(np.array([[0, 2, 2], [1, 0, 3]]), np.array([[0, 1, 0], [1, 0, 1]]))


def test_the_micro_average_pools_the_queries():
    curve = lookup_curve(HAND)
    assert curve.radius == (0, 1, 2)
    assert curve.precision == pytest.approx((1 / 1, 2 / 3, 3 / 8))
    assert curve.recall == pytest.approx((1 / 3, 2 / 3, 3 / 3))


def test_the_macro_average_counts_an_empty_ball_as_zero():
    curve = lookup_curve(HAND, "macro", "zero")
    assert curve.precision == pytest.approx(
        (1 / 2, (1 / 2 + 1) / 2, (1 / 4 + 1 / 2) / 2)
    )
    assert curve.recall == pytest.approx((1 / 4, (1 + 1 / 2) / 2, 1))


@pytest.mark.parametrize("average", ["micro", "macro"])
def test_chance_is_the_share_of_relevant_items(average):
    assert lookup_curve(HAND, average).chance == pytest.approx(3 / 8)


def test_the_macro_average_can_skip_an_empty_ball():
    curve = lookup_curve(HAND, "macro", "skip")
    assert curve.precision == pytest.approx((1, (1 / 2 + 1) / 2, (1 / 4 + 1 / 2) / 2))


@pytest.mark.parametrize("average", ["micro", "macro"])
def test_a_radius_where_nobody_retrieves_anything_is_null(average):
    empty = Histograms(np.array([[0, 2]]), np.array([[0, 1]]))
    written = lookup_curve(empty, average, "skip").to_json()
    assert written["precision"] == [None, 0.5]
    assert written["recall"] == [0.0, 1.0]
    json.dumps(written, allow_nan=False)


def test_queries_without_answers_take_no_part():
    more = Histograms(
        np.vstack([HAND.items, [[4, 0, 0]]]), np.vstack([HAND.relevant, [[0, 0, 0]]])
    )
    for average in ("micro", "macro"):
        assert lookup_curve(more, average) == lookup_curve(HAND, average)


def slow_curve(counts, average, empty):
    points = []
    for radius in range(counts.items.shape[1]):
        ratios, hits, retrieved, answers, recalls = [], 0, 0, 0, []
        for items, relevant in zip(counts.items, counts.relevant, strict=True):
            if not relevant.sum():
                continue
            ball, good = items[: radius + 1].sum(), relevant[: radius + 1].sum()
            hits, retrieved, answers = (
                hits + good,
                retrieved + ball,
                answers + relevant.sum(),
            )
            recalls.append(good / relevant.sum())
            if ball or empty == "zero":
                ratios.append(good / ball if ball else 0.0)
        if average == "micro":
            points.append((hits / retrieved if retrieved else np.nan, hits / answers))
        else:
            points.append((np.mean(ratios) if ratios else np.nan, np.mean(recalls)))
    return np.array(points).T


@given(
    st.integers(0, 999),
    st.sampled_from(["micro", "macro"]),
    st.sampled_from(["zero", "skip"]),
)
def test_blocks_of_queries_give_the_curve_of_a_plain_loop(seed, average, empty):
    rng = np.random.default_rng(seed)
    items = rng.integers(0, 3, (6, 5))
    items[:, -1] += 1
    relevant = rng.integers(0, items + 1)
    relevant[0, -1] = 1
    blocks = [Histograms(items[i : i + 2], relevant[i : i + 2]) for i in (0, 2, 4)]
    curve = lookup_curve(iter(blocks), average, empty)
    expected = slow_curve(Histograms(items, relevant), average, empty)
    points = np.array([curve.precision, curve.recall], dtype=float)
    np.testing.assert_allclose(points, expected)
    assert curve.recall[-1] == 1


def test_no_answers_at_all_is_an_error():
    with pytest.raises(LabelError, match="shares a label"):
        lookup_curve(Histograms(np.array([[1]]), np.array([[0]])))


def test_an_unknown_average_is_refused():
    with pytest.raises(SettingError, match="'median'"):
        lookup_curve(HAND, "median")
