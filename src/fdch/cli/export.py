"""`fdch export`: a run in, graphs for other programs out."""

from pathlib import Path

import click

from fdch.cli.shared.options import PathName, example, file_option, json_option
from fdch.cli.shared.output import say, say_json


@click.command(
    "export", epilog=example("fdch export runs/first --to onnx --out exported")
)
@click.argument("run", type=PathName())
@click.option(
    "--to",
    "kind",
    type=click.Choice(["onnx"]),
    default="onnx",
    show_default=True,
    help="Kind of files to write.",
)
@file_option("--out", help="Folder to make.", required=True)
@json_option
def command(run: Path, kind: str, out: Path, as_json: bool) -> None:
    """Write a trained run as graphs for programs without torch.

    The folder gets image.onnx, text.onnx and, where the method has unified codes,
    pair.onnx: from pixels and words to outputs whose signs are the codes.
    export.json describes how to prepare pictures and texts, with the vocabulary,
    the model's fingerprint and checksums. All methods but lssh and lcmh can be
    exported. 'fdch serve INDEX --encoder exported' encodes with it.
    """
    from fdch.export.writing import export_run
    from fdch.runs.run import open_run
    from fdch.training.context import Context

    # graphs are made of numbers alone, so no accelerator is needed
    found = export_run(open_run(run, Context(device="cpu")), out)
    if as_json:
        say_json({**found, "folder": str(out)})
        return
    for side, about in found["sides"].items():
        say(f"{side:8} {out / about['file']} ({about['bytes'] / 2**20:.1f} MiB)")
    say(f"manifest {out / 'export.json'}")
    say(f"model    {found['model']} ({found['method']}, {found['bits']} bits)")
