"""`fdch bench index`: what an index folder costs."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fdch.cli.shared.options import example, json_option
from fdch.cli.shared.output import say, say_json
from fdch.cli.shared.progress_lines import ProgressPrinter
from fdch.cli.shared.values import count_option, seed_option

if TYPE_CHECKING:
    from fdch.evaluation.tables import Table


@click.command(
    "index", epilog=example("fdch bench index --codes 20000 --items 500 --repeats 1")
)
@count_option("--codes", default=10_000_000, metavar="N")
@count_option("--items", default=100_000, metavar="N")
@count_option("--bits", default=64, help="Length of the codes.")
@count_option("-k", default=100, help="Answers to a query.")
@count_option("--repeats", default=5, help="Turns of short measurements.")
@click.option(
    "--place",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="Where to create the indexes; they are deleted at the end.",
)
@seed_option()
@json_option
def command(as_json: bool, place: Path | None, **sizes: Any) -> None:
    """Measure an index folder: making, opening, searching, filtering.

    One index of bare codes whose ids are running numbers, and one of items with
    a text, a picture's path, a label and two columns.
    """
    from fdch.bench.index_folder import FolderSizes, folder_benchmark

    with ProgressPrinter() as progress:
        result = folder_benchmark(FolderSizes(**sizes), place, progress)
    say_json({"benchmark": "index", **result}) if as_json else say(table(result))


def table(result: dict[str, Any]) -> "Table":
    """Lay the result out for a terminal."""
    from fdch.evaluation.tables import Table

    codes, items = result["codes"], result["items"]
    memory = codes["memory_over_codes"]
    rows = [
        ("create", f"{codes['create_seconds']:.1f} s"),
        ("open", _milliseconds(codes["open_seconds"]["median"])),
        ("first search", _milliseconds(codes["first_search_seconds"])),
        ("one query", _milliseconds(codes["search_seconds"]["median"])),
        ("100 queries at once", _milliseconds(codes["search_100_seconds"])),
        ("on disk, bytes a code", f"{codes['disk_bytes_a_code']:.2f}"),
        ("memory, times the codes", f"{memory:.2f}" if memory else "unknown"),
        ("items added a second", f"{items['added_a_second']:,.0f}"),
        ("on disk, bytes an item", f"{items['disk_bytes_an_item']:.0f}"),
    ]
    rows += [
        (
            f"one query where {condition}; again",
            f"{_milliseconds(times['median'])}; {_milliseconds(again['median'])}",
        )
        for (condition, times), again in zip(
            items["filtered_search_seconds"].items(),
            items["filtered_again_seconds"].values(),
            strict=True,
        )
    ]
    notes = (
        f"{codes['number']:,} codes with running numbers; {items['number']:,} items "
        f"with columns; {result['bits']} bits, k = {result['k']}",
        "memory is the most this process held while it searched, Python included",
    )
    return Table(("", ""), tuple(rows), notes)


def _milliseconds(taken: float) -> str:
    return f"{1000 * taken:.1f} ms"
