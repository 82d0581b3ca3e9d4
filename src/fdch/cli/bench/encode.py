"""`fdch bench encode`: one text, one picture and many pictures."""

from pathlib import Path

from fdch.cli.bench._tables import report_benchmark
from fdch.cli.shared import options


@options.command("encode", "fdch bench encode runs/first --repeats 1")
@options.run
@options.count("--repeats", default=5, help="Turns of each side.")
@options.device
@options.json
def command(run: Path, repeats: int, device: str, as_json: bool) -> None:
    """Time the encoding of one text, one picture and many pictures.

    Torch and ONNX Runtime take turns in one process. A picture is a JPEG of 640 x 480
    pixels, its decoding included; runs on ready features have none. Many decoded
    pictures are encoded beside a plain PyTorch loop of batches in float32.
    """
    from fdch.bench.encoding import encode_many, encoder_speed
    from fdch.runs.run import open_run
    from fdch.training.context import Context

    context = Context(device=device)
    opened = open_run(run, context)
    found = encoder_speed(opened, repeats, context)
    if (many := encode_many(opened.method, repeats, context)) is not None:
        found["many"] = many
    report_benchmark({"benchmark": "encode", **found}, as_json)
