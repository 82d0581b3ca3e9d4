"""`fdch bench index`: what an index folder costs."""

from pathlib import Path
from typing import Any

import click

from fdch.cli.shared import options
from fdch.cli.shared.output import lay_out, report
from fdch.cli.shared.progress_lines import ProgressPrinter


@options.command("index", "fdch bench index --codes 20000 --items 500 --repeats 1")
@options.count("--codes", default=10_000_000, metavar="N")
@options.count("--items", default=100_000, metavar="N")
@options.count("--bits", default=64, help="Length of the codes.")
@options.count("-k", default=100, help="Answers to a query.")
@options.count("--vector-bytes", default=32, help="Length of items' vectors.")
@options.count("--repeats", default=5, help="Turns of short measurements.")
@click.option(
    "--place",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="Where to create the indexes; they are deleted at the end.",
)
@options.seed()
@options.json
def command(as_json: bool, place: Path | None, **sizes: Any) -> None:
    """Measure an index folder: making, opening, searching, filtering.

    One index of bare codes whose ids are running numbers, and one of items with
    a text, a picture's path, a label and two columns; then such items without and
    with vectors, taking turns.
    """
    from fdch.bench.index_folder import FolderSizes, folder_benchmark

    with ProgressPrinter() as progress:
        result = folder_benchmark(FolderSizes(**sizes), place, progress)
    report({"benchmark": "index", **result}, as_json, _table(result))


def _table(result: dict[str, Any]) -> str:
    codes, items, vectors = result["codes"], result["items"], result["vectors"]
    memory = codes["memory_over_codes"]
    again = items["filtered_again_seconds"]
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
    for condition, times in items["filtered_search_seconds"].items():
        first, second = times["median"], again[condition]["median"]
        shown = f"{_milliseconds(first)}; {_milliseconds(second)}"
        rows.append((f"one query where {condition}; again", shown))
    times, width = vectors["time_over_without"], vectors["vector_bytes"]
    rows += [
        (
            f"items with vectors of {width} bytes added a second; without",
            f"{vectors['added_a_second']:,.0f}; "
            f"{vectors['added_a_second_without']:,.0f}",
        ),
        (
            "time over that without, median, least, most of the batches",
            f"{times['median']:.2f}; {times['min']:.2f}; {times['max']:.2f}",
        ),
        (
            "on disk, bytes an item with vectors; without",
            f"{vectors['disk_bytes_an_item']:.0f}; "
            f"{vectors['disk_bytes_an_item_without']:.0f}",
        ),
    ]
    notes = (
        f"{codes['number']:,} codes with running numbers; {items['number']:,} items "
        f"with columns; {result['bits']} bits, k = {result['k']}",
        "memory is the most this process held while it searched, Python included",
    )
    return lay_out(("", ""), rows, notes)


def _milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.1f} ms"
