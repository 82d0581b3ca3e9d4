"""`fdch index backup`: a verified copy of an index in use."""

from pathlib import Path

import click

from fdch.cli.shared.options import (
    PathName,
    example,
    index_argument,
    index_folder,
    json_option,
)
from fdch.cli.shared.output import count, say, say_json


@click.command("backup", epilog=example("fdch index backup scenes.index scenes.copy"))
@index_argument
@click.argument("dest", type=PathName())
@json_option
def command(index: str, dest: Path, as_json: bool) -> None:
    """Copy an index while others use it.

    DEST is a folder to make. It holds one commit of the index, whole, and
    every byte of it is verified; then it is an index of its own.
    """
    from fdch.index.storage.backup import backup_folder

    items = backup_folder(index_folder(index), dest)
    if as_json:
        say_json({"index": index, "backup": str(dest), "items": items})
    else:
        say(f"{dest}: {count(items, 'item')}, every byte verified")
