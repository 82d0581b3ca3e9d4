"""Sides take turns, and their figures are compared turn by turn."""

from fdch.bench.timing import alternate, ratio, repeat, take_turns


def test_every_side_has_its_turn_before_any_has_its_next():
    calls: list[str] = []
    sides = {name: lambda name=name: calls.append(name) for name in ("a", "b", "c")}
    turns = alternate(sides, 2)
    assert calls == ["a", "b", "c"] * 2
    assert {name: len(times) for name, times in turns.items()} == dict.fromkeys(
        "abc", 2
    )


def test_ratios_are_taken_within_a_turn():
    found = ratio([2.0, 9.0, 4.0], [1.0, 3.0, 8.0])
    assert found == {"min": 0.5, "median": 2.0, "max": 3.0, "all": [2.0, 3.0, 0.5]}


def test_the_first_turn_of_both_sides_is_not_timed():
    calls: list[str] = []
    found = take_turns(lambda: calls.append("own"), lambda: calls.append("peer"), 2)
    assert calls == ["own", "peer"] * 3
    assert len(found["ours_seconds"]["all"]) == len(found["ratio"]["all"]) == 2


def test_repeated_calls_know_their_number():
    calls: list[int] = []
    repeat(calls.append, 3)()
    assert calls == [0, 1, 2]
