"""`fdch bench encode`: one text, one picture and many pictures."""

from typing import Any

from fdch.cli.bench._running import run_benchmark
from fdch.cli.shared import options


@options.command("encode", "fdch bench encode runs/first --repeats 1")
@options.run
@options.repeats(5)
@options.device
@options.json
def command(**given: Any) -> None:
    """Time the encoding of one text, one picture and many pictures.

    Torch and ONNX Runtime take turns in one process. A picture is a JPEG of 640 x 480
    pixels, its decoding included; runs on ready features have none. Many decoded
    pictures are encoded beside a plain PyTorch loop of batches in float32. The floor
    is what the network needs at least: operations over the device's rate for large
    matrix products, without decoding the picture or counting the words of the text.
    """
    from fdch.bench.encoding import encode_benchmark

    run_benchmark(encode_benchmark, **given)
