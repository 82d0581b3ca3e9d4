"""How long one text and one picture take to encode, by torch and by ONNX Runtime."""

import io
from functools import partial
from typing import Any

import numpy as np
from PIL import Image

from fdch.bench.timing import repeat, take_turns
from fdch.retrieval.encoders import export_queries
from fdch.retrieval.queries import Encoder, encode_image_queries, encode_text_queries
from fdch.runs.run import Run
from fdch.training.context import PLAIN, Context
from fdch.training.inputs import READY

PHOTO = (480, 640, 3)
WORDS = 6
TEXT_CALLS, PICTURE_CALLS = 200, 4  # in a turn, so that it lasts long enough


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
