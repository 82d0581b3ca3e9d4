"""Scores of a ranking by Hamming distance: the only definitions.

Codes of k bits give k + 1 distances, so most items are tied and the order among
them is arbitrary. Every score here is taken over the orders of tied items: its
mean over all of them, the best, or the worst. Average precision is

    AP = (1 / answers) * sum over relevant items of (relevant ones up to it) / rank.

With a cut-off at rank R the sum runs over the first R ranks and is divided by the
relevant items among these, and is 0 when there are none. Graded scores count the
labels that an item shares with the query: one that shares n of them gains 2^n - 1.
Queries without a relevant item in the database have no score (NaN) and are left
out of means.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln

from fdch.errors import SettingError
from fdch.evaluation.histograms import Histograms

Ties = Literal["expected", "best", "worst"]
Floats = NDArray[np.float64]


class Groups(NamedTuple):
    """Groups of tied items."""

    items: Floats  # in the group
    relevant: Floats  # those of them that are relevant
    ahead: Floats  # items at smaller distances
    found: Floats  # relevant items at smaller distances


def average_precision(
    counts: Histograms, ties: Ties = "expected", cutoff: int | None = None
) -> Floats:
    """Return the average precision of each query.

    Args:
        counts: Items and relevant items at each distance.
        ties: Mean over all orders of tied items, or their best or worst order.
        cutoff: Rank after which the list is cut; None for the whole database.

    Returns:
        One number per query, NaN where nothing in the database is relevant. With
        a cut-off "expected" is the mean of the cut score over all orders, its
        divisor included; "best" and "worst" are its extremes.

    >>> counts = Histograms(np.array([[1, 2]]), np.array([[1, 1]]))
    >>> average_precision(counts).round(4).tolist()  # (1 + 2/2) / 2, (1 + 2/3) / 2
    [0.9167]
    """
    if ties not in _SUMS:
        raise SettingError(f"unknown ties {ties!r}; use expected, best or worst.")
    answers = counts.relevant.sum(axis=1)
    groups = _groups(counts)
    if cutoff is None or cutoff >= counts.items.sum(axis=1).max(initial=0):
        averages = _SUMS[ties](groups).sum(axis=1) / np.maximum(answers, 1)
    else:
        averages = _cut_averages(groups, ties, cutoff)
    averages = np.clip(averages, 0, 1)  # rounding may end a hair outside
    return np.where(answers > 0, averages, np.nan)


def precision_at(counts: Histograms, k: int) -> Floats:
    """Return the expected share of relevant items among the first k of each query.

    Where the database has fewer than k items, the share among all of them.

    >>> counts = Histograms(np.array([[1, 4]]), np.array([[1, 2]]))
    >>> precision_at(counts, 3).round(4).tolist()  # 1 of 1, and half of two more
    [0.6667]
    """
    if k < 1:
        raise SettingError(f"precision is taken at a rank of 1 or more; got {k}.")
    groups = _groups(counts)
    taken = np.clip(k - groups.ahead, 0, groups.items)
    hits = taken * groups.relevant / np.maximum(groups.items, 1)
    shown = np.minimum(k, counts.items.sum(axis=1))
    shares = hits.sum(axis=1) / np.maximum(shown, 1)
    return np.where(counts.relevant.sum(axis=1) > 0, shares, np.nan)


def ndcg_at(counts: Histograms, k: int) -> Floats:
    """Return the expected NDCG of each query's first k items.

    The gain at rank i, 2^n - 1 for n shared labels, is divided by log2(i + 1); the
    sum over the first k ranks is divided by that of the best order of the database
    (Järvelin and Kekäläinen, 2002; the gain of Burges et al., 2005).

    Args:
        counts: Items at each distance, counted with `graded`.
        k: Ranks that count.

    Returns:
        One number per query, NaN where nothing in the database is relevant.

    >>> from fdch.codes import binarize
    >>> from fdch.evaluation.histograms import distance_histograms
    >>> codes = binarize([[1, 1], [1, -1]])
    >>> counts = distance_histograms(
    ...     codes[:1], codes, [[1, 1]], [[1, 0], [1, 1]], graded=True
    ... )
    >>> ndcg_at(counts, 10).round(4).tolist()  # (1 + 3 / log2(3)) / (3 + 1 / log2(3))
    [0.7967]
    """
    if k < 1:
        raise SettingError(f"NDCG is taken at a rank of 1 or more; got {k}.")
    if counts.graded is None:
        raise SettingError("NDCG needs counts of shared labels; pass graded=True.")
    graded = counts.graded.astype(float)
    grades = np.arange(graded.shape[2])
    by_grade = graded.sum(axis=1)  # (queries, grades)
    best = np.where(by_grade > 0, grades, 0).max(axis=1, keepdims=True)
    # relative to the query's best, so that no number of labels is too large
    gains = np.exp2(np.minimum(grades, best) - best) - np.exp2(-best)
    reached = _discounted_sum(counts.items, np.einsum("qdg,qg->qd", graded, gains), k)
    ideal = _discounted_sum(by_grade[:, ::-1], (by_grade * gains)[:, ::-1], k)
    shares = np.clip(reached / np.where(ideal > 0, ideal, 1), 0, 1)
    return np.where(counts.relevant.sum(axis=1) > 0, shares, np.nan)


def chance(counts: Histograms, cutoff: int | None = None) -> Floats:
    """Return the average precision expected of a random order of the database.

    It is above the share of relevant items, the more so the shorter the list:
    a relevant item that luck puts first counts in full.

    >>> counts = Histograms(np.array([[40, 10]]), np.array([[0, 2]]))
    >>> chance(counts).round(3).tolist()  # where the share is 2 of 50, or 0.04
    [0.109]
    """
    whole = Histograms(
        counts.items.sum(axis=1, keepdims=True),
        counts.relevant.sum(axis=1, keepdims=True),
    )
    return average_precision(whole, "expected", cutoff)


def _discounted_sum(items: NDArray[Any], gains: Floats, k: int) -> Floats:
    """Sum the discounted gain of the first k ranks, mean over the orders of ties.

    Items of each group of tied ones, nearest first, and the sum of their gains are
    (queries, groups).
    """
    discounts = np.concatenate([[0], np.cumsum(1 / np.log2(np.arange(2, k + 2)))])
    ends = np.cumsum(items, axis=1)
    last, first = (np.minimum(k, part).astype(int) for part in (ends, ends - items))
    means = gains / np.maximum(items, 1)
    return (means * (discounts[last] - discounts[first])).sum(axis=1)


def _groups(counts: Histograms) -> Groups:
    items, relevant = counts.items.astype(float), counts.relevant.astype(float)
    ahead = np.cumsum(items, axis=1) - items
    return Groups(items, relevant, ahead, np.cumsum(relevant, axis=1) - relevant)


def _harmonic(numbers: Floats) -> Floats:
    """Return 1 + 1/2 + ... + 1/n."""
    return digamma(numbers + 1) + np.euler_gamma


def _expected_sums(group: Groups) -> Floats:
    """Sum precision at a group's relevant items, mean over its orders.

    The closed form of McSherry and Najork, "Computing information retrieval
    performance measures efficiently in the presence of tied scores", ECIR 2008.
    """
    items, relevant, ahead, found = group
    slope = (relevant - 1) / np.maximum(items - 1, 1)  # is 0 for a single relevant item
    between = _harmonic(ahead + items) - _harmonic(ahead)
    inner = slope * items + (found + 1 - slope * (1 + ahead)) * between
    return relevant / np.maximum(items, 1) * inner


def _best_sums(group: Groups) -> Floats:
    """Sum precision at a group's relevant items when they come first."""
    last = group.ahead + group.relevant
    between = _harmonic(last) - _harmonic(group.ahead)
    return group.relevant - (group.ahead - group.found) * between


