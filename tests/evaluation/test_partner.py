"""Partner recall against every order of tied items."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdch.codes import Codes, binarize, hamming_distances
from fdch.errors import DataError, SettingError
from fdch.evaluation import Coded, CodedPairs, Protocol, partner_places, score_galleries
from fdch.evaluation import histograms as counting
from fdch.evaluation.partner import PartnerPlaces


def ranks_in_every_order(distances, partner):
    """The partner's rank in each order of the items, tied ones in all ways."""
    groups = [
        [i for i, distance in enumerate(distances) if distance == value]
        for value in sorted(set(distances))
    ]
    for parts in itertools.product(*map(itertools.permutations, groups)):
        order = [item for part in parts for item in part]
        yield 1 + order.index(partner)


@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(1, 3), st.integers(1, 7))
def test_recall_and_rank_agree_with_all_orders(seed, pairs, bits, k):
    rng = np.random.default_rng(seed)
    images, texts = (binarize(rng.standard_normal((pairs, bits))) for _ in range(2))
    places = partner_places(images, texts)
    for i, distances in enumerate(hamming_distances(images, texts).tolist()):
        ranks = list(ranks_in_every_order(distances, i))
        assert places.ranks()[i] == pytest.approx(np.mean(ranks))
        assert places.found_by(k)[i] == pytest.approx(np.mean(np.array(ranks) <= k))


def test_means_are_taken_over_queries():
    places = PartnerPlaces(np.array([0.0, 4.0, 30.0]), np.array([1.0, 1.0, 5.0]))
    scores = places.scores()
    assert [*scores.recall_at.values()] == pytest.approx([1 / 3, 2 / 3, 1])
    assert scores.median_rank == 5
    assert scores.queries == 3


def test_codes_all_alike_find_a_partner_by_chance():
    alike = Codes(np.zeros((40, 1), dtype=np.uint8), 8)
    scores = partner_places(alike, alike).scores()
    assert scores.recall_at == {
        1: pytest.approx(1 / 40),
        10: pytest.approx(0.25),
        50: 1,
    }
    assert scores.median_rank == 20.5


def test_blocks_of_queries_are_placed_as_all_together(monkeypatch):
    rng = np.random.default_rng(1)
    images, texts = (binarize(rng.standard_normal((30, 6))) for _ in range(2))
    together = partner_places(images, texts).ranks()
    monkeypatch.setattr(counting, "QUERIES_PER_BLOCK", 7)
    assert np.array_equal(partner_places(images, texts).ranks(), together)


def test_each_query_needs_its_partner_and_a_rank():
    codes = binarize(np.ones((3, 4)))
    with pytest.raises(DataError, match="3 queries came with 2 partners"):
        partner_places(codes, codes[:2])
    with pytest.raises(SettingError, match="got 0"):
        partner_places(codes, codes).found_by(0)


def test_only_pairs_with_both_sides_are_looked_for():
    rng = np.random.default_rng(2)
    labels = np.ones((6, 1), dtype=np.uint8)
    images, texts = (binarize(rng.standard_normal((6, 5))) for _ in range(2))
    # the last pair has no text, the first no picture
    queries = CodedPairs(
        Coded(images[1:], labels[1:]),
        Coded(texts[:5], labels[:5]),
        both=(np.arange(4), np.arange(1, 5)),
    )
    database = CodedPairs(Coded(images, labels), Coded(texts, labels))
    protocol = Protocol("d", "s", 5, 6, 0)
    found = score_galleries("x", queries, database, protocol).partner["modality"]
    expected = partner_places(texts[1:5], images[1:5]).scores()
    assert found["text_to_image"].recall_at == expected.recall_at
    assert found["text_to_image"].median_rank == expected.median_rank
    assert found["text_to_image"].queries == 4


def test_without_known_partners_there_is_no_partner_score():
    labels = np.ones((3, 1), dtype=np.uint8)
    some = Coded(binarize(np.eye(3) - 0.5), labels)
    protocol = Protocol("d", "s", 3, 3, 0)
    for both in (None, (np.arange(0), np.arange(0))):
        pairs = CodedPairs(some, some, some, both)
        assert score_galleries("x", pairs, pairs, protocol).partner == {}
    pairs = CodedPairs(some, some, some, (np.arange(3), np.arange(3)))
    unified = score_galleries("x", pairs, pairs, protocol, galleries=["unified"])
    assert unified.partner == {}
