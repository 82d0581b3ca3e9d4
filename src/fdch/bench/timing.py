"""How benchmarks time sides that take turns, and what they report of it."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any


def seconds(work: Callable[[], object]) -> float:
    """Return the wall-clock time that a piece of work takes."""
    start = perf_counter()
    work()
    return perf_counter() - start


def spread(values: Sequence[float]) -> dict[str, Any]:
    """Return least, median and most of some figures, and the figures themselves."""
    return {
        "min": min(values),
        "median": statistics.median(values),
        "max": max(values),
        "all": list(values),
    }


def ratio(above: Sequence[float], below: Sequence[float]) -> dict[str, Any]:
    """Divide two sides' figures turn by turn; return the spread of the quotients."""
    return spread([a / b for a, b in zip(above, below, strict=True)])


def alternate(
    sides: Mapping[str, Callable[[], object]], repeats: int
) -> dict[str, list[float]]:
    """Time each side once in every turn."""
    turns: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(repeats):
        for name, side in sides.items():
            turns[name].append(seconds(side))
    return turns


def take_turns(
    ours: Callable[[], object], peer: Callable[[], object], repeats: int
) -> dict[str, Any]:
    """Time two pieces of work in alternation, after one untimed turn of each."""
    ours()
    peer()
    turns = alternate({"ours": ours, "peer": peer}, repeats)
    return {
        "ours_seconds": spread(turns["ours"]),
        "peer_seconds": spread(turns["peer"]),
        "ratio": ratio(turns["peer"], turns["ours"]),
    }


def repeat(call: Callable[[int], object], times: int) -> Callable[[], None]:
    """Make one piece of work of several calls, each with its number."""

    def work() -> None:
        for number in range(times):
            call(number)

    return work
