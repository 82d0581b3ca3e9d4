"""Measure an epoch of FDCH against the number of training pairs, or of words.

python scripts/measure_scaling.py --pairs 5000 20000 100000
OMP_NUM_THREADS=1 python scripts/measure_scaling.py --pairs 1280 --words 1386 8000

Features and words are synthetic and repeat beyond 5,000 pairs. The first epoch of each
stage is not counted. Steps are measured in processor time, which does not grow with
what else the machine does. Memory includes Python, its libraries and the data.
"""

import argparse
import gc
import json
import statistics
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from fdch.bench.learning.clocks import EpochClock
from fdch.bench.learning.training import (
    STAGES,
    describe_device,
    forget_all_peaks,
    measure_peaks,
)
from fdch.bench.learning.workload import Workload
from fdch.data.pairs import PairedSet
from fdch.methods.fdch import FDCH
from fdch.training.batches import EXACT_UP_TO, Pairwise
from fdch.training.context import Context

DRAWN = 5000  # pairs of which larger sets are repetitions


def measure(
    pairs: Sequence[int],
    words: Sequence[int],
    image_width: int,
    bits: int,
    epochs: int,
    pairwise: Pairwise,
    device: str,
) -> dict[str, Any]:
    """Train FDCH on every number of pairs with every number of words."""
    place = Context(device=device).torch_device()
    method = FDCH(
        bits=bits,
        pairwise=pairwise,
        stage_one_epochs=epochs,
        stage_two_epochs=epochs,
        image_dropout=0.5,
        word_dropout=0.5,
    )
    costs: list[dict[str, Any]] = []
    for columns in words:
        drawn = Workload(image_width, columns).draw(min(DRAWN, max(pairs)))
        for number in pairs:
            cost = measure_epochs(method, repeat_pairs(drawn, number), device)
            costs.append({"pairs": number, "words": columns, **cost})
    return {**describe_device(place), "costs": costs}


def repeat_pairs(drawn: PairedSet, pairs: int) -> PairedSet:
    """Repeat rows until there are so many pairs."""
    rows = np.arange(pairs) % len(drawn)
    return replace(
        drawn,
        ids=np.array([str(row) for row in range(pairs)], dtype=object),
        images=drawn.images[rows],
        texts=drawn.texts[rows],
        labels=drawn.labels[rows],
    )


def measure_epochs(method: FDCH, pairs: PairedSet, device: str) -> dict[str, Any]:
    """Train once; return the usual time of an epoch and a step, and peak memory."""
    place = Context(device=device).torch_device()
    gc.collect()
    if place.type == "cuda":
        torch.cuda.empty_cache()
    forget_all_peaks(place)
    clock = EpochClock()
    method.fit(pairs, context=Context(clock, device))
    usual, used = (
        {stage: statistics.median(found[stage][1:]) for stage in STAGES}
        for found in (clock.seconds, clock.processor)
    )
    by_size = "sampled" if len(pairs) > EXACT_UP_TO else "exact"
    steps = -(-len(pairs) // method.batch_size)  # in each pass over the pairs
    return {
        "pairwise": by_size if method.pairwise == "auto" else method.pairwise,
        "epoch_seconds": usual,
        "step_processor_seconds": {
            stage: took / (passes * steps)
            for passes, (stage, took) in enumerate(used.items(), start=1)
        },
        "both_stages_seconds": sum(usual.values()),
        **measure_peaks(place),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("--pairs", type=int, nargs="+", default=[5000, 20_000, 100_000])
    add("--words", type=int, nargs="+", default=[1386], help="columns of the texts")
    add("--image-width", type=int, default=1280, help="image features")
    add("--bits", type=int, default=64)
    add("--epochs", type=int, default=2, help="of each stage, 2 or more")
    add("--pairwise", choices=["auto", "exact", "sampled"], default="auto")
    add("--device", default="auto", help="auto, cpu, cuda or cuda:1")
    found = measure(**vars(parser.parse_args()))
    sys.stdout.write(json.dumps(found, indent=1) + "\n")
