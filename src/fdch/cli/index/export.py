"""`fdch index export`: items and codes as lines of JSON."""

from pathlib import Path

import click

from fdch.cli.shared.options import PathName, example, index_argument, json_option
from fdch.cli.shared.output import count, say, say_json
from fdch.cli.shared.progress_lines import ProgressPrinter


@click.command(
    "export", epilog=example("fdch index export scenes.index --out items.jsonl")
)
@index_argument
@click.option(
    "--out", required=True, type=PathName(), help="File to make: one item a line."
)
@json_option
def command(index: str, out: Path, as_json: bool) -> None:
    """Write all items as lines of JSON, with their codes.

    Each line has id, kind, text, image, labels, columns and the code in
    hexadecimal. Uploaded pictures are copied into a folder beside the file.
    """
    from fdch.retrieval.rebuilding import export_items

    with ProgressPrinter() as progress:
        items = export_items(index, out, progress)
    if as_json:
        say_json({"index": index, "out": str(out), "items": items})
    else:
        say(f"{out}: {count(items, 'item')}")
