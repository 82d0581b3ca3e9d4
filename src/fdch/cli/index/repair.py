"""`fdch index repair`: keep what is intact, list what is lost."""

from fdch.cli.shared import options
from fdch.cli.shared.groups import Failure
from fdch.cli.shared.output import NAMED, count, plain, report


@options.command("repair", "fdch index repair scenes.index")
@options.index
@options.json
def command(index: str, as_json: bool) -> None:
    """Keep all that is intact of a damaged index.

    Restores what can be restored; removes and lists items whose bytes are lost. The
    exit code is 1 if damage remains.
    """
    from fdch.index.opening import require_folder
    from fdch.retrieval.index import Index

    done = Index.repair(require_folder(index))
    left = [str(problem) for problem in done.left]
    items = count(done.items, "item")
    lines = [f"restored  {plain(what, 300)}" for what in done.restored]
    lines += [f"lost      {plain(what, 300)}" for what in (*done.lost, *done.unnamed)]
    kept = f"{items} kept, {len(done.lost):,} lost by name"
    document = {"index": index, "items": done.items, "restored": done.restored}
    report(
        document | {"lost": done.lost, "lost_unnamed": done.unnamed, "left": left},
        as_json,
        *lines,
        f"{index}: {kept if lines else f'nothing to repair; {items}'}",
    )
    if left:
        raise Failure(f"this could not be repaired: {'; '.join(left[:NAMED])}.")
