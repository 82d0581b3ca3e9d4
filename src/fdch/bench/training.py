"""How fast FDCH learns, beside a plain loop that does the work of stage 1."""

import statistics
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch

from fdch.bench.plain_loop import plain_stage_one
from fdch.bench.timing import spread
from fdch.bench.workload import Workload
from fdch.data.pairs import PairedSet
from fdch.data.pictures.images import ImageFeatures
from fdch.data.texts import WordVectors
from fdch.errors import SettingError
from fdch.machine import forget_peak_memory, peak_memory
from fdch.methods.fdch import FDCH
from fdch.progress import Progress, Update, silent
from fdch.training.context import Context

STAGES = ("stage 1", "stage 2")
TERMS = ("pairwise", "balance", "quantization", "neighbours")  # of the loss of stage 1
COMPARED_EPOCHS = 2


class EpochClock:
    """A Progress that times epochs, each from the one before it to its own end.

    The first of a stage also holds what prepares the stage.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self.values: dict[str, list[dict[str, float]]] = defaultdict(list)
        self._last = time.perf_counter()

    def __call__(self, update: Update) -> None:
        """Take an update."""
        if update.unit == "epoch":
            now = time.perf_counter()
            self.seconds[update.task].append(now - self._last)
            self.values[update.task].append(dict(update.values))
            self._last = now


def time_losses(losses: Iterable[float]) -> tuple[list[float], list[float]]:
    """Draw the losses of epochs; give them, and the seconds that each took."""
    found, took, last = [], [], time.perf_counter()
    for loss in losses:
        now = time.perf_counter()
        found.append(loss)
        took.append(now - last)
        last = now
    return found, took


def machine_facts(device: torch.device) -> dict[str, Any]:
    """Name the device, with the threads and the version of torch."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    return {
        "device": str(device),
        "device_name": name,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }


def forget_peak_device_memory(device: torch.device) -> None:
    """Let `peak_device_memory` count from now on."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)


def peak_device_memory(device: torch.device) -> int | None:
    """Give the most bytes held on an accelerator, where it has its own memory."""
    return torch.cuda.max_memory_allocated(device) if device.type == "cuda" else None


@dataclass(frozen=True)
class TrainingSizes:
    """What to train on, and how long.

    Args:
        pairs: Made-up training pairs.
        image_width: Image features.
        words: Columns of the texts.
        bits: Length of the codes.
        epochs: Epochs of each stage; the first is reported separately.
        repeats: Trainings from the beginning, of each side.
    """

    pairs: int = 5000
    image_width: int = 1280
    words: int = 1386
    bits: int = 64
    epochs: int = 3
    repeats: int = 3

    def __post_init__(self) -> None:
        if self.epochs < 2 or self.repeats < 1:
            raise SettingError(
                "the benchmark needs two epochs, as the first is reported separately, "
                f"and one repeat; got {self.epochs} and {self.repeats}."
            )


def training_benchmark(
    sizes: TrainingSizes, device: str = "auto", progress: Progress = silent
) -> dict[str, Any]:
    """Train FDCH and the plain loop in turn, in this process.

    Args:
        sizes: Of data and work.
        device: "auto", or a torch device.
        progress: Called after each training.
    """
    context = Context(device=device)
    place = context.torch_device()
    pairs = Workload(sizes.image_width, sizes.words).draw(sizes.pairs)
    method = FDCH(
        bits=sizes.bits,
        stage_one_epochs=sizes.epochs,
        stage_two_epochs=sizes.epochs,
        image_dropout=0.5,  # given, so that nothing but training is timed
        word_dropout=0.5,
    )
    clocks, plain, peaks = [], [], []
    total = 2 * sizes.repeats + 1
    for turn in range(sizes.repeats):
        forget_peak_memory()
        forget_peak_device_memory(place)
        clocks.append(_ours(method, pairs, device))
        peaks.append((peak_memory(), peak_device_memory(place)))
        progress(Update("training benchmark", 2 * turn + 1, total, "training"))
        plain.append(_peer(method, pairs, context)[1])
        progress(Update("training benchmark", 2 * turn + 2, total, "training"))
    stages = {
        stage: _rates([clock.seconds[stage] for clock in clocks], sizes.pairs)
        for stage in STAGES
    }
    peer = _rates(plain, sizes.pairs)
    losses = _compare_losses(sizes, pairs, context)
    progress(Update("training benchmark", total, total, "training"))
    own = stages["stage 1"]["epoch_seconds"]["all"]
    return {
        "benchmark": "training",
        "method": method.name,
        **asdict(sizes),
        "labels": len(pairs.label_names),
        "batch_size": method.batch_size,
        **machine_facts(place),
        # of the first turn: what the other side leaves behind is not ours
        "peak_memory_bytes": peaks[0][0],
        "peak_device_memory_bytes": peaks[0][1],
        "stages": stages,
        "peer": {
            "stage 1": peer,
            "ratio": spread(
                [
                    other / mine
                    for mine, other in zip(
                        own, peer["epoch_seconds"]["all"], strict=True
                    )
                ]
            ),
            **losses,
        },
    }


def _ours(method: FDCH, pairs: PairedSet, device: str) -> EpochClock:
    clock = EpochClock()
    method.fit(pairs, context=Context(clock, device))
    return clock


def _peer(
    method: FDCH, pairs: PairedSet, context: Context
) -> tuple[list[float], list[float]]:
    """Give the losses of the plain loop, and the seconds of its epochs."""
    assert isinstance(pairs.images, ImageFeatures)
    assert isinstance(pairs.texts, WordVectors)
    epochs = plain_stage_one(
        pairs.images.values,
        pairs.texts.matrix,
        pairs.labels,
        asdict(method),
        context.torch_device(),
    )
    return time_losses(epochs)


def _compare_losses(
    sizes: TrainingSizes, pairs: PairedSet, context: Context
) -> dict[str, Any]:
    """Run both sides without dropout, whose draws differ, and compare losses."""
    method = FDCH(
        bits=sizes.bits,
        stage_one_epochs=COMPARED_EPOCHS,
        stage_two_epochs=1,
        image_dropout=0.0,
        word_dropout=0.0,
    )
    clock = _ours(method, pairs, context.device)
    own = [sum(terms[term] for term in TERMS) for terms in clock.values["stage 1"]]
    other, _ = _peer(method, pairs, context)
    apart = [abs(a - b) / abs(b) for a, b in zip(own, other, strict=True)]
    return {
        "losses": {"ours": own, "peer": other},
        "loss_difference": max(apart),
    }


def _rates(turns: Sequence[Sequence[float]], pairs: int) -> dict[str, Any]:
    """Turn the seconds of each turn's epochs into what is reported of a stage."""
    usual = [statistics.median(epochs[1:]) for epochs in turns]
    return {
        "first_epoch_seconds": spread([epochs[0] for epochs in turns]),
        "epoch_seconds": spread(usual),
        "epochs_per_second": spread([1 / took for took in usual]),
        "pairs_per_second": spread([pairs / took for took in usual]),
    }
