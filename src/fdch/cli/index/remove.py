"""`fdch index remove`: items out of an index."""

import click

from fdch.cli.shared.options import example, index_argument, json_option
from fdch.cli.shared.output import NAMED, count, note, plain, say, say_json


@click.command("remove", epilog=example("fdch index remove scenes.index scene0 scene1"))
@index_argument
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@json_option
def command(index: str, ids: tuple[str, ...], as_json: bool) -> None:
    """Remove items from an index by their ids.

    'fdch index compact' reclaims their space. Unknown ids are listed, and are no
    error.
    """
    from fdch.index.opening import open_store

    names = list(dict.fromkeys(ids))
    store = open_store(index, writable=True)
    try:
        missing = store.remove(names)
        left = len(store)
    finally:
        store.close()
    removed = len(names) - len(missing)
    if as_json:
        document = {"index": index, "removed": removed, "missing": missing}
        say_json({**document, "items": left})
        return
    if missing:
        named = ", ".join(f"'{plain(name, 60)}'" for name in missing[:NAMED])
        more = f" and {len(missing) - NAMED:,} more" if len(missing) > NAMED else ""
        note(f"not there: {named}{more}")
    say(f"removed {count(removed, 'item')}; {left:,} left")
