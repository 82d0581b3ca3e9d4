"""`fdch bench scale`: the cost of an epoch against the number of pairs."""

from pathlib import Path
from typing import Any

import click

from fdch.cli.bench._running import run_benchmark
from fdch.cli.shared import options
from fdch.cli.shared.output import note, require_place


@options.command(
    "scale", "fdch bench scale --pairs 200,400 --image-width 64 --words 50 --bits 16"
)
@options.numbers(
    "--pairs", default="5000,20000,100000", help="Numbers of training pairs."
)
@options.count("--image-width", default=1280, help="Image features.")
@options.count("--words", default=1386, help="Columns of the texts.")
@options.bits
@click.option(
    "--epochs",
    type=options.WholeRange(2),
    default=2,
    help="Of each stage; the first is not counted.",
)
@click.option(
    "--pairwise",
    type=click.Choice(["auto", "exact", "sampled"]),
    default="auto",
    help="As the setting of this name.",
)
@options.path("--plot", help="Draw cost against pairs, as .svg, .pdf or .png.")
@options.device
@options.json
def command(plot: Path | None, as_json: bool, **given: Any) -> None:
    """Measure the cost of an epoch against the number of pairs.

    FDCH on synthetic features and words, which repeat beyond 5,000 pairs. Memory counts
    Python, its libraries and the data.
    """
    from fdch.bench.learning.scaling import (
        plot_costs,
        plot_format,
        scaling_benchmark,
    )

    if plot is not None:
        plot_format(require_place(plot))
    result = run_benchmark(scaling_benchmark, as_json, **given)
    if plot is not None:
        plot_costs(plot, result["costs"])
        note(f"plot: {plot}")