def _worst_sums(group: Groups) -> Floats:
    """Sum precision at a group's relevant items when they come last."""
    last = group.ahead + group.items
    first = last - group.relevant
    between = _harmonic(last) - _harmonic(first)
    return group.relevant - (first - group.found) * between


_SUMS: Mapping[Ties, Callable[[Groups], Floats]] = {
    "expected": _expected_sums,
    "best": _best_sums,
    "worst": _worst_sums,
}


def _cut_averages(groups: Groups, ties: Ties, cutoff: int) -> Floats:
    """Average the precision of each query's first ranks.

    Groups that end before the cut count whole. The one the cut runs through gives
    its first few ranks, where x of its relevant items may lie: the score is
    known for each x, and so is the probability of x.
    """
    distances = groups.items.shape[1]
    whole = groups.ahead + groups.items <= cutoff
    through = np.minimum(whole.sum(axis=1), distances - 1)
    before = np.arange(distances) < through[:, None]
    heads = np.where(before, _SUMS[ties](groups), 0).sum(axis=1)
    averages = np.empty(len(heads))
    for query, column in enumerate(through):
        group = Groups(*(part[query, column] for part in groups))
        averages[query] = _cut_average(heads[query], group, ties, cutoff)
    return averages


def _cut_average(head: float, group: Groups, ties: Ties, cutoff: int) -> float:
    ranks = np.minimum(cutoff - group.ahead, group.items)
    fewest = np.maximum(0, ranks - (group.items - group.relevant))
    most = np.minimum(group.relevant, ranks)
    x = np.arange(float(fewest), float(most) + 1)
    tails = _SUMS[ties](Groups(ranks, x, group.ahead, group.found))
    averages = (head + tails) / np.maximum(group.found + x, 1)
    if ties == "best":
        return float(averages.max())
    if ties == "worst":
        return float(averages.min())
    return float(averages @ _hypergeometric(x, ranks, group))


def _hypergeometric(x: Floats, ranks: Floats, group: Groups) -> Floats:
    """Return the probability of x relevant items on the group's first ranks."""
    others = group.items - group.relevant
    logs = _log_choices(group.relevant, x) + _log_choices(others, ranks - x)
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def _log_choices(n: Floats, k: Floats) -> Floats:
    return -gammaln(k + 1) - gammaln(n - k + 1)  # the factor of n cancels
