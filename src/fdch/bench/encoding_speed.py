"""How long one text and one picture take to encode, by torch and by ONNX Runtime."""

import io
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from PIL import Image

from fdch.bench.timing import take_turns
from fdch.data.texts import Vocabulary
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
        faster: plain numbers, lists and dictionaries.
    """
    method, exported = run.method, export_queries(run)
    found: dict[str, Any] = {"method": run.name, "bits": method.bits}
    for side, make, calls in (
        ("text", _text_call, TEXT_CALLS),
        ("picture", _picture_call, PICTURE_CALLS),
    ):
        fast, plain = make(exported, context), make(method, context)
        if fast is None or plain is None:
            continue
        turns = take_turns(_repeat(fast, calls), _repeat(plain, calls), repeats)
        found[side] = {
            "onnx_milliseconds": 1000 * turns["ours_seconds"]["median"] / calls,
            "torch_milliseconds": 1000 * turns["peer_seconds"]["median"] / calls,
            "ratio": turns["ratio"],
        }
    return found


def _text_call(encoder: Encoder, context: Context) -> Callable[[], object] | None:
    known: Vocabulary | None = encoder.inputs.vocabulary
    if known is None:
        return None
    return partial(encode_text_queries, encoder, [" ".join(known.words[:WORDS])])


def _picture_call(encoder: Encoder, context: Context) -> Callable[[], object] | None:
    """Encode a photo of usual size, its decoding included."""
    if encoder.inputs.image_network == READY:
        return None
    pixels = np.random.default_rng(0).integers(0, 256, PHOTO, dtype=np.uint8)
    content = io.BytesIO()
    Image.fromarray(pixels).save(content, "JPEG")
    return partial(encode_image_queries, encoder, [content.getvalue()], context)


def _repeat(call: Callable[[], object], times: int) -> Callable[[], None]:
    def calls() -> None:
        for _ in range(times):
            call()

    return calls
