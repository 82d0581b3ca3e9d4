"""How fast one text, one picture and many pictures are encoded."""

import io
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import nn

from fdch.bench.learning.floors import count_operations, measure_ceilings, wait_for
from fdch.bench.timing import repeat, spread, take_turns
from fdch.data.pictures.images import PictureArray
from fdch.methods._base import HashMethod
from fdch.networks import image as image_networks
from fdch.networks.device import choose_precision
from fdch.networks.head import FineTunedNetwork, ImageHead
from fdch.retrieval.encoders import export_queries
from fdch.retrieval.queries import Encoder, encode_image_queries, encode_text_queries
from fdch.runs.run import Run
from fdch.training.context import PLAIN, Context
from fdch.training.inputs import READY

PHOTO = (480, 640, 3)
WORDS = 6
TEXT_CALLS, PICTURE_CALLS = 200, 4  # in a turn, so that it lasts long enough
PICTURES = {"cuda": 4096}
USUAL_PICTURES = 32
PLAIN_BATCH = 32


def encoder_speed(
    run: Run, repeats: int = 5, context: Context = PLAIN
) -> dict[str, Any]:
    """Time torch and ONNX Runtime in alternation, one item at a time.

    Returns:
        For each side milliseconds of an item, and how many times ONNX Runtime is
        faster. A picture is a photo of usual size, its decoding included.
    """
    method, exported = run.method, export_queries(run)
    found: dict[str, Any] = {"method": run.name, "bits": method.bits}
    vocabulary = method.inputs.vocabulary
    if vocabulary is not None:
        texts = [" ".join(vocabulary.words[:WORDS])]

        def encode_text(encoder: Encoder, call: int) -> None:
            encode_text_queries(encoder, texts)

        found["text"] = _time(encode_text, exported, method, TEXT_CALLS, repeats)
    if method.inputs.image_network != READY:
        pixels = np.random.default_rng(0).integers(0, 256, PHOTO, dtype=np.uint8)
        content = io.BytesIO()
        Image.fromarray(pixels).save(content, "JPEG")

        def encode_picture(encoder: Encoder, call: int) -> None:
            encode_image_queries(encoder, [content.getvalue()], context)

        found["picture"] = _time(
            encode_picture, exported, method, PICTURE_CALLS, repeats
        )
    return found


def _time(
    encode: Any, exported: Encoder, method: Encoder, calls: int, repeats: int
) -> dict[str, Any]:
    fast, plain = (repeat(partial(encode, each), calls) for each in (exported, method))
    turns = take_turns(fast, plain, repeats)
    return {
        "onnx_milliseconds": 1000 * turns["ours_seconds"]["median"] / calls,
        "torch_milliseconds": 1000 * turns["peer_seconds"]["median"] / calls,
        "ratio": turns["ratio"],
    }


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
