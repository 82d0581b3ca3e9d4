"""`fdch index remove`: items out of an index."""

from contextlib import closing

import click

from fdch.cli.shared import options
from fdch.cli.shared.output import count, note, plain, report, show_some


@options.command("remove", "fdch index remove scenes.index scene0 scene1")
@options.index
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@options.json
def command(index: str, ids: tuple[str, ...], as_json: bool) -> None:
    """Remove items from an index by their ids.

    'fdch index compact' reclaims their space. Unknown ids are listed, and are no
    error.
    """
    from fdch.index.opening import open_store

    names = list(dict.fromkeys(ids))
    with closing(open_store(index, writable=True)) as store:
        missing, left = store.remove(names), len(store)
    removed = len(names) - len(missing)
    if missing and not as_json:
        named = show_some(missing, lambda name: f"'{plain(name, 60)}'")
        note(f"not there: {', '.join(named)}")
    report(
        {"index": index, "removed": removed, "missing": missing, "items": left},
        as_json,
        f"removed {count(removed, 'item')}; {left:,} left",
    )
