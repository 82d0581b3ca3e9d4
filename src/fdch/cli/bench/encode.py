"""`fdch bench encode`: one text and one picture."""

from pathlib import Path
from typing import Any

from fdch.cli.bench._figures import show_spread
from fdch.cli.shared import options
from fdch.cli.shared.output import lay_out, report


@options.command("encode", "fdch bench encode runs/first --repeats 1")
@options.run
@options.count("--repeats", default=5, help="Turns of each side.")
@options.device
@options.json
def command(run: Path, repeats: int, device: str, as_json: bool) -> None:
    """Time the encoding of one text and one picture.

    Torch and ONNX Runtime take turns in one process. A picture is a JPEG of 640 x 480
    pixels, its decoding included; runs on ready features have none.
    """
    from fdch.bench.encoding import encoder_speed
    from fdch.runs.run import open_run
    from fdch.training.context import Context

    context = Context(device=device)
    opened = open_run(run, context)
    found = encoder_speed(opened, repeats, context)
    report({"benchmark": "encode", **found}, as_json, table(found))


def table(result: dict[str, Any]) -> str:
    """Lay the result out for a terminal."""
    rows = (
        (
            f"one {side}",
            f"{result[side]['torch_milliseconds']:.3f}",
            f"{result[side]['onnx_milliseconds']:.3f}",
            show_spread(result[side]["ratio"]),
        )
        for side in ("text", "picture")
        if side in result
    )
    return lay_out(("", "torch ms", "ONNX ms", "times faster"), rows)
