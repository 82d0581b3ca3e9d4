"""What a search is asked for and gives, as plain values."""

from typing import Any

import pytest

from fdch import Index, Searcher
from fdch.errors import SettingError
from fdch.index.store import Condition, Item
from fdch.retrieval.results import Demand, Result, Results

NOWHERE: Any = None  # a store that must not be asked


def test_ten_results_unless_told_and_all_within_a_radius():
    assert Demand.of({}).k == 10
    assert Demand.of({"k": 3}).k == 3
    assert Demand.of({"radius": 2}).k is None
    assert Demand.of({"radius": 2, "k": 5}).k == 5


def test_re_ranking_looks_at_more_candidates():
    assert Demand.of({"k": 5}).candidates == 5
    assert Demand.of({"k": 5, "rerank": True}).candidates == 100
    assert Demand.of({"k": 50, "rerank": True}).candidates == 500
    assert Demand.of({"radius": 3, "rerank": True}).candidates is None


def test_conditions_are_read_or_taken_as_they_are():
    ready = Condition("b", "in", ("1", "2"))
    assert Demand.of({"where": "a=1"}).where == (Condition("a", "=", ("1",)),)
    demand = Demand.of({"where": ["a!=1", ready]})
    assert demand.where == (Condition("a", "!=", ("1",)), ready)
    assert demand.to_json()["where"] == ["a != 1", "b in 1,2"]


@pytest.mark.parametrize("options", [{"k": -1}, {"radius": -2}, {"where": [""]}])
def test_nonsense_is_refused(options):
    with pytest.raises(SettingError):
        Demand.of(options)


@pytest.mark.parametrize("search", ["by_texts", "by_images", "by_ids"])
def test_nonsense_is_refused_before_a_model_is_loaded(search):
    searcher = Searcher(Index(NOWHERE))
    with pytest.raises(SettingError, match="k must be 1 or more; got 0"):
        getattr(searcher, search)(["beach"], k=0)


def test_results_are_a_sequence_that_prints():
    items = [Item("a", text="a dog"), Item("b", image="b.jpg")]
    results = (Result(items[0], 3, 0.914), Result(items[1], 12, None))
    found = Results({"text": "dog"}, results, 2, 0.5)
    assert (len(found), found[1].id, [each.id for each in found]) == (
        2,
        "b",
        ["a", "b"],
    )
    assert str(found).splitlines() == ["   3   91%  a  a dog", "  12     ?  b  b.jpg"]
    assert str(Results({}, (), 0, 0.1)) == "nothing was found"
