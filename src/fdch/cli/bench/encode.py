"""`fdch bench encode`: one text and one picture, by torch and by ONNX Runtime."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fdch.cli.shared.options import PathName, device_option, example, json_option
from fdch.cli.shared.output import say, say_json
from fdch.cli.shared.values import count_option

if TYPE_CHECKING:
    from fdch.evaluation.tables import Table


@click.command("encode", epilog=example("fdch bench encode runs/first --repeats 1"))
@click.argument("run", type=PathName())
@count_option("--repeats", default=5, help="Turns of each side.")
@device_option
@json_option
def command(run: Path, repeats: int, device: str, as_json: bool) -> None:
    """Time the encoding of one text and one picture, torch and ONNX.

    The sides take turns in one process. A picture is a JPEG of 640 x 480
    pixels, its decoding included; runs on ready features have none.
    """
    from fdch.bench.encoding_speed import encoder_speed
    from fdch.runs.run import open_run
    from fdch.training.context import Context

    context = Context(device=device)
    result = {"benchmark": "encode", **encoder_speed(open_run(run, context), repeats,
                                                     context)}  # fmt: skip
    if as_json:
        say_json(result)
    else:
        say(table(result))


def table(result: dict[str, Any]) -> "Table":
    """Lay the result out for a terminal."""
    from fdch.evaluation.tables import Table

    rows = tuple(
        (
            f"one {side}",
            f"{result[side]['torch_milliseconds']:.3f}",
            f"{result[side]['onnx_milliseconds']:.3f}",
            f"{result[side]['ratio']['median']:.2f} "
            f"({result[side]['ratio']['min']:.2f}-{result[side]['ratio']['max']:.2f})",
        )
        for side in ("text", "picture")
        if side in result
    )
    return Table(("", "torch ms", "ONNX ms", "times faster"), rows)
