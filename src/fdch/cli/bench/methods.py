"""`fdch bench methods`: time and memory of the shallow methods."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fdch.cli.shared.lists import listed, numbers
from fdch.cli.shared.options import example, file_option, json_option
from fdch.cli.shared.output import note, require_place, say, say_json
from fdch.cli.shared.progress_lines import ProgressPrinter
from fdch.cli.shared.values import count_option

if TYPE_CHECKING:
    from fdch.evaluation.tables import Table

USUAL_SCALING = "1000,2000,5000,10000"
GIGABYTE = 10**9


@click.command(
    "methods",
    epilog=example(
        "fdch bench methods --methods dch --pairs 200 --image-width 64 --words 50 "
        "--bits 16"
    ),
)
@count_option("--pairs", default=5000, help="Pairs to fit on.")
@count_option("--image-width", default=4096, help="Image features.")
@count_option("--words", default=1386, help="Columns of the texts.")
@count_option("--bits", default=64, help="Length of the codes.")
@click.option("--methods", metavar="A,B", help="All shallow ones if not given.")
@count_option(
    "--encode-pairs",
    default=184_577,
    help="Pairs to encode; only LSSH does all, other times are scaled.",
)
@click.option(
    "--scaling",
    metavar="N,N",
    help=f"Fit on so many pairs, too; with --plot {USUAL_SCALING} if not given.",
)
@file_option("--plot", help="Draw cost against pairs, as .svg, .pdf or .png.")
@json_option
def command(
    plot: Path | None,
    methods: str | None,
    scaling: str | None,
    as_json: bool,
    **sizes: int,
) -> None:
    """Measure how long the shallow methods learn and encode.

    Synthetic features and words, like those of a network and of tags. Each method
    is measured in a process of its own; its memory counts Python, its libraries
    and the data.
    """
    from fdch.bench.methods import (
        Sizes,
        methods_benchmark,
        plot_format,
        write_scaling_plot,
    )
    from fdch.bench.workload import Workload

    if plot is not None:
        plot = require_place(plot)
        plot_format(plot)
        scaling = scaling or USUAL_SCALING
    chosen_sizes = Sizes(
        sizes["pairs"],
        sizes["bits"],
        sizes["encode_pairs"],
        tuple(numbers("--scaling", scaling)) if scaling else (),
        Workload(sizes["image_width"], sizes["words"]),
    )
    with ProgressPrinter() as progress:
        chosen = listed(methods, "--methods") if methods is not None else None
        result = methods_benchmark(chosen_sizes, chosen, progress)
    if plot is not None:
        write_scaling_plot(plot, result)
        note(f"plot: {plot}")
    say_json(result) if as_json else say(table(result))


def table(result: dict[str, Any]) -> "Table":
    """Lay the result out for a terminal."""
    from fdch.evaluation.tables import Table

    header = (
        "method",
        "fit, s",
        "memory, GB",
        "image/s",
        "text/s",
        "unified/s",
        f"{result['encode_pairs']:,} pairs, s",
        "grows as",
    )
    rows = tuple(_row(name, found) for name, found in result["methods"].items())
    failed = [
        f"{name}: {found['failed']}"
        for name, found in result["methods"].items()
        if "failed" in found
    ]
    notes = (
        f"{result['pairs']:,} pairs of {result['image_width']:,} image features and "
        f"{result['words']:,} words, {result['bits']} bits",
        "~ scaled from fewer pairs; growth of the time to fit with the number of pairs",
        *failed,
    )
    return Table(header, rows, notes)


def _row(name: str, found: dict[str, Any]) -> tuple[str, ...]:
    grown = found["scaling"]["exponent"]
    growth = "-" if grown is None else f"n^{grown:.2f}"
    if "failed" in found:
        return name, *["-"] * 6, growth
    peak, encoding = found["peak_memory_bytes"], found["encoding"]
    rates = [
        f"{encoding['sides'][side]['pairs_per_second']:,.0f}"
        if side in encoding["sides"]
        else "-"
        for side in ("image", "text", "unified")
    ]
    about = "~" if encoding["is_scaled"] else ""
    return (
        name,
        f"{found['fit_seconds']:.1f}",
        "-" if peak is None else f"{peak / GIGABYTE:.2f}",
        *rates,
        f"{about}{encoding['seconds_for_all']:,.1f}",
        growth,
    )
