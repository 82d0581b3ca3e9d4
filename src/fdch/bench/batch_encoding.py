"""How fast many pictures are encoded, beside a plain PyTorch loop."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from fdch.bench.learning.floors import count_operations, measure_ceilings, wait_for
from fdch.bench.timing import spread, take_turns
from fdch.data.pictures.images import PictureArray
from fdch.methods._base import HashMethod
from fdch.networks import image as image_networks
from fdch.networks.device import choose_precision
from fdch.networks.head import FineTunedNetwork, ImageHead
from fdch.training.context import Context
from fdch.training.inputs import READY

PICTURES = {"cuda": 4096}
USUAL_PICTURES = 32
PLAIN_BATCH = 32


def encode_many(
    method: HashMethod, repeats: int, context: Context
) -> dict[str, Any] | None:
    """Encode decoded pictures in turn with a loop of batches in float32.

    Returns:
        Pictures a second of both sides, their ratio, and what the network needs at
        least; None where the method has no network over pictures.
    """
    inputs, head = method.inputs, method.functions["image"]
    if inputs.image_network == READY or not isinstance(head, nn.Module):
        return None
    place = context.torch_device()
    size = inputs.network.size
    count = PICTURES.get(place.type, USUAL_PICTURES)
    shape = (count, size, size, 3)
    pixels = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    forgetful = replace(context, remember=False)
    network = _plain_network(method, head, place)
    turns = take_turns(
        lambda: method.encode_images(PictureArray(pixels), forgetful),
        lambda: _encode_plainly(network, pixels, place),
        repeats,
    )
    operations = count * count_operations(
        network, torch.from_numpy(pixels[:1]).to(place)
    )
    ceilings = measure_ceilings(place)
    precision = "float32"
    if isinstance(head, FineTunedNetwork):
        precision = choose_precision(head.precision, place)
    return {
        "pictures": count,
        "per_second": _rates(turns["ours_seconds"]["all"], count),
        "peer_per_second": _rates(turns["peer_seconds"]["all"], count),
        "ratio": turns["ratio"],
        "floor_seconds": ceilings.floor(operations, pixels.nbytes, precision),
        "device": str(place),
    }


def _rates(seconds: list[float], count: int) -> dict[str, Any]:
    return spread([count / took for took in seconds])


def _plain_network(
    method: HashMethod, head: nn.Module, place: torch.device
) -> nn.Module:
    if isinstance(head, FineTunedNetwork):
        return FineTunedNetwork(head.network, head.head, "float32").eval()
    assert isinstance(head, ImageHead)
    plain = image_networks.load(method.inputs.image_network).to(place)
    plain.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
    return nn.Sequential(plain, head).eval()


@torch.no_grad()
def _encode_plainly(
    network: nn.Module, pixels: NDArray[np.uint8], place: torch.device
) -> list[NDArray[np.bool_]]:
    codes = [
        (network(torch.from_numpy(pixels[start : start + PLAIN_BATCH]).to(place)) >= 0)
        .cpu()
        .numpy()
        for start in range(0, len(pixels), PLAIN_BATCH)
    ]
    wait_for(place)
    return codes
