"""`fdch index rebuild`: an index for a new model, with the items of an old one."""

from pathlib import Path

import click

from fdch.cli.shared.options import (
    PathName,
    device_option,
    example,
    index_argument,
    json_option,
)
from fdch.cli.shared.output import NAMED, count, note, plain, say, say_json
from fdch.cli.shared.progress_lines import ProgressPrinter


@click.command(
    "rebuild",
    epilog=example("fdch index rebuild scenes.index --run runs/first --out new.index"),
)
@index_argument
@click.option(
    "--run", required=True, type=PathName(), help="The trained run that encodes now."
)
@click.option("--out", required=True, type=PathName(), help="Folder of the new index.")
@device_option
@json_option
def command(index: str, run: Path, out: Path, device: str, as_json: bool) -> None:
    """Encode all items again with another run.

    The index stays as it is; the new one goes to the folder OUT, uploaded
    pictures included. Interrupted, the same command goes on. Items whose
    picture or text is gone are named and left out.
    """
    from fdch.retrieval.rebuilding import rebuild_index
    from fdch.runs.run import open_run
    from fdch.training.context import Context

    with ProgressPrinter() as progress:
        context = Context(progress, device)
        done = rebuild_index(index, open_run(run, context), out, context, progress)
    document = {"index": index, "out": str(out), "items": done.items}
    document |= {"encoded": done.encoded, "skipped": done.skipped}
    if as_json:
        say_json(document)
        return
    for name, why in list(done.skipped.items())[:NAMED]:
        note(f"left out '{plain(name, 60)}': {plain(why, 200)}")
    if len(done.skipped) > NAMED:
        note(f"and {len(done.skipped) - NAMED:,} more")
    say(f"{out}: {count(done.items, 'item')}, {done.encoded:,} encoded now")
