"""The parts of networks written here, beside what they stand in for."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor, nn

from fdch.bench.timing import take_turns
from fdch.networks import image as image_networks
from fdch.networks.response_norm import response_norm
from fdch.networks.text import WordLayer, sparse_rows
from fdch.progress import Progress, Update, silent

BATCH, WORDS, WORDS_PER_TEXT, HIDDEN = 128, 1386, 5, 8192
Sides = tuple[Callable[[], object], Callable[[], object]]


def networks_benchmark(repeats: int, progress: Progress = silent) -> dict[str, Any]:
    """Time our layers and folded network against the plain ones, taking turns."""
    generator = torch.Generator().manual_seed(0)
    parts = {
        "response_norm": _response_norm,
        "word_layer": _word_layer,
        "efficientnet_lite0": _frozen_network,
    }
    result: dict[str, Any] = {"benchmark": "networks", "repeats": repeats, "parts": {}}
    for done, (name, sides) in enumerate(parts.items(), start=1):
        result["parts"][name] = take_turns(*sides(generator), repeats)
        progress(Update("networks benchmark", done, len(parts), "part"))
    return result


def _response_norm(generator: torch.Generator) -> Sides:
    """CNN-F's first normalisation, forward and backward, against torch's own."""
    planes = torch.randn(8, 64, 54, 54, generator=generator)
    theirs = nn.LocalResponseNorm(5, alpha=5e-4, beta=0.75, k=2)

    def step(layer: Callable[[Tensor], Tensor]) -> None:
        inputs = planes.clone().requires_grad_()
        layer(inputs).sum().backward()  # type: ignore[no-untyped-call]

    return lambda: step(response_norm), lambda: step(theirs)


def _word_layer(generator: torch.Generator) -> Sides:
    """The first layer of the text network against a dense one, with gradients."""
    columns = torch.randint(WORDS, (BATCH * WORDS_PER_TEXT,), generator=generator)
    starts = np.arange(0, BATCH * WORDS_PER_TEXT + 1, WORDS_PER_TEXT)
    ones = np.ones(len(columns), dtype=np.float32)
    matrix = csr_array((ones, columns.numpy(), starts), shape=(BATCH, WORDS))
    layer, dense = WordLayer(WORDS, HIDDEN), nn.Linear(WORDS, HIDDEN)
    batch, whole = sparse_rows(matrix), torch.from_numpy(matrix.toarray())
    return (
        lambda: layer(batch).sum().backward(),
        lambda: dense(whole).sum().backward(),
    )


def _frozen_network(generator: torch.Generator) -> Sides:
    """The packaged network folded, as features use it, against the plain one."""
    shape = (32, 224, 224, 3)
    pixels = torch.randint(256, shape, dtype=torch.uint8, generator=generator)
    folded = image_networks.load_frozen("efficientnet_lite0")
    plain = image_networks.load("efficientnet_lite0")
    plain.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]

    @torch.inference_mode()
    def peer() -> None:
        plain(pixels)

    return lambda: [folded(part) for part in torch.split(pixels, 8)], peer
