"""`fdch bench scale`: the cost of an epoch against the number of pairs, or words."""

from pathlib import Path
from typing import Any

from fdch.cli.bench._running import run_benchmark
from fdch.cli.shared import options
from fdch.cli.shared.options import COUNT, NUMBERS, PATH, WholeRange, option
from fdch.cli.shared.output import note, require_place


@options.command(
    "scale", "fdch bench scale --pairs 200,400 --image-width 64 --words 50 --bits 16"
)
@option("--pairs", "Numbers of training pairs.", NUMBERS, default="5000,20000,100000")
@option("--image-width", "Image features.", COUNT, default=1280)
@option("--words", "Numbers of columns of the texts.", NUMBERS, default="1386")
@options.bits
@option(
    "--epochs", "Of each stage; the first is not counted.", WholeRange(2), default=2
)
@option(
    "--pairwise",
    "As the setting of this name.",
    ["auto", "exact", "sampled"],
    default="auto",
)
@option("--plot", "Draw the cost, as .svg, .pdf or .png.", PATH)
@options.device
@options.json
def command(plot: Path | None, as_json: bool, **given: Any) -> None:
    """Measure the cost of an epoch against the number of pairs, or of words.

    FDCH on synthetic features and words, which repeat beyond 5,000 pairs. Give several
    numbers of pairs or several of words. A step is shown in the processor's time, which
    does not grow with what else the machine does. Memory counts Python, its libraries
    and the data.
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
