"""`fdch bench index`: what an index folder costs."""

from pathlib import Path
from typing import Any

import click

from fdch.cli.bench._running import run_benchmark
from fdch.cli.shared import options
from fdch.cli.shared.options import COUNT, option


@options.command("index", "fdch bench index --codes 20000 --items 500 --repeats 1")
@option("--codes N", "Bare codes to index.", COUNT, default=10_000_000)
@option("--items N", "Items to index.", COUNT, default=100_000)
@options.bits
@option("-k", "Answers to a query.", COUNT, default=100)
@option("--vector-bytes", "Length of items' vectors.", COUNT, default=32)
@options.repeats(5, "Turns of short measurements.")
@option(
    "--place DIR",
    "Where to create the indexes; they are deleted at the end.",
    click.Path(path_type=Path, exists=True, file_okay=False),
)
@options.seed()
@options.json
def command(as_json: bool, place: Path | None, **sizes: Any) -> None:
    """Measure an index folder: making, opening, searching, filtering.

    One index of bare codes whose ids are running numbers; then items with a text,
    a picture's path, a label and two columns, added to an index without and to one
    with vectors, taking turns.
    """
    from fdch.bench.index_folder import FolderSizes, folder_benchmark

    wanted = FolderSizes(**sizes)
    run_benchmark(folder_benchmark, as_json, sizes=wanted, place=place)
