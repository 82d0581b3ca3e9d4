"""Encoding times of one text, one picture and many pictures."""

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import nn

from fdch.bench.learning.floors import (
    Ceilings,
    count_operations,
    measure_ceilings,
    wait_for,
)
from fdch.bench.timing import compare, spread
from fdch.data.pictures.images import PictureArray
from fdch.data.texts import Sentences
from fdch.methods._base import HashMethod
from fdch.networks import image as image_networks
from fdch.networks.device import choose_precision
from fdch.networks.head import FineTunedNetwork, ImageHead
from fdch.networks.text import TextNetwork, sparse_rows
from fdch.progress import Progress, silent
from fdch.retrieval.encoders import export_queries
from fdch.retrieval.queries import Encoder, encode_image_queries, encode_text_queries
from fdch.runs.run import Run, open_run
from fdch.training.context import PLAIN, Context
from fdch.training.inputs import READY

PHOTO = (480, 640, 3)
WORDS = 6
TEXT_CALLS, PICTURE_CALLS = 200, 4  # in a turn, so that it lasts long enough
PICTURES = {"cuda": 4096}
USUAL_PICTURES = 32
PLAIN_BATCH = 32


def encode_benchmark(
    run: Path, repeats: int, device: str = "auto", progress: Progress = silent
) -> dict[str, Any]:
    """Time one text and one picture beside ONNX Runtime, many beside a plain loop.

    The floor is what a network needs at least, once the words are counted or the
    picture is decoded.
    """
    context = Context(progress, device)
    opened = open_run(run, context)
    ceilings = measure_ceilings(context.torch_device())
    found = encoder_speed(opened, repeats, context)
    if (operations := count_text_operations(opened.method)) is not None:
        floor = 1000 * ceilings.floor(operations, 0, "float32")
        found["text"]["floor_milliseconds"] = floor
    many = encode_many(opened.method, repeats, context, ceilings)
    if many is not None:
        found["many"] = many
        floor = 1000 * many["floor_seconds"] / many["pictures"]
        found["picture"]["floor_milliseconds"] = floor
    return found


def encoder_speed(run: Run, repeats: int, context: Context = PLAIN) -> dict[str, Any]:
    """Time torch and ONNX Runtime in turns, one item at a time.

    Returns:
        For each side milliseconds of an item, and how many times ONNX Runtime is
        faster. A picture is a photo of usual size, its decoding included.
    """
    method, exported = run.method, export_queries(run)
    found: dict[str, Any] = {"method": run.name, "bits": method.bits}

    def measure(encode: Callable[[Encoder], object], calls: int) -> dict[str, Any]:
        def several(encoder: Encoder) -> None:
            for _ in range(calls):
                encode(encoder)

        turns = compare(lambda: several(exported), lambda: several(method), repeats)
        return {
            "onnx_milliseconds": 1000 * turns["ours_seconds"]["median"] / calls,
            "torch_milliseconds": 1000 * turns["peer_seconds"]["median"] / calls,
            "ratio": turns["ratio"],
        }

    if (text := _make_text(method)) is not None:
        found["text"] = measure(lambda e: encode_text_queries(e, [text]), TEXT_CALLS)
    if method.inputs.image_network != READY:
        pixels = np.random.default_rng(0).integers(0, 256, PHOTO, dtype=np.uint8)
        content = io.BytesIO()
        Image.fromarray(pixels).save(content, "JPEG")
        photos = [content.getvalue()]
        found["picture"] = measure(
            lambda e: encode_image_queries(e, photos, context), PICTURE_CALLS
        )
    return found


def _make_text(method: HashMethod) -> str | None:
    """Return some words that a method knows; None where it takes ready features."""
    known = method.inputs.vocabulary
    return None if known is None else " ".join(known.words[:WORDS])


def count_text_operations(method: HashMethod) -> int | None:
    """Count the operations of the text network on one text; None without either.

    The weights that it reads do not count: they fit into a processor's cache.
    """
    text, network = _make_text(method), method.functions.get("text")
    if text is None or not isinstance(network, TextNetwork):
        return None
    rows = method.inputs.texts(Sentences([text]), remember=False)
    place = network.words.weight.device
    batch = sparse_rows(rows, network.static_width).to(place)
    looked_up = 2 * len(batch.indices) * network.words.weight.shape[1]
    return looked_up + count_operations(network, batch)


def encode_many(
    method: HashMethod, repeats: int, context: Context, ceilings: Ceilings
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
    turns = compare(
        lambda: method.encode_images(PictureArray(pixels), forgetful),
        lambda: _encode_plainly(network, pixels, place),
        repeats,
    )
    operations = count * count_operations(
        network, torch.from_numpy(pixels[:1]).to(place)
    )
    precision = "float32"
    if isinstance(head, FineTunedNetwork):
        precision = choose_precision(head.precision, place)
    return {
        "pictures": count,
        "per_second": spread([count / each for each in turns["ours_seconds"]["all"]]),
        "peer_per_second": spread(
            [count / each for each in turns["peer_seconds"]["all"]]
        ),
        "ratio": turns["ratio"],
        "floor_seconds": ceilings.floor(operations, pixels.nbytes, precision),
        "device": str(place),
    }


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
