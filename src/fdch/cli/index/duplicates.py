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

    Items are grouped so that each is within R bits of another of its group. With
    R = 0, their vectors are equal too, where the index stores some (FDCH+). With
    more, codes alone count: items with the same labels may then form one large
    group. The largest groups are printed; --json gives all.
    """
    from fdch.index.opening import require_folder
    from fdch.index.storage.folder import CodeFolder

    path = require_folder(index)
    with ProgressPrinter() as progress, CodeFolder.open(path) as folder:
        found = folder.duplicates(radius, progress)
        groups = sorted(found, key=len, reverse=True)
        firsts = folder.items([group[0] for group in groups[:SHOWN]])
    held = count(sum(map(len, groups)), "item")
    report(
        {"index": index, "radius": radius, "groups": groups},
        as_json,
        *(
            f"{len(group):6,}  {', '.join(show_some(group, lambda id: plain(id, 60)))}"
            f"{f'  ({plain(first.text, 60)})' if first and first.text else ''}"
            for group, first in zip(groups, firsts, strict=False)
        ),
        f"{count(len(groups), 'group')} of {held} within {count(radius, 'bit')}",
    )
    if not as_json and len(groups) > SHOWN:
        note(f"and {len(groups) - SHOWN:,} smaller groups; --json gives all")
