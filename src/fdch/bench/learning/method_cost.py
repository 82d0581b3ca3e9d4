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
from fdch.bench.learning.workload import Workload
from fdch.bench.timing import seconds
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

    So many pairs as `encode` says are encoded whole: to unified codes, where the
    method has them, else to codes of both sides; `sample` pairs by one side alone,
    where that is not done yet.
    """
    made = methods.load(method)(bits=bits)
    training = workload.draw(pairs)
    forget_peak_memory()
    before = peak_memory()
    found: dict[str, Any] = {
        "pairs": pairs,
        "fit_seconds": seconds(lambda: made.fit(training)),
        "memory_before_bytes": before,
        "peak_memory_bytes": peak_memory(),
    }
    if encode:
        found["encoding"] = _encode(made, workload, encode, sample)
    return found


def _encode(
    method: HashMethod, workload: Workload, encode: int, sample: int
) -> dict[str, Any]:
    """Time encoding alone: drawing the pairs is not counted."""
    sides: dict[str, Callable[[PairedSet], object]] = {
        "image": lambda pairs: method.encode_images(pairs.images),
        "text": lambda pairs: method.encode_texts(pairs.texts),
    }
    whole = list(sides)
    if method.about.unified:
        sides["unified"] = method.encode_pairs
        whole = ["unified"]
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


if __name__ == "__main__":
    logging.disable(logging.WARNING)  # made-up data has no one to be warned
    task = json.loads(sys.argv[1])
    task["workload"] = Workload(**task["workload"])
    try:
        figures = measure_cost(**task)
    except FdchError as problem:
        figures = {"failed": str(problem)}
    json.dump(figures, sys.stdout)
