"""`fdch bench train`: how fast FDCH learns, beside a plain PyTorch loop."""

from typing import Any

from fdch.cli.bench._running import run_benchmark
from fdch.cli.shared import options
from fdch.cli.shared.options import COUNT, WholeRange, option


@options.command(
    "train",
    "fdch bench train --pairs 200 --image-width 64 --words 50 --bits 16 "
    "--epochs 2 --repeats 1",
)
@option("--pairs", "Pairs to train on.", COUNT, default=5000)
@option("--image-width", "Image features.", COUNT, default=1280)
@option("--words", "Columns of the texts.", COUNT, default=1386)
@options.bits
@option(
    "--epochs",
    "Of each stage; the first is reported separately.",
    WholeRange(2),
    default=3,
)
@options.repeats(3, "Trainings of each side, in turn.")
@option("--network NAME", "Train this image network too, on random pictures.")
@option(
    "--precision",
    "Of the image network, as the setting of this name.",
    ["auto", "float32", "bfloat16"],
    default="auto",
)
@options.device
@options.json
def command(device: str, as_json: bool, **sizes: Any) -> None:
    """Time the training of FDCH beside a plain PyTorch loop.

    Synthetic features and words, like those of a network and of tags. The plain
    loop does the work of each stage with torch's own dense layers; of stage 1 both
    sides run without dropout, too, to compare their losses. A stage's first epoch holds
    what prepares the stage; memory counts Python, its libraries and the data.

    With --network the image network is trained too, beside a loop as published code
    of this field has it: float32, pictures copied batch by batch, DCMH's loss. Where it
    is trained in bfloat16, both stages run in float32, too, to compare their losses.

    The floor is what the device needs at least: operations over its rate for large
    matrix products, or the bytes of weights and their moments over its bandwidth,
    both measured in the same run.
    """
    from fdch.bench.learning.training import TrainingSizes, training_benchmark

    wanted = TrainingSizes(**sizes)
    run_benchmark(training_benchmark, as_json, sizes=wanted, device=device)
