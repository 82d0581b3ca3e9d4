"""What an epoch of FDCH costs against the number of training pairs."""

import gc
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fdch.bench.learning.training import STAGES, EpochClock, describe_device
from fdch.bench.learning.workload import Workload
from fdch.data.pairs import PairedSet
from fdch.errors import SettingError
from fdch.files import write_whole
from fdch.machine import forget_peak_memory, peak_memory
from fdch.methods.fdch import FDCH
from fdch.progress import Progress, Update, silent
from fdch.report.plots import open_figure
from fdch.reproduction.figures import FILE_STYLE, FORMATS
from fdch.training.batches import EXACT_UP_TO, Pairwise
from fdch.training.context import Context

DRAWN = 5000  # pairs of which larger sets are repetitions


@dataclass(frozen=True)
class ScalingSizes:
    """What to train on and for how long; the first epoch is not counted."""

    image_width: int = 1280
    words: int = 1386
    bits: int = 64
    epochs: int = 2
    pairwise: Pairwise = "auto"


def scaling_benchmark(
    numbers: Sequence[int],
    sizes: ScalingSizes,
    device: str = "auto",
    progress: Progress = silent,
) -> dict[str, Any]:
    """Train FDCH on more and more pairs."""
    place = Context(device=device).torch_device()
    drawn = Workload(sizes.image_width, sizes.words).draw(min(DRAWN, max(numbers)))
    method = FDCH(
        bits=sizes.bits,
        pairwise=sizes.pairwise,
        stage_one_epochs=sizes.epochs,
        stage_two_epochs=sizes.epochs,
        image_dropout=0.5,
        word_dropout=0.5,
    )
    costs = []
    for done, pairs in enumerate(numbers, start=1):
        costs.append(_measure(method, repeat_pairs(drawn, pairs), device, place))
        progress(Update("scaling benchmark", done, len(numbers), "size"))
    return {
        "benchmark": "scaling",
        "method": method.name,
        **asdict(sizes),
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
    forget_peak_memory()
    has_memory = place.type == "cuda"
    if has_memory:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(place)
    clock = EpochClock()
    method.fit(pairs, context=Context(clock, device))
    usual = {stage: statistics.median(clock.seconds[stage][1:]) for stage in STAGES}
    is_large = len(pairs) > EXACT_UP_TO
    return {
        "pairs": len(pairs),
        "pairwise": (
            ("sampled" if is_large else "exact")
            if method.pairwise == "auto"
            else method.pairwise
        ),
        "epoch_seconds": usual,
        "both_stages_seconds": sum(usual.values()),
        "peak_memory_bytes": peak_memory(),
        "peak_device_memory_bytes": (
            torch.cuda.max_memory_allocated(place) if has_memory else None
        ),
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
    """Draw seconds an epoch of each stage, and memory, over the number of pairs."""
    form, pairs = plot_format(path), [cost["pairs"] for cost in costs]
    with open_figure("scaling", (6.6, 4.2), FILE_STYLE) as figure:
        seconds, memory = figure.subplots(1, 2)
        for stage, marker in zip(STAGES, "os", strict=True):
            took = [cost["epoch_seconds"][stage] for cost in costs]
            seconds.plot(pairs, took, marker=marker, label=stage)
        for key, name, marker in (
            ("peak_memory_bytes", "host", "o"),
            ("peak_device_memory_bytes", "accelerator", "s"),
        ):
            known = [(cost["pairs"], cost[key] / 1e9) for cost in costs if cost[key]]
            if known:
                memory.plot(*zip(*known, strict=True), marker=marker, label=name)
        for axes, title in ((seconds, "seconds an epoch"), (memory, "memory, GB")):
            axes.set(xscale="log", yscale="log", xlabel="training pairs", title=title)
            axes.legend()
        write_whole(
            path, lambda file: figure.savefig(file, format=form, **FORMATS[form])
        )
