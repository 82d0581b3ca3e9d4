"""Candidates by code, then ordered: against loops."""

import math

import numpy as np
import pytest
from tests.vector_model import order_numbers, plain_books

from fdch.codes import binarize, hamming_distances
from fdch.errors import DataError, SettingError
from fdch.evaluation import Coded, CodedPairs, Protocol, score_galleries
from fdch.evaluation.metrics import average_precision, ndcg_at, precision_at
from fdch.evaluation.ordering import (
    QueryOrder,
    VectorPart,
    list_items,
    ordered_blocks,
    place_items,
)
from fdch.evaluation.partner import place_partners
from fdch.evaluation.scoring import CANDIDATES

BITS, WIDTH, QUERIES, ITEMS = 6, 3, 5, 40


@pytest.fixture(scope="module")
def sides():
    rng = np.random.default_rng(0)
    queries = binarize(rng.standard_normal((QUERIES, BITS)))
    items = binarize(rng.standard_normal((ITEMS, BITS)))
    weights = rng.standard_normal((QUERIES, BITS + WIDTH)).astype(np.float32)
    parts = (
        VectorPart(weights[:, BITS : BITS + 1], plain_books(1)),
        VectorPart(weights[:, BITS + 1 :], plain_books(2), threshold=20.0),
    )
    order = QueryOrder(weights[:, :BITS], parts)
    vectors = rng.integers(-127, 128, (ITEMS, WIDTH)).astype(np.int8)
    return order, queries, items, vectors


def rank_by_loops(order, queries, items, vectors, candidates, reordered=200):
    """List every query's items: candidates in their order, the others by distance."""
    rankings = []
    weights = np.hstack([order.weights, *(part.weights for part in order.parts)])
    signs = items.signs()
    for query, distances in enumerate(hamming_distances(queries, items)):
        nearest = sorted(range(ITEMS), key=lambda row: (distances[row], row))
        scores, gains = {}, {}
        for row in nearest[:candidates]:
            total = 0.0
            for bit in range(BITS):
                total += float(weights[query, bit]) * int(signs[row, bit])
            products = [
                float(weights[query, BITS + column]) * int(vectors[row, column])
                for column in range(WIDTH)
            ]
            scores[row] = total + products[0]
            gains[row] = max(0.0, sum(products[1:]) - 20)
        first = sorted(scores, key=lambda row: -scores[row])
        for row in first[:reordered]:
            scores[row] += gains[row]
        first = sorted(scores, key=lambda row: -scores[row])
        rankings.append(first + nearest[candidates:])
    return rankings


def coded(sides):
    """The same queries and items with their labels, here none."""
    order, queries, items, vectors = sides
    labels = np.zeros((ITEMS, 1), np.uint8)
    query_side = Coded(queries, labels[:QUERIES], order)
    return query_side, Coded(items, labels, None, vectors)


@pytest.mark.parametrize("candidates", [1, 7, ITEMS, 10 * ITEMS])
def test_candidates_are_ordered_and_the_others_follow_by_distance(sides, candidates):
    order, queries, items, vectors = sides
    query_side, gallery = coded(sides)
    places = place_items(query_side, gallery, candidates)
    rankings = rank_by_loops(order, queries, items, vectors, candidates)
    for query, ranking in enumerate(rankings):
        assert places[query, ranking].tolist() == list(range(ITEMS))


@pytest.mark.parametrize("candidates", [7, 20, ITEMS])
def test_likeness_moves_items_within_the_first_places_only(
    sides, candidates, monkeypatch
):
    monkeypatch.setattr("fdch.evaluation.ordering.REORDERED", 10)
    order, queries, items, vectors = sides
    query_side, gallery = coded(sides)
    places = place_items(query_side, gallery, candidates)
    rankings = rank_by_loops(order, queries, items, vectors, candidates, 10)
    for query, ranking in enumerate(rankings):
        assert places[query, ranking].tolist() == list(range(ITEMS))
    whole = rank_by_loops(order, queries, items, vectors, candidates)
    assert (candidates <= 10) == (rankings == whole)


def test_a_cut_off_of_0_is_refused(sides):
    order, queries, items, vectors = sides
    query_side = Coded(queries, np.ones((QUERIES, 1), np.uint8), order)
    gallery = Coded(items, np.ones((ITEMS, 1), np.uint8), None, vectors)
    with pytest.raises(SettingError, match="1 or more; got 0"):
        next(ordered_blocks(query_side, gallery, ITEMS, first=5, cutoff=0))


def test_no_codes_at_all_are_refused(sides):
    order, queries, items, vectors = sides
    query_side = Coded(queries, np.ones((QUERIES, 1), np.uint8), order)
    gallery = Coded(items, np.ones((ITEMS, 1), np.uint8), None, vectors)
    none = Coded(items[:0], np.ones((0, 1), np.uint8), None, vectors[:0])
    with pytest.raises(DataError, match="no database codes; scoring needs at least"):
        next(ordered_blocks(query_side, none, ITEMS, first=5))
    nobody = Coded(queries[:0], np.ones((0, 1), np.uint8), order[[]])
    with pytest.raises(DataError, match="no query codes; scoring needs at least one"):
        next(ordered_blocks(nobody, gallery, ITEMS, first=5))


