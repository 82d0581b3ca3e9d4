"""What an epoch of FDCH costs against the number of training pairs, or of words."""

import gc
import statistics
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
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
from fdch.errors import SettingError
from fdch.files import write_whole
from fdch.methods.fdch import FDCH
from fdch.progress import Progress, Update, silent
from fdch.report.plots import open_figure
from fdch.reproduction.figures import FILE_STYLE, FORMATS
from fdch.training.batches import EXACT_UP_TO, Pairwise
from fdch.training.context import Context

DRAWN = 5000  # pairs of which larger sets are repetitions
AXES = {"pairs": "training pairs", "words": "words of the vocabulary"}


def scaling_benchmark(
    pairs: Sequence[int],
    image_width: int,
    words: Sequence[int],
    bits: int,
    epochs: int,
    pairwise: Pairwise,
    device: str = "auto",
    progress: Progress = silent,
) -> dict[str, Any]:
    """Train FDCH on more and more pairs or words; a stage's first epoch is not counted.

    Raises:
        SettingError: Several numbers of both.
    """
    if len(pairs) > 1 and len(words) > 1:
        raise SettingError("give several numbers of pairs or of words, not of both.")
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
            cost = _measure(method, repeat_pairs(drawn, number), device, place)
            costs.append({"pairs": number, "words": columns, **cost})
            done = len(costs), len(pairs) * len(words)
            progress(Update("scaling benchmark", *done, "size"))
    return {
        "method": method.name,
        "image_width": image_width,
        "bits": bits,
        "epochs": epochs,
        "pairwise": pairwise,
        "batch_size": method.batch_size,
        **describe_device(place),
        "costs": costs,
    }


def repeat_pairs(drawn: PairedSet, pairs: int) -> PairedSet:
    """Make a set of any size by taking its rows again and again."""
    rows = np.arange(pairs) % len(drawn)
    return replace(
        drawn,
        ids=np.array([str(row) for row in range(pairs)], dtype=object),
        images=drawn.images[rows],
        texts=drawn.texts[rows],
        labels=drawn.labels[rows],
    )


def _measure(
    method: FDCH, pairs: PairedSet, device: str, place: torch.device
) -> dict[str, Any]:
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


def plot_format(path: Path) -> str:
    """Return the format that a file's ending names; refuse others."""
    form = path.suffix.lower().removeprefix(".")
    if form not in FORMATS:
        raise SettingError(
            f"plots are written as {', '.join(f'.{known}' for known in FORMATS)}; "
            f"'{path.name}' ends otherwise."
        )
    return form


def plot_costs(path: Path, costs: Sequence[dict[str, Any]]) -> None:
    """Draw seconds an epoch of each stage, and memory, over what grows."""
    over = "words" if len({cost["words"] for cost in costs}) > 1 else "pairs"
    form, sizes = plot_format(path), [cost[over] for cost in costs]
    with open_figure("scaling", (6.6, 4.2), FILE_STYLE) as figure:
        seconds, memory = figure.subplots(1, 2)
        for stage, marker in zip(STAGES, "os", strict=True):
            took = [cost["epoch_seconds"][stage] for cost in costs]
            seconds.plot(sizes, took, marker=marker, label=stage)
        for key, name, marker in (
            ("peak_memory_bytes", "host", "o"),
            ("peak_device_memory_bytes", "accelerator", "s"),
        ):
            known = [(cost[over], cost[key] / 1e9) for cost in costs if cost[key]]
            if known:
                memory.plot(*zip(*known, strict=True), marker=marker, label=name)
        for axes, title in ((seconds, "seconds an epoch"), (memory, "memory, GB")):
            axes.set(xscale="log", yscale="log", xlabel=AXES[over], title=title)
            axes.legend()
        write_whole(
            path, lambda file: figure.savefig(file, format=form, **FORMATS[form])
        )
