"""Training speed of FDCH, beside plain loops that do the work of its stages.

On ready features the peer is `plain_loop`; where an image network is trained too, it
is `public_loop`, as published code of this field has it.
"""

import os
import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fdch.bench.learning.clocks import BusyClock, EpochClock
from fdch.bench.learning.floors import (
    ADAM_BYTES,
    Ceilings,
    count_stages,
    measure_ceilings,
)
from fdch.bench.learning.plain_loop import place_data, plain_stage_one, plain_stage_two
from fdch.bench.learning.public_loop import TASK, run_public_loop, store_pictures
from fdch.bench.learning.workload import Workload
from fdch.bench.timing import ratio, spread, take_turns
from fdch.data.pairs import PairedSet
from fdch.data.pictures.images import ImageFeatures, PictureArray
from fdch.data.texts import WordVectors
from fdch.machine import forget_peak_memory, peak_memory
from fdch.methods.fdch import FDCH
from fdch.networks import image as image_networks
from fdch.networks.device import Precision, choose_precision, quick_products
from fdch.networks.text import sparse_rows
from fdch.progress import Progress, silent
from fdch.training.context import Context

STAGES = ("stage 1", "stage 2")
FIGURES = ("mean |", "imbalance ")  # reported beside the terms of a loss
COMPARED_EPOCHS = 2
COUNTED, COUNTED_PICTURES = 128, 8  # pairs whose operations are counted
CACHE = "FDCH_CACHE"


@dataclass(frozen=True)
class TrainingSizes:
    """What to train on and for how many epochs: 2 or more, the first timed apart."""

    pairs: int
    image_width: int
    words: int
    bits: int
    epochs: int
    repeats: int
    network: str | None = None  # an image network to train too, on random pictures
    precision: Precision = "auto"  # of that network

    def draw(self) -> PairedSet:
        """Draw pairs with features, or with pictures for the network."""
        if self.network is None:
            return Workload(self.image_width, self.words).draw(self.pairs)
        size = image_networks.describe(self.network).size
        shape = (self.pairs, size, size, 3)
        pixels = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
        drawn = Workload(1, self.words).draw(self.pairs)
        return replace(drawn, images=PictureArray(pixels))

    def method(self, stage_one: int, stage_two: int, dropout: float) -> FDCH:
        """Make FDCH; dropout is given, so that nothing but training is timed."""
        learned: dict[str, Any] = {}
        if self.network is not None:
            learned = {"image_network": self.network, "precision": self.precision}
            learned |= {"finetune": True, "warm_start": False, "batch_size": 128}
        return FDCH(
            bits=self.bits,
            stage_one_epochs=stage_one,
            stage_two_epochs=stage_two,
            image_dropout=dropout,
            word_dropout=dropout,
            **learned,
        )


