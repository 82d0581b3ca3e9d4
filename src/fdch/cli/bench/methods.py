"""`fdch bench methods`: time and memory of the shallow methods."""

from pathlib import Path

import click

from fdch.cli.bench._tables import report_benchmark
from fdch.cli.shared import options
from fdch.cli.shared.output import note, require_place
from fdch.cli.shared.progress_lines import ProgressPrinter

USUAL_SCALING = "1000,2000,5000,10000"
COLUMNS = {
    "methods": "fit_seconds peak_memory_bytes encoding_sides_image_pairs_per_second "
    "encoding_sides_text_pairs_per_second encoding_sides_unified_pairs_per_second "
    "encoding_seconds_for_all encoding_is_scaled scaling_exponent failed"
}


@options.command(
    "methods",
    "fdch bench methods --methods dch --pairs 200 --image-width 64 --words 50 "
    "--bits 16",
)
@options.count("--pairs", default=5000, help="Pairs to fit on.")
@options.count("--image-width", default=4096, help="Image features.")
@options.count("--words", default=1386, help="Columns of the texts.")
@options.count("--bits", default=64, help="Length of the codes.")
@click.option("--methods", metavar="A,B", help="All shallow ones if not given.")
@options.count(
    "--encode-pairs",
    default=184_577,
    help="Pairs to encode; only LSSH does all, other times are scaled.",
)
@click.option(
    "--scaling",
    metavar="N,N",
    help=f"Fit on so many pairs, too; with --plot {USUAL_SCALING} if not given.",
)
@options.path("--plot", help="Draw cost against pairs, as .svg, .pdf or .png.")
@options.json
def command(
    plot: Path | None,
    methods: str | None,
    scaling: str | None,
    image_width: int,
    words: int,
    as_json: bool,
    **sizes: int,
) -> None:
    """Measure how long the shallow methods learn and encode.

    Synthetic features and words, like those of a network and of tags. Each method
    is measured in a process of its own; its memory counts Python, its libraries
    and the data.
    """
    from fdch.bench.learning import methods as benchmark
    from fdch.bench.learning.workload import Workload

    if plot is not None:
        plot = require_place(plot)
        benchmark.plot_format(plot)
        scaling = scaling or USUAL_SCALING
    numbers = options.split_numbers(scaling, "--scaling") if scaling else []
    workload = Workload(image_width, words)
    chosen = None if methods is None else options.split_names(methods, "--methods")
    with ProgressPrinter() as progress:
        wanted = benchmark.Sizes(**sizes, scaling=numbers, workload=workload)
        result = benchmark.methods_benchmark(wanted, chosen, progress)
    if plot is not None:
        benchmark.write_plot(
            plot, lambda figure: benchmark.draw_scaling(figure, result)
        )
        note(f"plot: {plot}")
    report_benchmark(result, as_json, COLUMNS)
