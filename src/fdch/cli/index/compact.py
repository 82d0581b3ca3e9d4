"""`fdch index compact`: less space, faster search."""

from typing import Any

import click

from fdch.cli.shared.options import example, index_argument, index_folder, json_option
from fdch.cli.shared.output import count, say, say_json
from fdch.cli.shared.progress_lines import ProgressPrinter


@click.command("compact", epilog=example("fdch index compact scenes.index"))
@index_argument
@json_option
def command(index: str, as_json: bool) -> None:
    """Reclaim space and make searching faster.

    Drops the codes of removed items and groups the others, so that a search can
    skip whole groups; answers stay the same. Others may read meanwhile.
    """
    from fdch.index.storage.folder import CodeFolder

    with ProgressPrinter() as progress:
        with CodeFolder.open(index_folder(index), writable=True) as folder:
            before = folder.describe()
            folder.compact(progress)
        # closing writes the last of it
        with CodeFolder.open(index_folder(index)) as folder:
            after = folder.describe()
    document: dict[str, Any] = {
        "index": index,
        "items": after["items"],
        "bytes_before": before["bytes"],
        "bytes": after["bytes"],
    }
    if as_json:
        say_json(document)
        return
    held = count(document["items"], "item")
    say(f"{index}: {held}, {document['bytes']:,} bytes")
    say(f"before it was {document['bytes_before']:,} bytes")
