"""`fdch index info`: what an index holds."""

import click

from fdch.cli.shared.options import example, index_argument, json_option
from fdch.cli.shared.output import plain, say, say_json


@click.command("info", epilog=example("fdch index info scenes.index"))
@index_argument
@json_option
def command(index: str, as_json: bool) -> None:
    """Show what an index holds.

    Items, length of the codes, model, bytes on disk, and the columns that
    conditions of 'fdch search' can use.
    """
    from fdch.index.opening import open_store, store_info

    store = open_store(index)
    try:
        known = {"index": index, **store_info(store)}
    finally:
        store.close()
    if as_json:
        say_json(known)
        return
    width = max(map(len, known)) + 2
    for name, value in known.items():
        say(f"{name:{width}}{plain(shown(value), 500)}")


def shown(value: object) -> str:
    """Lay a plain value out for reading.

    >>> shown({"rows": 1200, "kind": "folder"})
    'rows 1,200, kind folder'
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, dict):
        return ", ".join(f"{key} {shown(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(shown, value))
    return str(value)
