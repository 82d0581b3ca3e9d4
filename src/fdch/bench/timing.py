"""How benchmarks time two sides that take turns."""

import statistics
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any


def seconds(work: Callable[[], object]) -> float:
    """Give the wall-clock time that a piece of work takes."""
    start = perf_counter()
    work()
    return perf_counter() - start


def spread(values: Sequence[float]) -> dict[str, Any]:
    """Give least, median and most of some figures, and the figures themselves."""
    return {
        "min": min(values),
        "median": statistics.median(values),
        "max": max(values),
        "all": list(values),
    }


def take_turns(
    ours: Callable[[], object], peer: Callable[[], object], repeats: int
) -> dict[str, Any]:
    """Time two pieces of work in alternation, after one untimed turn of each.

    Returns:
        Seconds of both sides, and how many times ours is faster, turn by turn.
    """
    ours()
    peer()
    turns = [(seconds(ours), seconds(peer)) for _ in range(repeats)]
    return {
        "ours_seconds": spread([own for own, _ in turns]),
        "peer_seconds": spread([other for _, other in turns]),
        "ratio": spread([other / own for own, other in turns]),
    }
