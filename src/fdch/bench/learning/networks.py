"""The parts of networks written here, beside what they stand in for."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor, nn
from torch.nn import functional

from fdch.bench.learning.floors import (
    Ceilings,
    count_operations,
    measure_ceilings,
    wait_for,
)
from fdch.bench.timing import compare
from fdch.networks import image as image_networks
from fdch.networks.backbones.fused import activate, can_fuse
from fdch.networks.backbones.response_norm import response_norm
from fdch.networks.device import choose_precision, resolve_device
from fdch.networks.head import FineTunedNetwork, ImageHead
from fdch.networks.initialization import initialize, linear
from fdch.networks.text import WordLayer, sparse_rows
from fdch.progress import Progress, Update, silent

BATCH, WORDS, WORDS_PER_TEXT, HIDDEN = 128, 1386, 5, 8192
FEATURES, ABOVE_FEATURES = 1280, 1024
# pictures at a time; a processor is given fewer
PICTURES = {"cuda": 128}
USUAL_PICTURES = 8
BITS = 64


class Part(NamedTuple):
    """Two sides of the same work, and what it takes at least."""

    ours: Callable[[], object]
    peer: Callable[[], object]
    operations: float
    moved: float
    precision: str = "float32"

    def time(
        self, device: torch.device, ceilings: Ceilings, repeats: int
    ) -> dict[str, Any]:
        """Time both sides in turn, each until the device has done its work."""

        def finish(side: Callable[[], object]) -> None:
            side()
            wait_for(device)

        turns = compare(lambda: finish(self.ours), lambda: finish(self.peer), repeats)
        floor = ceilings.floor(self.operations, self.moved, self.precision)
        return {**turns, "floor_seconds": floor}


def networks_benchmark(
    repeats: int, device: str = "auto", progress: Progress = silent
) -> dict[str, Any]:
    """Time our layers and networks against the plain ones, taking turns."""
    place = resolve_device(device)
    ceilings = measure_ceilings(place)
    parts = {
        "response_norm": _response_norm,
        "linear_layer": _linear_layer,
        "word_layer": _word_layer,
        "efficientnet_lite0": _frozen_network,
        "efficientnet_lite0_step": _trained_network,
    }
    result: dict[str, Any] = {
        "repeats": repeats,
        "device": str(place),
        "pictures": _pictures(place),
        "ceilings": ceilings._asdict(),
        "parts": {},
    }
    for done, (name, prepare) in enumerate(parts.items(), start=1):
        result["parts"][name] = prepare(place).time(place, ceilings, repeats)
        progress(Update("networks benchmark", done, len(parts), "part"))
    return result


def _pictures(device: torch.device) -> int:
    return PICTURES.get(device.type, USUAL_PICTURES)


def _draw_pixels(device: torch.device, count: int) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    shape = (count, 224, 224, 3)
    pixels = torch.randint(256, shape, dtype=torch.uint8, generator=generator)
    return pixels.to(device)


def _response_norm(device: torch.device) -> Part:
    """CNN-F's first normalisation, forward and backward, against torch's own.

    Where it is fused with the bias and the ReLU before it, these are counted in.
    """
    generator = torch.Generator().manual_seed(0)
    planes = torch.randn(_pictures(device), 64, 54, 54, generator=generator)
    planes = planes.to(device, memory_format=torch.channels_last)
    bias = torch.zeros(64, device=device, requires_grad=True)
    norm = nn.LocalResponseNorm(5, alpha=5e-4, beta=0.75, k=2)

    def ours(inputs: Tensor) -> Tensor:
        return activate(inputs, bias, is_normalized=True)

    def theirs(inputs: Tensor) -> Tensor:
        return norm(functional.relu(inputs + bias[:, None, None]))

    def step(layer: Callable[[Tensor], Tensor]) -> None:
        inputs = planes.clone().requires_grad_()
        layer(inputs).sum().backward()  # type: ignore[no-untyped-call]

    # forward one array in and one out, backward two in and one out
    moved = 5 * planes.nbytes
    if can_fuse(planes):
        return Part(lambda: step(ours), lambda: step(theirs), 0, moved)
    return Part(lambda: step(response_norm), lambda: step(norm), 0, moved)


def _linear_layer(device: torch.device) -> Part:
    """A hidden layer above ready features against torch's own, with gradients."""
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(BATCH, FEATURES, generator=generator).to(device)
    ours, plain = linear(FEATURES, ABOVE_FEATURES), nn.Linear(FEATURES, ABOVE_FEATURES)
    initialize(ours, "torch", generator)
    plain.load_state_dict(ours.state_dict())
    ours, plain = ours.to(device), plain.to(device)
    return Part(
        lambda: ours(features).sum().backward(),
        lambda: plain(features).sum().backward(),
        operations=4 * BATCH * FEATURES * ABOVE_FEATURES,
        moved=2 * ours.weight.nbytes,  # read, and its gradient written
    )


def _word_layer(device: torch.device) -> Part:
    """The first layer of the text network against a dense one, with gradients."""
    generator = torch.Generator().manual_seed(0)
    columns = torch.randint(WORDS, (BATCH * WORDS_PER_TEXT,), generator=generator)
    starts = np.arange(0, BATCH * WORDS_PER_TEXT + 1, WORDS_PER_TEXT)
    ones = np.ones(len(columns), dtype=np.float32)
    matrix = csr_array((ones, columns.numpy(), starts), shape=(BATCH, WORDS))
    layer, dense = WordLayer(WORDS, HIDDEN), nn.Linear(WORDS, HIDDEN)
    layer, dense = layer.to(device), dense.to(device)
    batch = sparse_rows(matrix).to(device)
    whole = torch.from_numpy(matrix.toarray()).to(device)
    return Part(
        lambda: layer(batch).sum().backward(),
        lambda: dense(whole).sum().backward(),
        operations=4 * len(columns) * HIDDEN,
        moved=layer.weight.nbytes,  # its gradient is written
    )


def _frozen_network(device: torch.device) -> Part:
    """The packaged network folded, as features use it, against the plain one."""
    pixels = _draw_pixels(device, 4 * _pictures(device))
    folded = image_networks.load_frozen("efficientnet_lite0").to(device)
    plain = image_networks.load("efficientnet_lite0").to(device)
    plain.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
    parts = torch.split(pixels, _pictures(device))
    operations = count_operations(plain, pixels[:1]) * len(pixels)

    @torch.inference_mode()
    def peer() -> None:
        plain(pixels)

    return Part(
        lambda: [folded(part) for part in parts],
        peer,
        operations,
        pixels.nbytes,
    )


def _trained_network(device: torch.device) -> Part:
    """A step of fine-tuning as `finetune` takes it, against plain float32."""
    pixels = _draw_pixels(device, _pictures(device))
    ours, plain = (
        FineTunedNetwork(
            image_networks.load("efficientnet_lite0"), ImageHead(1280, BITS), precision
        ).to(device)
        for precision in ("auto", "float32")
    )
    plain.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
    nn.Module.train(plain.network)  # with torch's own BatchNorm

    def step(module: nn.Module) -> None:
        module.zero_grad()
        module(pixels).square().sum().backward()

    return Part(
        lambda: step(ours),
        lambda: step(plain),
        3 * count_operations(ours, pixels[:1]) * len(pixels),
        pixels.nbytes,
        choose_precision("auto", device),
    )
