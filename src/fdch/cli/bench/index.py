"""`fdch bench index`: what an index folder costs."""

from pathlib import Path
from typing import Any

import click

from fdch.cli.bench._running import run_benchmark
from fdch.cli.shared import options


@options.command("index", "fdch bench index --codes 20000 --items 500 --repeats 1")
@options.count("--codes", default=10_000_000, metavar="N")
@options.count("--items", default=100_000, metavar="N")
@options.bits
@options.count("-k", default=100, help="Answers to a query.")
@options.count("--vector-bytes", default=32, help="Length of items' vectors.")
@options.repeats(5, "Turns of short measurements.")
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

    wanted = FolderSizes(**sizes)
    run_benchmark(folder_benchmark, as_json, sizes=wanted, place=place)
