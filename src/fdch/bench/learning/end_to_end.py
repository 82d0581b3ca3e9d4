"""How fast FDCH trains an image network too, beside a loop as published."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor

from fdch.bench.learning.device_time import BusyClock
from fdch.bench.learning.floors import (
    ADAM_BYTES,
    Ceilings,
    count_stages,
    measure_ceilings,
)
from fdch.bench.learning.public_loop import TASK, run_public_loop, store_pictures
from fdch.bench.learning.training import (
    STAGES,
    EpochClock,
    compare_with_floor,
    describe_device,
    measure_rates,
)
from fdch.bench.learning.workload import Workload
from fdch.bench.timing import ratio
from fdch.data.pairs import PairedSet
from fdch.data.pictures.images import PictureArray
from fdch.data.texts import WordVectors
from fdch.methods.fdch import FDCH
from fdch.networks import image as image_networks
from fdch.networks.device import Precision, choose_precision
from fdch.networks.text import sparse_rows
from fdch.progress import Progress, Update, silent
from fdch.training.context import Context

CACHE = "FDCH_CACHE"
BATCH = 128
COUNTED = 8  # pictures whose operations are counted


@dataclass(frozen=True)
class PictureSizes:
    """What to train on and for how long: 2 epochs or more, the first timed apart."""

    network: str
    pairs: int = 5000
    words: int = 1386
    bits: int = 64
    epochs: int = 3
    repeats: int = 3
    precision: Precision = "auto"


def end_to_end_benchmark(
    sizes: PictureSizes, device: str = "auto", progress: Progress = silent
) -> dict[str, Any]:
    """Train FDCH with its image network and the published loop in turn."""
    place = Context(device=device).torch_device()
    pairs = _draw(sizes)
    method = FDCH(
        bits=sizes.bits,
        batch_size=BATCH,
        image_network=sizes.network,
        finetune=True,
        warm_start=False,
        precision=sizes.precision,
        stage_one_epochs=sizes.epochs,
        stage_two_epochs=sizes.epochs,
        image_dropout=0.5,
        word_dropout=0.5,
    )
    stored = store_pictures(_parts(pairs)[0])
    ours, public = [], []
    total = 2 * sizes.repeats + 1
    with _private_cache():
        for turn in range(sizes.repeats):
            clock = EpochClock()
            method.fit(pairs, context=Context(clock, device))
            ours.append(clock)
            progress(Update("training benchmark", 2 * turn + 1, total, "training"))
            public.append(_peer(sizes, stored, pairs, place))
            progress(Update("training benchmark", 2 * turn + 2, total, "training"))
        busy = BusyClock(place)
        method.fit(pairs, context=Context(busy, device))
    ceilings = measure_ceilings(place)
    floors = _floors(method, pairs, place, ceilings)
    progress(Update("training benchmark", total, total, "training"))
    stages = {}
    for stage in STAGES:
        rates = measure_rates([clock.seconds[stage] for clock in ours], sizes.pairs)
        known = compare_with_floor(rates, floors[stage], busy.seconds.get(stage))
        stages[stage] = rates | known
    peer = measure_rates(public, sizes.pairs)
    compared = {
        stage: ratio(peer["epoch_seconds"]["all"], rates["epoch_seconds"]["all"])
        for stage, rates in stages.items()
    }
    return {
        "benchmark": "training end to end",
        "method": method.name,
        **asdict(sizes),
        "precision": choose_precision(sizes.precision, place),
        "batch_size": method.batch_size,
        **describe_device(place),
        "ceilings": ceilings._asdict(),
        "stages": stages,
        "peer": {"epoch": peer, "ratio": compared},
    }


def _draw(sizes: PictureSizes) -> PairedSet:
    """Make random pictures, with the texts and labels of a workload."""
    drawn = Workload(1, sizes.words).draw(sizes.pairs)
    size = image_networks.describe(sizes.network).size
    shape = (sizes.pairs, size, size, 3)
    pixels = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    return replace(drawn, images=PictureArray(pixels))


@contextmanager
def _private_cache() -> Iterator[None]:
    """Keep pixels in a folder that goes away, not in the user's cache."""
    before = os.environ.get(CACHE)
    with tempfile.TemporaryDirectory() as folder:
        os.environ[CACHE] = folder
        try:
            yield
        finally:
            os.environ.pop(CACHE)
            if before is not None:
                os.environ[CACHE] = before


def _parts(pairs: PairedSet) -> tuple[Any, csr_array]:
    assert isinstance(pairs.images, PictureArray)
    assert isinstance(pairs.texts, WordVectors)
    return pairs.images.pixels, pairs.texts.matrix


def _peer(
    sizes: PictureSizes, stored: Tensor, pairs: PairedSet, place: torch.device
) -> list[float]:
    clock = EpochClock()
    settings = {"epochs": sizes.epochs, "bits": sizes.bits, "batch_size": BATCH}
    inputs = stored, _parts(pairs)[1], pairs.labels
    run_public_loop(sizes.network, *inputs, settings, place, clock)
    return clock.seconds[TASK]


def _floors(
    method: FDCH, pairs: PairedSet, place: torch.device, ceilings: Ceilings
) -> dict[str, float]:
    """Give what an epoch of each stage takes at least."""
    pixels, texts = _parts(pairs)
    images = torch.from_numpy(pixels[:COUNTED]).to(place)
    words = sparse_rows(texts[:COUNTED]).to(place)
    n = len(pairs)
    done, weights = count_stages(method.functions, images, words)
    precision = choose_precision(method.precision, place)
    steps = -(-n // method.batch_size)
    return {
        stage: ceilings.floor(
            3 * operations * n / COUNTED, steps * ADAM_BYTES * weights[stage], precision
        )
        for stage, operations in done.items()
    }
