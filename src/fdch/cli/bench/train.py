"""`fdch bench train`: how fast FDCH learns, beside a plain PyTorch loop."""

from typing import Any

import click

from fdch.cli.bench._figures import show_three
from fdch.cli.shared import options
from fdch.cli.shared.output import lay_out, report
from fdch.cli.shared.progress_lines import ProgressPrinter

MEGABYTE = 10**6


@options.command(
    "train",
    "fdch bench train --pairs 200 --image-width 64 --words 50 --bits 16 "
    "--epochs 2 --repeats 1",
)
@options.count("--pairs", default=5000, help="Pairs to train on.")
@options.count("--image-width", default=1280, help="Image features.")
@options.count("--words", default=1386, help="Columns of the texts.")
@options.count("--bits", default=64, help="Length of the codes.")
@click.option(
    "--epochs",
    type=options.Count(2),
    default=3,
    help="Of each stage; the first is reported separately.",
)
@options.count("--repeats", default=3, help="Trainings of each side, in turn.")
@options.device
@options.json
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
    report(result, as_json, _table(result))


def _table(result: dict[str, Any]) -> str:
    peer = result["peer"]
    stages = {**result["stages"], "plain loop, stage 1": peer["stage 1"]}
    rows = (
        (
            name,
            f"{stage['first_epoch_seconds']['median']:.3g}",
            *show_three(stage["epochs_per_second"]),
            f"{stage['pairs_per_second']['median']:,.0f}",
        )
        for name, stage in stages.items()
    )
    faster, least, most = show_three(peer["ratio"])
    process, device = result["peak_memory_bytes"], result["peak_device_memory_bytes"]
    memory = "unknown" if process is None else f"{process / MEGABYTE:,.0f} MB"
    if device is not None:
        memory += f", {device / MEGABYTE:,.0f} MB on it"
    notes = (
        f"{result['pairs']:,} pairs of {result['image_width']:,} image features, "
        f"{result['words']:,} words and {result['labels']} labels; "
        f"{result['bits']} bits, batches of {result['batch_size']}",
        f"stage 1 is {faster} times as fast as the plain loop ({least} to {most}); "
        f"without dropout their losses differ by {peer['loss_difference']:.1g} of "
        "themselves",
        f"{result['device_name']}, {result['threads']} threads; "
        f"peak memory {memory}; {result['repeats']} turns, medians",
    )
    header = ("", "first epoch, s", "epochs/s", "least", "most", "pairs/s")
    return lay_out(header, rows, notes)
