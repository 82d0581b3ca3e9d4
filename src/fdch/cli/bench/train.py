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
@click.option(
    "--network",
    metavar="NAME",
    help="Train this image network too, on random pictures.",
)
@click.option(
    "--precision",
    type=click.Choice(["auto", "float32", "bfloat16"]),
    default="auto",
    help="Of the image network, as the setting of this name.",
)
@options.device
@options.json
def command(
    device: str, network: str | None, precision: Any, as_json: bool, **sizes: int
) -> None:
    """Time the training of FDCH beside a plain PyTorch loop.

    Synthetic features and words, like those of a network and of tags. The plain
    loop does the work of each stage with torch's own dense layers; of stage 1 both
    sides run without dropout, too, to compare their losses. A stage's first epoch holds
    what prepares the stage; memory counts Python, its libraries and the data.

    With --network the image network is trained too, beside a loop as published code
    of this field has it: float32, pictures copied batch by batch, DCMH's loss.

    The floor is what the device needs at least: operations over its rate for large
    matrix products, or the bytes of weights and their moments over its bandwidth,
    both measured in the same run.
    """
    with ProgressPrinter() as progress:
        if network is not None:
            from fdch.bench.learning.end_to_end import (
                PictureSizes,
                end_to_end_benchmark,
            )

            sizes.pop("image_width")
            given = PictureSizes(network, precision=precision, **sizes)
            result = end_to_end_benchmark(given, device, progress)
        else:
            from fdch.bench.learning.training import TrainingSizes, training_benchmark

            result = training_benchmark(TrainingSizes(**sizes), device, progress)
    report(result, as_json, _table(result) if network is None else _pictures(result))


def _table(result: dict[str, Any]) -> str:
    peer = result["peer"]
    plain = {f"plain loop, {stage}": peer[stage] for stage in result["stages"]}
    stages = {**result["stages"], **plain}
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
        "stage 2 is {} times as fast ({} to {})".format(
            *show_three(peer["ratio_of_stage_2"])
        ),
        f"{_describe_place(result)}; peak memory {memory}",
        _describe_ceilings(result),
    )
    return lay_out(HEADER, map(_row, stages, stages.values()), notes)


def _pictures(result: dict[str, Any]) -> str:
    peer = result["peer"]
    stages = {**result["stages"], "public-style loop": peer["epoch"]}
    notes = (
        f"{result['pairs']:,} pairs of pictures for {result['network']} and "
        f"{result['words']:,} words; {result['precision']}, {result['bits']} bits, "
        f"batches of {result['batch_size']}",
        *(
            "{} is {} times as fast as the public-style loop ({} to {})".format(
                stage, *show_three(times)
            )
            for stage, times in peer["ratio"].items()
        ),
        _describe_place(result),
        _describe_ceilings(result),
    )
    return lay_out(HEADER, map(_row, stages, stages.values()), notes)


HEADER = (
    "",
    "first epoch, s",
    "epochs/s",
    "least",
    "most",
    "pairs/s",
    "floor, ms",
    "busy",
)


def _row(name: str, stage: dict[str, Any]) -> tuple[str, ...]:
    floor, busy = stage.get("floor_seconds"), stage.get("busy_share")
    return (
        name,
        f"{stage['first_epoch_seconds']['median']:.3g}",
        *show_three(stage["epochs_per_second"]),
        f"{stage['pairs_per_second']['median']:,.0f}",
        "" if floor is None else f"{1000 * floor:.3g}",
        "" if busy is None else f"{busy:.0%}",
    )


def _describe_place(result: dict[str, Any]) -> str:
    return (
        f"{result['device_name']}, {result['threads']} threads; "
        f"{result['repeats']} turns, medians"
    )


def _describe_ceilings(result: dict[str, Any]) -> str:
    rates = result["ceilings"]
    return (
        f"floors from {rates['float32'] / 1e12:.3g} (float32) and "
        f"{rates['bfloat16'] / 1e12:.3g} (bfloat16) Tflop/s, "
        f"{rates['bandwidth'] / 1e12:.3g} TB/s"
    )
