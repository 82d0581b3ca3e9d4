"""How fast FDCH learns, beside plain loops that do the work of its stages."""

import statistics
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch

from fdch.bench.learning.device_time import BusyClock
from fdch.bench.learning.floors import (
    ADAM_BYTES,
    Ceilings,
    count_stages,
    measure_ceilings,
)
from fdch.bench.learning.plain_loop import plain_stage_one, plain_stage_two
from fdch.bench.learning.workload import Workload
from fdch.bench.timing import ratio, spread
from fdch.data.pairs import PairedSet
from fdch.data.pictures.images import ImageFeatures
from fdch.data.texts import WordVectors
from fdch.machine import forget_peak_memory, peak_memory
from fdch.methods.fdch import FDCH
from fdch.networks.text import sparse_rows
from fdch.progress import Progress, Update, silent
from fdch.training.context import Context

STAGES = ("stage 1", "stage 2")
TERMS = ("pairwise", "balance", "quantization", "neighbours")  # of the loss of stage 1
COMPARED_EPOCHS = 2
COUNTED = 128  # pairs whose operations are counted


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


@dataclass(frozen=True)
class TrainingSizes:
    """What to train on and for how long: 2 epochs or more, the first timed apart."""

    pairs: int = 5000
    image_width: int = 1280
    words: int = 1386
    bits: int = 64
    epochs: int = 3
    repeats: int = 3


def training_benchmark(
    sizes: TrainingSizes, device: str = "auto", progress: Progress = silent
) -> dict[str, Any]:
    """Train FDCH and the plain loop in turn, in this process."""
    place = Context(device=device).torch_device()
    has_memory = place.type == "cuda"
    pairs = Workload(sizes.image_width, sizes.words).draw(sizes.pairs)
    # dropout is given, so that nothing but training is timed
    method = _method(sizes.bits, sizes.epochs, sizes.epochs, dropout=0.5)
    clocks, plain, peaks = [], [], []
    total = 2 * sizes.repeats + 1
    for turn in range(sizes.repeats):
        forget_peak_memory()
        if has_memory:
            torch.cuda.reset_peak_memory_stats(place)
        clocks.append(_ours(method, pairs, device))
        on_device = torch.cuda.max_memory_allocated(place) if has_memory else None
        peaks.append((peak_memory(), on_device))
        progress(Update("training benchmark", 2 * turn + 1, total, "training"))
        plain.append(_peer(method, pairs, place).seconds)
        progress(Update("training benchmark", 2 * turn + 2, total, "training"))
    stages = {
        stage: measure_rates([clock.seconds[stage] for clock in clocks], sizes.pairs)
        for stage in STAGES
    }
    peers = {
        stage: measure_rates([turn[stage] for turn in plain], sizes.pairs)
        for stage in STAGES
    }
    losses = _compare_losses(sizes.bits, pairs, device, place)
    busy = BusyClock(place)
    method.fit(pairs, context=Context(busy, device))
    ceilings = measure_ceilings(place)
    floors = _floors(method, pairs, place, ceilings)
    for stage, rates in stages.items():
        rates |= compare_with_floor(rates, floors[stage], busy.seconds.get(stage))
    progress(Update("training benchmark", total, total, "training"))
    ratios = {
        stage: ratio(
            peers[stage]["epoch_seconds"]["all"], stages[stage]["epoch_seconds"]["all"]
        )
        for stage in STAGES
    }
    return {
        "benchmark": "training",
        "method": method.name,
        **asdict(sizes),
        "labels": len(pairs.label_names),
        "batch_size": method.batch_size,
        **describe_device(place),
        # of the first turn: what the other side leaves behind is not ours
        "peak_memory_bytes": peaks[0][0],
        "peak_device_memory_bytes": peaks[0][1],
        "ceilings": ceilings._asdict(),
        "stages": stages,
        "peer": {
            **peers,
            "ratio": ratios["stage 1"],
            "ratio_of_stage_2": ratios["stage 2"],
            **losses,
        },
    }


