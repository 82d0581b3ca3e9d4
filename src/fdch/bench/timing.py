"""The one way benchmarks measure: sides take turns, and ratios are taken turn by turn.

Other load on the machine then hits all sides alike.
"""

import statistics
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any, TypeVar

from fdch.progress import Progress, Update, silent

Measured = TypeVar("Measured")


def seconds(work: Callable[[], object]) -> float:
    """Return the wall-clock time that a piece of work takes."""
    start = perf_counter()
    work()
    return perf_counter() - start


def spread(values: Sequence[float]) -> dict[str, Any]:
    """Return minimum, median, maximum and all of some figures."""
    return {
        "min": min(values),
        "median": statistics.median(values),
        "max": max(values),
        "all": list(values),
    }


def ratio(above: Sequence[float], below: Sequence[float]) -> dict[str, Any]:
    """Divide two sides' figures turn by turn; return the spread of the quotients."""
    return spread([a / b for a, b in zip(above, below, strict=True)])


def take_turns(
    sides: Mapping[str, Callable[[int], Measured]],
    repeats: int,
    progress: Progress = silent,
    task: str = "turns",
) -> dict[str, list[Measured]]:
    """Measure each side once a turn, in reverse order every second turn.

    Each side takes the number of the turn and returns what it measured. Progress is
    reported after each side of each turn.
    """
    found: dict[str, list[Measured]] = {name: [] for name in sides}
    done, total = 0, repeats * len(sides)
    for turn in range(repeats):
        for name in list(sides)[:: -1 if turn % 2 else 1]:
            found[name].append(sides[name](turn))
            done += 1
            progress(Update(task, done, total, "measurement"))
    return found


def time_turns(
    works: Mapping[str, Callable[[int], object]],
    repeats: int,
    progress: Progress = silent,
    task: str = "turns",
) -> dict[str, list[float]]:
    """Time pieces of work that take turns; each takes the number of the turn."""

    def time_call(work: Callable[[int], object]) -> Callable[[int], float]:
        return lambda turn: seconds(lambda: work(turn))

    sides = {name: time_call(work) for name, work in works.items()}
    return take_turns(sides, repeats, progress, task)


def compare(
    ours: Callable[[], object], peer: Callable[[], object], repeats: int
) -> dict[str, Any]:
    """Time two pieces of work in turns, after one untimed turn of each."""
    ours()
    peer()
    turns = time_turns({"ours": lambda _: ours(), "peer": lambda _: peer()}, repeats)
    return {
        "ours_seconds": spread(turns["ours"]),
        "peer_seconds": spread(turns["peer"]),
        "ratio": ratio(turns["peer"], turns["ours"]),
    }
