"""`fdch bench pictures`: from picture files to features, beside a plain loop."""

from typing import Any

from fdch.cli.bench._running import run_benchmark
from fdch.cli.shared import options
from fdch.cli.shared.options import COUNT, option


@options.command(
    "pictures", "fdch bench pictures scenes:60 --pictures 16 --repeats 1 --device cpu"
)
@options.data
@option("--pictures", "Pictures, the first ones.", COUNT, name="most", default=20_000)
@option("--image-network", "Network of the features.", default="efficientnet_lite0")
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
