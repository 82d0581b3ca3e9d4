"""`fdch bench train`: how fast FDCH learns, beside a plain PyTorch loop."""

from typing import TYPE_CHECKING, Any

import click

from fdch.cli.shared.options import device_option, example, json_option
from fdch.cli.shared.output import say, say_json
from fdch.cli.shared.progress_lines import ProgressPrinter
from fdch.cli.shared.values import Count, count_option

if TYPE_CHECKING:
    from fdch.evaluation.tables import Table

MEGABYTE = 10**6


@click.command(
    "train",
    epilog=example(
        "fdch bench train --pairs 200 --image-width 64 --words 50 --bits 16 "
        "--epochs 2 --repeats 1"
    ),
)
@count_option("--pairs", default=5000, help="Pairs to train on.")
@count_option("--image-width", default=1280, help="Image features.")
@count_option("--words", default=1386, help="Columns of the texts.")
@count_option("--bits", default=64, help="Length of the codes.")
@click.option(
    "--epochs",
    type=Count(2),
    default=3,
    show_default=True,
    help="Of each stage; the first is reported separately.",
)
@count_option("--repeats", default=3, help="Trainings of each side, in turn.")
@device_option
@json_option
def command(device: str, as_json: bool, **sizes: int) -> None:
    """Time the training of FDCH beside a plain PyTorch loop.

    Synthetic features and words, like those of a network and of tags. The plain
    loop does the work of stage 1 with torch's own dense layers; both sides run
    without dropout, too, to compare their losses. A stage's first epoch holds
    what prepares the stage; memory counts Python, its libraries and the data.
    """
    from fdch.bench.training import TrainingSizes, training_benchmark

    with ProgressPrinter() as progress:
        result = training_benchmark(TrainingSizes(**sizes), device, progress)
    say_json(result) if as_json else say(table(result))


def table(result: dict[str, Any]) -> "Table":
    """Lay the result out for a terminal."""
    from fdch.evaluation.tables import Table

    header = ("", "first epoch, s", "epochs/s", "least", "most", "pairs/s")
    peer = result["peer"]
    rows = (
        *(_row(name, stage) for name, stage in result["stages"].items()),
        _row("plain loop, stage 1", peer["stage 1"]),
    )
    ratio = peer["ratio"]
    notes = (
        f"{result['pairs']:,} pairs of {result['image_width']:,} image features, "
        f"{result['words']:,} words and {result['labels']} labels; "
        f"{result['bits']} bits, batches of {result['batch_size']}",
        f"stage 1 is {ratio['median']:.3g} times as fast as the plain loop "
        f"({ratio['min']:.3g} to {ratio['max']:.3g}); without dropout their losses "
        f"differ by {peer['loss_difference']:.1g} of themselves",
        f"{result['device_name']}, {result['threads']} threads; "
        f"peak memory {_memory(result)}; {result['repeats']} turns, medians",
    )
    return Table(header, rows, notes)


def _row(name: str, stage: dict[str, Any]) -> tuple[str, ...]:
    rate = stage["epochs_per_second"]
    return (
        name,
        f"{stage['first_epoch_seconds']['median']:.3g}",
        *(f"{rate[which]:.3g}" for which in ("median", "min", "max")),
        f"{stage['pairs_per_second']['median']:,.0f}",
    )


def _memory(result: dict[str, Any]) -> str:
    """Write the peak of the process, and of its device where it has its own."""
    process, device = result["peak_memory_bytes"], result["peak_device_memory_bytes"]
    shown = "unknown" if process is None else f"{process / MEGABYTE:,.0f} MB"
    return shown if device is None else f"{shown}, {device / MEGABYTE:,.0f} MB on it"
