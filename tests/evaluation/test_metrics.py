import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdch.codes import binarize
from fdch.errors import SettingError
from fdch.evaluation.histograms import Histograms, distance_histograms
from fdch.evaluation.metrics import average_precision, chance, ndcg_at, precision_at


def counted(distances, relevant, bits=4):
    """Histograms of one query, from the distance and relevance of each item."""
    distances, relevant = np.asarray(distances), np.asarray(relevant, dtype=bool)
    return Histograms(
        np.bincount(distances, minlength=bits + 1)[None],
        np.bincount(distances[relevant], minlength=bits + 1)[None],
    )


def orders(distances):
    """Every order of the items by distance, tied ones in all ways."""
    groups = [
        [i for i, distance in enumerate(distances) if distance == value]
        for value in sorted(set(distances))
    ]
    for parts in itertools.product(*map(itertools.permutations, groups)):
        yield [item for part in parts for item in part]


def slow_average_precision(ranked, cutoff=None):
    total, found = 0.0, 0
    for rank, is_relevant in enumerate(ranked[:cutoff], start=1):
        if is_relevant:
            found += 1
            total += found / rank
    return total / found if found else 0.0


def enumerated(ranking, score):
    distances, relevant = ranking
    return [score([relevant[i] for i in order]) for order in orders(distances)]


rankings = st.integers(1, 7).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 4), min_size=n, max_size=n),
        st.lists(st.booleans(), min_size=n, max_size=n).filter(any),
    )
)


@given(rankings)
def test_expected_best_and_worst_agree_with_all_permutations(ranking):
    values = enumerated(ranking, slow_average_precision)
    counts = counted(*ranking)
    assert average_precision(counts)[0] == pytest.approx(np.mean(values), abs=1e-14)
    assert average_precision(counts, "best")[0] == pytest.approx(max(values))
    assert average_precision(counts, "worst")[0] == pytest.approx(min(values))


@given(rankings, st.integers(1, 8))
def test_cut_scores_agree_with_all_permutations(ranking, cutoff):
    values = enumerated(ranking, lambda r: slow_average_precision(r, cutoff))
    counts = counted(*ranking)
    expected = average_precision(counts, cutoff=cutoff)[0]
    assert expected == pytest.approx(np.mean(values), abs=1e-13)
    assert average_precision(counts, "best", cutoff)[0] == pytest.approx(max(values))
    assert average_precision(counts, "worst", cutoff)[0] == pytest.approx(min(values))


@given(rankings, st.integers(1, 8))
def test_precision_at_k_agrees_with_all_permutations(ranking, k):
    values = enumerated(ranking, lambda r: np.mean(r[:k]))
    assert precision_at(counted(*ranking), k)[0] == pytest.approx(np.mean(values))


graded_rankings = st.integers(1, 6).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 4), min_size=n, max_size=n),
        st.lists(st.integers(0, 3), min_size=n, max_size=n).filter(any),
    )
)


def counted_grades(distances, shared, bits=4):
    """Histograms of one query, from the distance and shared labels of each item."""
    graded = np.zeros((1, bits + 1, max(shared) + 1), dtype=np.int64)
    for distance, number in zip(distances, shared, strict=True):
        graded[0, distance, number] += 1
    relevant = graded[:, :, 1:].sum(axis=2)
    return Histograms(graded.sum(axis=2), relevant, graded=graded)


def slow_gain(ranked, k):
    """The sum of gains over ranks, 2^n - 1 for n shared labels, discounted."""
    return sum(
        (2**number - 1) / math.log2(rank + 1)
        for rank, number in enumerate(ranked[:k], start=1)
    )


@given(graded_rankings, st.integers(1, 7))
def test_ndcg_agrees_with_all_permutations(ranking, k):
    distances, shared = ranking
    gains = [slow_gain([shared[i] for i in order], k) for order in orders(distances)]
    best = slow_gain(sorted(shared, reverse=True), k)
    found = ndcg_at(counted_grades(*ranking), k)[0]
    assert found == pytest.approx(np.mean(gains) / best, abs=1e-13)


