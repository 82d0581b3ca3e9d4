"""`fdch export`: a run in, graphs for other programs out."""

from pathlib import Path

from fdch.cli.shared import options
from fdch.cli.shared.options import PATH, option
from fdch.cli.shared.output import report


@options.command("export", "fdch export runs/first --to onnx --out exported")
@options.run
@option("--to", "Kind of files to write.", ["onnx"], name="kind", default="onnx")
@option("--out", "Folder to make.", PATH, required=True)
@options.json
def command(run: Path, kind: str, out: Path, as_json: bool) -> None:
    """Write a trained run as graphs for programs without torch.

    The folder gets image.onnx, text.onnx and, where the method has unified codes,
    pair.onnx: from pixels and words to outputs whose signs are the codes.
    export.json describes how to prepare pictures and texts, with the vocabulary,
    the model's fingerprint and checksums. All methods but lssh and lcmh can be
    exported. 'fdch serve INDEX --encoder exported' encodes with it.
    """
    from fdch.export.onnx_files import export_run
    from fdch.runs.run import open_run
    from fdch.training.context import Context

    # graphs are made of numbers alone, so no accelerator is needed
    found = export_run(open_run(run, Context(device="cpu")), out)
    report(
        {**found, "folder": str(out)},
        as_json,
        *(
            f"{side:8} {out / about['file']} ({about['bytes'] / 2**20:.1f} MiB)"
            for side, about in found["sides"].items()
        ),
        f"manifest {out / 'export.json'}",
        f"model    {found['model']} ({found['method']}, {found['bits']} bits)",
    )
