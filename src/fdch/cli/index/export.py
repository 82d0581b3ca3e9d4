"""`fdch index export`: items and codes as lines of JSON."""

from pathlib import Path

from fdch.cli.shared import options
from fdch.cli.shared.options import PATH, option
from fdch.cli.shared.output import count, report, require_place
from fdch.cli.shared.progress_lines import ProgressPrinter


@options.command("export", "fdch index export scenes.index --out items.jsonl")
@options.index
@option("--out", "File to make: one item a line.", PATH, required=True)
@options.json
def command(index: str, out: Path, as_json: bool) -> None:
    """Write all items as lines of JSON, with their codes.

    Each line has id, kind, text, image, labels, columns and the code in
    hexadecimal. Uploaded pictures are copied into a folder beside the file.
    """
    from fdch.retrieval.rebuilding import export_items

    target = require_place(out, inputs=[index])
    with ProgressPrinter() as progress:
        items = export_items(index, target, progress)
    document = {"index": index, "out": str(out), "items": items}
    report(document, as_json, f"{out}: {count(items, 'item')}")
