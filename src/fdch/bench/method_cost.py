"""One method's cost, in a process of its own so that its memory is its own.

The task comes as JSON in the first argument, the figures leave as JSON.
"""

import json
import logging
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from fdch import methods
from fdch.bench.timing import seconds
from fdch.bench.workload import Workload
from fdch.data.pairs import PairedSet
from fdch.errors import FdchError
from fdch.machine import forget_peak_memory, peak_memory
from fdch.methods._base import HashMethod

ROWS_AT_A_TIME = 4096


def measure_cost(
    method: str,
    bits: int,
    pairs: int,
    workload: Workload,
    *,
    encode: int = 0,
    sample: int = 0,
) -> dict[str, Any]:
    """Fit a method on made-up pairs and encode others.

    Args:
        method: The method's name.
        bits: Length of the codes.
        pairs: Pairs to fit on.
        workload: What the pairs are like.
        encode: Pairs to encode whole: to unified codes, where the method has
            them, else to codes of both sides.
        sample: Pairs to encode by one side alone, where `encode` does not.

    Returns:
        Seconds of fitting, the most memory held until then, and encoding times.
    """
    made = methods.load(method)(bits=bits)
    training = workload.draw(pairs)
    forget_peak_memory()
    before = peak_memory()
    fitting = seconds(lambda: made.fit(training))
    found: dict[str, Any] = {
        "pairs": pairs,
        "fit_seconds": fitting,
        "memory_before_bytes": before,
        "peak_memory_bytes": peak_memory(),
    }
    if encode:
        found["encoding"] = _encoding(made, workload, encode, sample)
    return found


def _encoding(
    method: HashMethod, workload: Workload, encode: int, sample: int
) -> dict[str, Any]:
    """Time encoding alone: drawing the pairs is not counted."""
    sides: dict[str, Callable[[PairedSet], object]] = {
        "image": lambda pairs: method.encode_images(pairs.images),
        "text": lambda pairs: method.encode_texts(pairs.texts),
    }
    if method.about.unified:
        sides["unified"] = method.encode_pairs
    whole = [side for side in sides if side == "unified"] or list(sides)
    numbers = {side: encode if side in whole else sample for side in sides}
    spent = dict.fromkeys(sides, 0.0)
    most = max(numbers.values())
    for part, start in enumerate(range(0, most, ROWS_AT_A_TIME), start=1):
        drawn = workload.draw(min(ROWS_AT_A_TIME, most - start), part)
        for side, work in sides.items():
            rows = drawn[: max(numbers[side] - start, 0)]
            if len(rows):
                spent[side] += seconds(partial(work, rows))
    return {
        "sides": {
            side: {"pairs": numbers[side], "seconds": spent[side]} for side in sides
        },
        "pairs": encode,
        "seconds": sum(spent[side] for side in whole),
    }


def main() -> None:
    """Measure the task in the first argument."""
    logging.disable(logging.WARNING)  # made-up data has no one to be warned
    task = json.loads(sys.argv[1])
    task["workload"] = Workload(**task["workload"])
    try:
        found = measure_cost(**task)
    except FdchError as problem:
        found = {"failed": str(problem)}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