@pytest.mark.parametrize("candidates", [7, ITEMS])
def test_scores_are_those_of_the_ranking(sides, candidates):
    rng = np.random.default_rng(1)
    query_labels = (rng.random((QUERIES, 4)) < 0.5).astype(np.uint8)
    labels = (rng.random((ITEMS, 4)) < 0.4).astype(np.uint8)
    order, queries, items, vectors = sides
    query_side = Coded(queries, query_labels, order)
    gallery = Coded(items, labels, None, vectors)
    [counts] = ordered_blocks(query_side, gallery, candidates, first=5)
    [whole] = ordered_blocks(query_side, gallery, candidates, first=ITEMS)
    rankings = rank_by_loops(order, queries, items, vectors, candidates)
    for query, ranking in enumerate(rankings):
        shared = [int(query_labels[query] @ labels[row]) for row in ranking]
        hits, total = 0, 0.0
        for rank, common in enumerate(shared, start=1):
            if common:
                hits += 1
                total += hits / rank
        assert counts.stable is not None
        assert counts.stable[query] == pytest.approx(total / hits)
        assert average_precision(whole)[query] == pytest.approx(total / hits)
        gains = [2**common - 1 for common in shared]
        reached = sum(g / math.log2(i + 2) for i, g in enumerate(gains[:5]))
        best = sorted(gains, reverse=True)[:5]
        ideal = sum(gain / math.log2(i + 2) for i, gain in enumerate(best))
        assert ndcg_at(counts, 5)[query] == pytest.approx(reached / ideal)
        first = sum(common > 0 for common in shared[:5]) / 5
        assert precision_at(counts, 5)[query] == pytest.approx(first)


@pytest.mark.parametrize(
    ("cutoff", "expected"),
    [(None, [1 / 2, (1 + 2 / 3) / 2, 1 / 4, np.nan]), (2, [1 / 2, 1, 0, np.nan])],
)
def test_precision_is_averaged_over_the_relevant_items_shown(cutoff, expected):
    items = binarize([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    order = QueryOrder(np.array([[2, 1]] * 4, np.float32))  # ranks them as they are
    gallery = Coded(items, np.eye(4)[[1, 0, 1, 2]])
    queries = Coded(items[[0, 0, 0, 0]], np.eye(4), order)
    [counts] = ordered_blocks(queries, gallery, 4, first=4, cutoff=cutoff)
    assert counts.stable is not None
    assert counts.stable.tolist() == pytest.approx(expected, nan_ok=True)


def test_a_partner_is_placed_in_the_order(sides):
    order, queries, items, vectors = sides
    partners = items[:QUERIES]
    none = np.zeros((QUERIES, 1))
    others = Coded(partners, none, None, vectors[:QUERIES])
    found = place_partners(Coded(queries, none, order), others, QUERIES)
    scores = order.score(partners, vectors[:QUERIES])
    for query in range(QUERIES):
        ahead = sum(scores[query, row] > scores[query, query] for row in range(QUERIES))
        assert found.ranks()[query] == ahead + 1


def test_galleries_are_scored_in_the_order_that_weights_give():
    # codes say nothing; the vectors alone distinguish the two classes
    codes = binarize(np.ones((20, 8)))
    labels = np.eye(2, dtype=np.uint8)[np.arange(20) % 2]
    vectors = (labels[:, :1].astype(np.int8) * 2 - 1) * np.int8(100)
    weights = np.concatenate([np.zeros((20, 8)), vectors], axis=1).astype(np.float32)
    coded = Coded(codes, labels, order_numbers(weights, 8), vectors)
    pairs = CodedPairs(coded, coded, both=(np.arange(20), np.arange(20)))
    protocol = Protocol("data", "split", queries=20, database=20, train=0)
    found = score_galleries("mine", pairs, pairs, protocol)
    part = found.scores["modality"]["image_to_text"]
    assert (part.map, part.precision_at[10]) == (1.0, 1.0)
    assert found.partner["modality"]["image_to_text"].recall_at[10] == 1.0
    assert found.protocol.ordered == CANDIDATES
    assert "ordered" not in found.protocol.differences(protocol)
    bare = Coded(codes, labels)
    blind = score_galleries("mine", CodedPairs(bare, bare), pairs, protocol)
    assert blind.scores["modality"]["image_to_text"].map < 0.7
    assert blind.protocol.ordered == 0


def test_weights_of_another_method_are_refused(sides):
    order, queries, items, _ = sides
    query_side, gallery = coded((order, queries, items, None))
    with pytest.raises(
        DataError,
        match="6 bits with 3 bytes beside them cannot order codes of 6 bits with 0",
    ):
        place_items(query_side, gallery, 3)


def test_as_many_weights_as_bits_and_numbers_order_items(sides):
    codes = binarize(np.ones((2, 300)))
    order = order_numbers(np.ones((1, 301)), 300)
    vectors = np.array([[1], [2]], np.int8)
    assert order.score(codes, vectors).tolist() == [[301.0, 302.0]]


@pytest.mark.parametrize("reordered", [4, 200])
def test_items_are_listed_as_a_search_does(sides, reordered, monkeypatch):
    monkeypatch.setattr("fdch.evaluation.ordering.SEARCHED", 7)
    monkeypatch.setattr("fdch.evaluation.ordering.REORDERED", reordered)
    order, queries, items, vectors = sides
    distances = hamming_distances(queries, items)
    listed = list_items(order, distances, items, vectors)
    for row, each in enumerate(distances):
        # who is as near as the seventh is a candidate too
        candidates = int((each <= sorted(each)[6]).sum())
        assert candidates >= 7
        known = (order, queries, items, vectors, candidates, reordered)
        expected = rank_by_loops(*known)[row]
        assert np.argsort(listed[row], kind="stable").tolist() == expected
