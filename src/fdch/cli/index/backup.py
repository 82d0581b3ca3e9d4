"""`fdch index backup`: a verified copy of an index in use."""

from pathlib import Path

import click

from fdch.cli.shared import options
from fdch.cli.shared.output import count, report


@options.command("backup", "fdch index backup scenes.index scenes.copy")
@options.index
@click.argument("dest", type=options.PathName())
@options.json
def command(index: str, dest: Path, as_json: bool) -> None:
    """Copy an index while others use it.

    DEST is a folder to make. It holds one commit of the index, whole, and
    every byte of it is verified; then it is an index of its own.
    """
    from fdch.index.opening import require_folder
    from fdch.index.storage.maintenance.backup import backup_folder

    items = backup_folder(require_folder(index), dest)
    document = {"index": index, "backup": str(dest), "items": items}
    report(document, as_json, f"{dest}: {count(items, 'item')}, every byte verified")
