"""`fdch index duplicates`: items that are nearly the same."""

from fdch.cli.shared import options
from fdch.cli.shared.options import WHOLE, option
from fdch.cli.shared.output import count, note, plain, report, show_some
from fdch.cli.shared.progress_lines import ProgressPrinter

SHOWN = 20


@options.command("duplicates", "fdch index duplicates scenes.index --radius 0")
@options.index
@option("--radius R", "Bits in which neighbours may differ.", WHOLE, default=0)
@options.json
def command(index: str, radius: int, as_json: bool) -> None:
    """Find items that are nearly the same.

    Items are grouped so that each is within R bits of another of its group. The
    largest groups are printed; --json gives all. Similarity is the model's: the
    longer the codes, the more alike are items with equal ones.
    """
    from fdch.index.opening import require_folder
    from fdch.index.storage.folder import CodeFolder

    path = require_folder(index)
    with ProgressPrinter() as progress, CodeFolder.open(path) as folder:
        found = folder.duplicates(radius, progress)
    groups = sorted(found, key=len, reverse=True)
    if not as_json and len(groups) > SHOWN:
        note(f"and {len(groups) - SHOWN:,} smaller groups; --json gives all")
    held = count(sum(map(len, groups)), "item")
    report(
        {"index": index, "radius": radius, "groups": groups},
        as_json,
        *(
            f"{len(group):6,}  {', '.join(show_some(group, lambda id: plain(id, 60)))}"
            for group in groups[:SHOWN]
        ),
        f"{count(len(groups), 'group')} of {held} within {count(radius, 'bit')}",
    )