def training_benchmark(
    sizes: TrainingSizes, device: str = "auto", progress: Progress = silent
) -> dict[str, Any]:
    """Train FDCH and the plain loop in turns, in this process."""
    place = Context(device=device).torch_device()
    pairs = sizes.draw()
    method = sizes.method(sizes.epochs, sizes.epochs, dropout=0.5)
    train_peer = _peer(sizes, method, pairs, place)
    memory: dict[str, Any] = {}

    def train(turn: int) -> EpochClock:
        forget_all_peaks(place)
        clock = _time_epochs(lambda clock: _fit(method, pairs, clock, device))
        if not memory:  # later ones hold what the other side leaves behind
            memory.update(measure_peaks(place))
        return clock

    sides = {"ours": train, "peer": lambda turn: _time_epochs(train_peer)}
    busy = BusyClock(place)
    with _private_cache():
        turns = take_turns(sides, sizes.repeats, progress, "training benchmark")
        _fit(method, pairs, busy, device)
        precisions = _compare_precisions(sizes, pairs, device, place)
    with quick_products(method.precision, place):  # as it is trained
        ceilings = measure_ceilings(place)
    floors = _floors(method, pairs, place, ceilings)
    ours, peers = (
        {
            task: _rates([clock.seconds[task] for clock in clocks], sizes.pairs)
            for task in clocks[0].seconds
        }
        for clocks in turns.values()
    )
    ratios = {}
    for stage, rates in ours.items():
        epoch = rates["epoch_seconds"]
        used = busy.seconds.get(stage)
        rates["floor_seconds"] = floors[stage]
        rates["times_the_floor"] = epoch["median"] / floors[stage]
        rates["busy_share"] = None if used is None else used / epoch["median"]
        other = peers.get(stage) or peers[TASK]
        ratios[stage] = ratio(other["epoch_seconds"]["all"], epoch["all"])
    compared: dict[str, Any] = {"ratio": ratios}
    precision: str = choose_precision(method.precision, place)
    if sizes.network is None:
        rounded = place.type == "cuda" and method.precision != "float32"
        precision = "tf32" if rounded else "float32"
        compared = {"ratio": ratios["stage 1"], "ratio_of_stage_2": ratios["stage 2"]}
        compared |= _compare_losses(sizes, pairs, device, place)
    return {
        "method": method.name,
        "precision": precision,
        "labels": len(pairs.label_names),
        "batch_size": method.batch_size,
        **describe_device(place),
        **memory,
        "ceilings": ceilings._asdict(),
        "stages": ours,
        "peer": {**peers, **compared},
        **precisions,
    }


def forget_all_peaks(place: torch.device) -> None:
    """Reset the peaks that `measure_peaks` returns."""
    forget_peak_memory()
    if place.type == "cuda":
        torch.cuda.reset_peak_memory_stats(place)


def measure_peaks(place: torch.device) -> dict[str, int | None]:
    """Return the most memory that was held, by this process and on an accelerator."""
    is_far = place.type == "cuda"
    return {
        "peak_memory_bytes": peak_memory(),
        "peak_device_memory_bytes": (
            torch.cuda.max_memory_allocated(place) if is_far else None
        ),
    }


def describe_device(place: torch.device) -> dict[str, Any]:
    """Return where a benchmark ran."""
    is_far = place.type == "cuda"
    return {
        "device": str(place),
        "device_name": torch.cuda.get_device_name(place) if is_far else "cpu",
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }


@contextmanager
def _private_cache() -> Iterator[None]:
    """Keep pixels in a temporary folder instead of the user's cache."""
    before = os.environ.get(CACHE)
    with tempfile.TemporaryDirectory() as folder:
        os.environ[CACHE] = folder
        try:
            yield
        finally:
            os.environ.pop(CACHE)
            if before is not None:
                os.environ[CACHE] = before


def _time_epochs(train: Callable[[Progress], object]) -> EpochClock:
    clock = EpochClock()
    train(clock)
    return clock


def _fit(method: FDCH, pairs: PairedSet, progress: Progress, device: str) -> None:
    method.fit(pairs, context=Context(progress, device))


def _peer(
    sizes: TrainingSizes, method: FDCH, pairs: PairedSet, place: torch.device
) -> Callable[[Progress], None]:
    """Prepare the plain loop of the same work; it reports its epochs."""
    images, texts = _arrays(pairs)
    settings = asdict(method)
    if sizes.network is not None:
        stored = store_pictures(images)
        inputs = sizes.network, stored, texts, pairs.labels
        settings["epochs"] = sizes.epochs
        return partial(run_public_loop, *inputs, settings, place)

    def train(progress: Progress) -> None:
        data = place_data(images, texts, pairs.labels, place)
        plain_stage_one(data, settings, progress)
        plain_stage_two(data, settings, progress)

    return train


def _arrays(pairs: PairedSet) -> tuple[NDArray[Any], csr_array]:
    """Return features or pixels, and word vectors."""
    assert isinstance(pairs.texts, WordVectors)
    if isinstance(pairs.images, ImageFeatures):
        return pairs.images.values, pairs.texts.matrix
    assert isinstance(pairs.images, PictureArray)
    return np.asarray(pairs.images.pixels), pairs.texts.matrix