def test_the_best_order_has_an_ndcg_of_one_and_the_worst_less():
    assert ndcg_at(counted_grades([0, 1, 2], [3, 2, 0]), 10)[0] == pytest.approx(1)
    assert ndcg_at(counted_grades([2, 1, 0], [3, 2, 0]), 10)[0] < 0.7


def test_a_thousand_shared_labels_do_not_overflow():
    graded = np.zeros((2, 3, 1501), dtype=np.int64)
    graded[0, 0, 1500] = graded[0, 1, 1499] = 1  # best first: perfect
    graded[1, 0, 0] = graded[1, 1, 1] = 1  # one label shared, at rank 2
    counts = Histograms(graded.sum(2), graded[:, :, 1:].sum(2), graded=graded)
    assert ndcg_at(counts, 10) == pytest.approx([1, 1 / math.log2(3)])


def test_ndcg_needs_answers_a_rank_and_graded_counts():
    assert np.isnan(ndcg_at(counted_grades([0, 1], [0, 0]), 10)[0])
    with pytest.raises(SettingError, match="got 0"):
        ndcg_at(counted_grades([0], [1]), 0)
    with pytest.raises(SettingError, match="graded=True"):
        ndcg_at(counted([0], [1]), 10)


def test_an_extra_answer_inside_the_cut_can_lower_the_score():
    # The cut at 11 runs through the last two items, one of them relevant.
    counts = counted([0] + [1] * 9 + [2, 2], [1] + [0] * 9 + [1, 0])
    assert average_precision(counts, "best", 11)[0] == pytest.approx(1)
    assert average_precision(counts, "worst", 11)[0] == pytest.approx((1 + 2 / 11) / 2)
    between = (1 + (1 + 2 / 11) / 2) / 2
    assert average_precision(counts, cutoff=11)[0] == pytest.approx(between)


@given(st.lists(st.booleans(), min_size=1, max_size=40).filter(any))
def test_without_ties_every_form_is_ordinary_average_precision(relevant):
    counts = counted(range(len(relevant)), relevant, bits=40)
    expected = pytest.approx(slow_average_precision(relevant))
    assert average_precision(counts)[0] == expected
    assert average_precision(counts, "best")[0] == expected
    assert average_precision(counts, "worst")[0] == expected


def slow_expected_average_precision(items, relevant):
    """The sum of McSherry and Najork, term by term."""
    total, ahead, found = 0.0, 0, 0
    for n, r in zip(items, relevant, strict=True):
        for j in range(1, n + 1):
            inner = (j - 1) * (r - 1) / (n - 1) if n > 1 else 0.0
            total += r / n * (found + 1 + inner) / (ahead + j)
        ahead, found = ahead + n, found + r
    return total / found


def test_the_closed_form_equals_the_sum_for_a_large_database():
    rng = np.random.default_rng(0)
    items = rng.multinomial(18_015, rng.dirichlet(np.ones(17)), size=3)
    relevant = rng.binomial(items, rng.random((3, 17)))
    answers = average_precision(Histograms(items, relevant))
    for row in range(3):
        expected = slow_expected_average_precision(items[row], relevant[row])
        assert answers[row] == pytest.approx(expected, rel=1e-12)


def test_the_cut_form_equals_a_simulation_through_a_large_group():
    rng = np.random.default_rng(1)
    counts = Histograms(np.array([[20, 400]]), np.array([[11, 150]]))
    ranked = [rng.permutation([1] * 11 + [0] * 9) for _ in range(4000)]
    values = [
        slow_average_precision([*head, *rng.permutation([1] * 150 + [0] * 250)][:60])
        for head in ranked
    ]
    expected = average_precision(counts, cutoff=60)[0]
    assert abs(expected - np.mean(values)) < 4 * np.std(values) / np.sqrt(4000)


def test_a_perfect_ranking_scores_one():
    counts = counted([0, 0, 1, 3, 3], [1, 1, 1, 0, 0])
    for ties in ("expected", "best", "worst"):
        assert average_precision(counts, ties)[0] == pytest.approx(1)
        assert average_precision(counts, ties, 2)[0] == pytest.approx(1)
    assert precision_at(counts, 3)[0] == 1


