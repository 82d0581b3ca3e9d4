"""`fdch index duplicates`: items that are nearly the same."""

import click

from fdch.cli.shared.options import example, index_argument, index_folder, json_option
from fdch.cli.shared.output import NAMED, count, note, plain, say, say_json
from fdch.cli.shared.progress_lines import ProgressPrinter
from fdch.cli.shared.values import Count

SHOWN = 20


@click.command(
    "duplicates", epilog=example("fdch index duplicates scenes.index --radius 0")
)
@index_argument
@click.option(
    "--radius",
    type=Count(0),
    default=0,
    show_default=True,
    metavar="R",
    help="Bits in which neighbours may differ.",
)
@json_option
def command(index: str, radius: int, as_json: bool) -> None:
    """Find items that are nearly the same.

    Items are grouped so that each is within R bits of another of its group. The
    largest groups are printed; --json gives all. Similarity is the model's: the
    longer the codes, the more alike are items with equal ones.
    """
    from fdch.index.storage.folder import CodeFolder

    with ProgressPrinter() as progress, CodeFolder.open(index_folder(index)) as folder:
        found = folder.duplicates(radius, progress)
    groups = sorted(found, key=len, reverse=True)
    if as_json:
        say_json({"index": index, "radius": radius, "groups": groups})
        return
    for group in groups[:SHOWN]:
        named = ", ".join(plain(name, 60) for name in group[:NAMED])
        more = f" and {len(group) - NAMED:,} more" if len(group) > NAMED else ""
        say(f"{len(group):6,}  {named}{more}")
    if len(groups) > SHOWN:
        note(f"and {len(groups) - SHOWN:,} smaller groups; --json gives all")
    held = count(sum(map(len, groups)), "item")
    say(f"{count(len(groups), 'group')} of {held} within {count(radius, 'bit')}")
