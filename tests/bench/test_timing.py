"""Sides take turns, and their figures are compared turn by turn."""

from functools import partial

from fdch.bench.timing import compare, ratio, take_turns, time_turns
from fdch.progress import Update


def test_every_side_has_its_turn_before_any_has_its_next():
    calls: list[tuple[str, int]] = []
    reported: list[Update] = []

    def measure(name, turn):
        calls.append((name, turn))
        return 10 * turn

    sides = {name: partial(measure, name) for name in "abc"}
    turns = take_turns(sides, 2, reported.append)
    assert calls == [("a", 0), ("b", 0), ("c", 0), ("c", 1), ("b", 1), ("a", 1)]
    assert turns == {"a": [0, 10], "b": [0, 10], "c": [0, 10]}
    assert [update.done for update in reported] == [1, 2, 3, 4, 5, 6]


def test_every_turn_of_a_side_is_timed():
    found = time_turns({"a": lambda turn: sum(range(10**turn))}, 4)
    assert len(found["a"]) == 4
    assert min(found["a"]) > 0


def test_ratios_are_taken_within_a_turn():
    found = ratio([2.0, 9.0, 4.0], [1.0, 3.0, 8.0])
    assert found == {"min": 0.5, "median": 2.0, "max": 3.0, "all": [2.0, 3.0, 0.5]}


def test_the_first_turn_of_both_sides_is_not_timed():
    calls: list[str] = []
    found = compare(lambda: calls.append("own"), lambda: calls.append("peer"), 2)
    assert calls == ["own", "peer", "own", "peer", "peer", "own"]
    assert len(found["ours_seconds"]["all"]) == len(found["ratio"]["all"]) == 2