def compare_with_floor(
    rates: dict[str, Any], floor: float, busy: float | None
) -> dict[str, Any]:
    """Give the least seconds of an epoch, and the device's busy share of one."""
    share = None if busy is None else busy / rates["epoch_seconds"]["median"]
    return {"floor_seconds": floor, "busy_share": share}


def describe_device(place: torch.device) -> dict[str, Any]:
    """Say where a benchmark ran."""
    is_far = place.type == "cuda"
    return {
        "device": str(place),
        "device_name": torch.cuda.get_device_name(place) if is_far else "cpu",
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }


def _floors(
    method: FDCH, pairs: PairedSet, place: torch.device, ceilings: Ceilings
) -> dict[str, float]:
    """Give what an epoch of each stage takes at least.

    That is the networks forward, the gradients of their weights and the products of
    outputs and labels of all pairs, or the weights with their gradients and moments
    once a step. Gradients of inputs are left out: the largest layers need none.
    """
    n = len(pairs)
    some, texts = pairs.images[:COUNTED], pairs.texts[:COUNTED]
    assert isinstance(some, ImageFeatures) and isinstance(texts, WordVectors)
    images = torch.from_numpy(some.values).to(place)
    words = sparse_rows(texts.matrix).to(place)
    done, weights = count_stages(method.functions, images, words)
    # outputs forward and backward, labels once, in each pass over the pairs
    compared = n * n * (4 * method.bits + 2 * len(pairs.label_names))
    passes, steps = {"stage 1": 1, "stage 2": 2}, -(-n // method.batch_size)
    return {
        stage: ceilings.floor(
            2 * done[stage] * n / len(some) + passes[stage] * compared,
            steps * ADAM_BYTES * weights[stage],
            "float32",
        )
        for stage in STAGES
    }


def _method(bits: int, one: int, two: int, dropout: float) -> FDCH:
    return FDCH(
        bits=bits,
        stage_one_epochs=one,
        stage_two_epochs=two,
        image_dropout=dropout,
        word_dropout=dropout,
    )


def _ours(method: FDCH, pairs: PairedSet, device: str) -> EpochClock:
    clock = EpochClock()
    method.fit(pairs, context=Context(clock, device))
    return clock


def _peer(method: FDCH, pairs: PairedSet, place: torch.device) -> EpochClock:
    images, texts = pairs.images, pairs.texts
    assert isinstance(images, ImageFeatures) and isinstance(texts, WordVectors)
    clock, settings = EpochClock(), asdict(method)
    arrays = images.values, texts.matrix, pairs.labels
    plain_stage_one(*arrays, settings, place, clock)
    plain_stage_two(*arrays, settings, place, clock)
    return clock


def _compare_losses(
    bits: int, pairs: PairedSet, device: str, place: torch.device
) -> dict[str, Any]:
    """Run both sides without dropout, whose draws differ, and compare losses."""
    method = _method(bits, COMPARED_EPOCHS, 1, dropout=0.0)
    values = _ours(method, pairs, device).values["stage 1"]
    own = [sum(terms[term] for term in TERMS) for terms in values]
    other = [each["loss"] for each in _peer(method, pairs, place).values["stage 1"]]
    apart = [abs(a - b) / abs(b) for a, b in zip(own, other, strict=True)]
    return {"losses": {"ours": own, "peer": other}, "loss_difference": max(apart)}


def measure_rates(turns: Sequence[Sequence[float]], pairs: int) -> dict[str, Any]:
    """Turn the seconds of each turn's epochs into what is reported of a stage."""
    usual = [statistics.median(epochs[1:]) for epochs in turns]
    return {
        "first_epoch_seconds": spread([epochs[0] for epochs in turns]),
        "epoch_seconds": spread(usual),
        "epochs_per_second": spread([1 / took for took in usual]),
        "pairs_per_second": spread([pairs / took for took in usual]),
    }
