"""`fdch bench pictures`: from picture files to features, beside a plain loop."""

from typing import Any

import click

from fdch.cli.bench._running import run_benchmark
from fdch.cli.shared import options


@options.command(
    "pictures", "fdch bench pictures scenes:60 --pictures 16 --repeats 1 --device cpu"
)
@options.data
@options.count("--pictures", "most", default=20_000, help="Pictures, the first ones.")
@click.option(
    "--image-network", default="efficientnet_lite0", help="Network of the features."
)
@options.repeats(3)
@options.device
@options.json
def command(data: str, **given: Any) -> None:
    """Time picture files to features, beside a plain loop.

    The whole hashes every file, looks its features up in an empty cache, decodes
    while the network computes, and writes the cache. The plain loop decodes a batch
    in threads, computes it, then the next, and keeps nothing.
    """
    from fdch.bench.pictures import pictures_benchmark
    from fdch.data.pairs import PairedSet

    run_benchmark(pictures_benchmark, images=PairedSet.read(data).images, **given)