def test_codes_all_alike_score_near_chance():
    counts = counted([2] * 10_000, [1, 0, 0, 1] * 2500)
    assert average_precision(counts)[0] == chance(counts)[0]
    assert chance(counts)[0] == pytest.approx(0.5, abs=1e-3)


@given(rankings, st.one_of(st.none(), st.integers(1, 8)))
def test_chance_is_the_mean_over_all_orders_of_the_database(ranking, cutoff):
    distances, relevant = ranking
    alike = [0] * len(distances), relevant
    values = enumerated(alike, lambda r: slow_average_precision(r, cutoff))
    found = chance(counted(*ranking), cutoff)[0]
    assert found == pytest.approx(np.mean(values), abs=1e-13)


@pytest.mark.parametrize(
    ("items", "relevant", "cutoff", "expected"),
    [(1000, 100, 10, 0.219), (50, 2, None, 0.109), (18_015, 900, None, 0.0505)],
)
def test_chance_lies_above_the_share_in_short_lists(items, relevant, cutoff, expected):
    counts = Histograms(np.array([[items]]), np.array([[relevant]]))
    places = 4 if expected < 0.1 else 3
    assert round(chance(counts, cutoff)[0], places) == expected


def test_queries_without_answers_have_no_score():
    counts = Histograms(np.array([[1, 1], [1, 1]]), np.array([[0, 0], [1, 0]]))
    for values in (
        average_precision(counts),
        average_precision(counts, cutoff=1),
        precision_at(counts, 1),
        chance(counts),
        chance(counts, cutoff=1),
    ):
        assert np.isnan(values).tolist() == [True, False]


def test_precision_beyond_the_database_is_that_of_the_whole():
    assert precision_at(counted([0, 1], [1, 0]), 100)[0] == 0.5


def test_answers_beyond_the_cut_leave_zero():
    counts = counted([0, 1], [0, 1])
    assert average_precision(counts, cutoff=1)[0] == 0


problems = st.tuples(st.integers(0, 999), st.integers(1, 12), st.integers(1, 40))


@given(problems, st.one_of(st.none(), st.integers(1, 45)))
def test_expected_and_stable_lie_between_worst_and_best(shape, cutoff):
    given_problem = problem(*shape)
    counts = distance_histograms(*given_problem, stable=True, cutoff=cutoff)
    best = average_precision(counts, "best", cutoff) + 1e-12
    worst = average_precision(counts, "worst", cutoff) - 1e-12
    valid = ~np.isnan(best)
    for middle in (average_precision(counts, cutoff=cutoff), counts.stable):
        assert middle is not None
        assert ((worst <= middle) & (middle <= best))[valid].all()


@given(problems)
def test_the_order_of_database_and_queries_does_not_matter(shape):
    query_codes, database_codes, query_labels, database_labels = problem(*shape)
    rng = np.random.default_rng(shape[0])
    items, queries = rng.permutation(len(database_codes)), rng.permutation(4)
    plain = distance_histograms(
        query_codes, database_codes, query_labels, database_labels
    )
    mixed = distance_histograms(
        query_codes[queries],
        database_codes[items],
        query_labels[queries],
        database_labels[items],
    )
    before, after = average_precision(plain), average_precision(mixed)
    assert np.array_equal(before[queries], after, equal_nan=True)


def problem(seed, bits, size):
    rng = np.random.default_rng(seed)
    return (
        binarize(rng.standard_normal((4, bits))),
        binarize(rng.standard_normal((size, bits))),
        rng.integers(0, 2, (4, 3)),
        rng.integers(0, 2, (size, 3)),
    )


def test_unknown_ties_are_refused():
    with pytest.raises(SettingError, match="'luck'"):
        average_precision(counted([0], [1]), "luck")  # type: ignore[arg-type]


def test_precision_at_rank_zero_is_refused():
    with pytest.raises(SettingError, match="got 0"):
        precision_at(counted([0], [1]), 0)