def _floors(
    method: FDCH, pairs: PairedSet, place: torch.device, ceilings: Ceilings
) -> dict[str, float]:
    """Return what an epoch of each stage takes at least.

    That is the networks forward, the gradients of their weights and the products of
    outputs and labels of all pairs, or the weights with their gradients and moments
    once a step. Gradients of inputs count for image networks only: the largest layers
    above ready features need none.
    """
    n, (images, texts) = len(pairs), _arrays(pairs)
    few = min(n, COUNTED_PICTURES if method.finetune else COUNTED)
    done, weights = count_stages(
        method.functions,
        torch.from_numpy(images[:few]).to(place),
        sparse_rows(texts[:few]).to(place),
    )
    # outputs forward and backward, labels once, in each pass over the pairs
    compared = n * n * (4 * method.bits + 2 * len(pairs.label_names))
    directions, steps = 3 if method.finetune else 2, -(-n // method.batch_size)
    precision = choose_precision(method.precision, place)
    return {
        stage: ceilings.floor(
            directions * done[stage] * n / few + passes * compared,
            steps * ADAM_BYTES * weights[stage],
            precision if method.finetune else "float32",
        )
        for passes, stage in enumerate(STAGES, start=1)
    }


def _compare_losses(
    sizes: TrainingSizes, pairs: PairedSet, device: str, place: torch.device
) -> dict[str, Any]:
    """Run both sides without dropout, whose draws differ, and compare losses."""
    method = sizes.method(COMPARED_EPOCHS, 1, dropout=0.0)
    clock = _time_epochs(lambda clock: _fit(method, pairs, clock, device))
    own = _losses(clock, "stage 1")
    other = _losses(_time_epochs(_peer(sizes, method, pairs, place)), "stage 1")
    return {
        "losses": {"ours": own, "peer": other},
        "loss_difference": _largest_difference(own, other),
    }


def _compare_precisions(
    sizes: TrainingSizes, pairs: PairedSet, device: str, place: torch.device
) -> dict[str, Any]:
    """Train the image network in both precisions, without dropout; compare losses.

    Nothing is to be compared where it is trained in float32, or not at all.
    """
    is_short = choose_precision(sizes.precision, place) == "bfloat16"
    if sizes.network is None or not is_short:
        return {}
    losses = {}
    for precision in ("bfloat16", "float32"):
        same = replace(sizes, precision=precision)
        method = same.method(COMPARED_EPOCHS, COMPARED_EPOCHS, dropout=0.0)
        clock = _time_epochs(partial(_fit, method, pairs, device=device))
        losses[precision] = {stage: _losses(clock, stage) for stage in STAGES}
    short, full = losses.values()
    apart = [_largest_difference(short[stage], full[stage]) for stage in STAGES]
    return {"losses": losses, "loss_difference": max(apart)}


def _losses(clock: EpochClock, stage: str) -> list[float]:
    """Return the loss of each epoch of a stage."""
    return [
        sum(each for name, each in values.items() if not name.startswith(FIGURES))
        for values in clock.values[stage]
    ]


def _largest_difference(own: Sequence[float], other: Sequence[float]) -> float:
    """Return the largest of the differences, as shares of the second."""
    return max(abs(a - b) / abs(b) for a, b in zip(own, other, strict=True))


def _rates(turns: Sequence[Sequence[float]], pairs: int) -> dict[str, Any]:
    """Summarise the seconds of each turn's epochs for one stage."""
    usual = [statistics.median(epochs[1:]) for epochs in turns]
    return {
        "first_epoch_seconds": spread([epochs[0] for epochs in turns]),
        "epoch_seconds": spread(usual),
        "epochs_per_second": spread([1 / took for took in usual]),
        "pairs_per_second": spread([pairs / took for took in usual]),
    }
