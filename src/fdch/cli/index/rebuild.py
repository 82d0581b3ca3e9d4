"""`fdch index rebuild`: an index for a new model, with the items of an old one."""

from pathlib import Path

from fdch.cli.shared import options
from fdch.cli.shared.options import PATH, option
from fdch.cli.shared.output import count, note, plain, report, show_some
from fdch.cli.shared.progress_lines import show_progress


@options.command(
    "rebuild", "fdch index rebuild scenes.index --run runs/first --out new.index"
)
@options.index
@option("--run", "The trained run that encodes now.", PATH, required=True)
@option("--out", "Folder of the new index.", PATH, required=True)
@options.device
@options.json
def command(index: str, run: Path, out: Path, device: str, as_json: bool) -> None:
    """Encode all items again with another run.

    The index stays as it is; the new one goes to the folder OUT, uploaded
    pictures included. If interrupted, run it again to continue. Items whose
    picture or text is gone are named and left out. Pairs whose picture is in no
    file of its own are encoded by their text, and counted.
    """
    from fdch.retrieval.rebuilding import rebuild_index
    from fdch.runs.run import open_run

    with show_progress(device) as context:
        opened = open_run(run, context)
        done = rebuild_index(index, opened, out, context, context.progress)
    if not as_json:
        for line in show_some(list(done.skipped.items()), _show_skipped):
            note(line)
        if done.halved:
            note(
                f"note: encoded {count(done.halved, 'pair')} by text or picture alone: "
                "the index lacks the other half, such as a picture inside a Parquet "
                "file. To keep both, create the index from its data again."
            )
    document = {"index": index, "out": str(out), "items": done.items}
    report(
        document
        | {"encoded": done.encoded, "skipped": done.skipped, "halved": done.halved},
        as_json,
        f"{out}: {count(done.items, 'item')}, {done.encoded:,} encoded now",
    )


def _show_skipped(item: tuple[str, str]) -> str:
    name, why = item
    return f"left out '{plain(name, 60)}': {plain(why, 200)}"
