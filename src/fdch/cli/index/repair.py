"""`fdch index repair`: what is intact is kept, what is lost is named."""

from typing import TYPE_CHECKING

import click

from fdch.cli.shared.groups import Failure
from fdch.cli.shared.options import example, index_argument, index_folder, json_option
from fdch.cli.shared.output import NAMED, count, plain, say, say_json

if TYPE_CHECKING:
    from fdch.index.storage.repair import Repair


@click.command("repair", epilog=example("fdch index repair scenes.index"))
@index_argument
@json_option
def command(index: str, as_json: bool) -> None:
    """Keep all that is intact of a damaged index.

    Restores what can be restored; removes and lists items whose bytes are lost. The
    exit code is 1 if damage remains.
    """
    from fdch.retrieval.index import Index

    done = Index.repair(index_folder(index))
    left = [str(problem) for problem in done.left]
    if as_json:
        document = {"index": index, "items": done.items, "restored": done.restored}
        lost = {"lost": done.lost, "lost_unnamed": done.unnamed, "left": left}
        say_json(document | lost)
    else:
        say_repair(index, done)
    if left:
        raise Failure(f"this could not be repaired: {'; '.join(left[:NAMED])}.")


def say_repair(index: str, done: "Repair") -> None:
    """Print what was restored and what is lost."""
    if not (done.restored or done.lost or done.unnamed):
        say(f"{index}: nothing to repair; {count(done.items, 'item')}")
        return
    for what in done.restored:
        say(f"restored  {plain(what, 300)}")
    for name in done.lost:
        say(f"lost      {plain(name, 300)}")
    for what in done.unnamed:
        say(f"lost      {plain(what, 300)}")
    say(f"{index}: {count(done.items, 'item')} kept, {len(done.lost):,} lost by name")
