"""`fdch bench networks`: layers written here beside those they stand in for."""

from typing import Any

from fdch.cli.bench._running import run_benchmark
from fdch.cli.shared import options


@options.command("networks", "fdch bench networks --repeats 1")
@options.repeats(5)
@options.device
@options.json
def command(**given: Any) -> None:
    """Time our layers beside torch's own.

    EfficientNet-Lite0 is timed as it runs frozen, its batch normalisation folded
    into the convolutions, and as it is trained, beside the plain one in float32. The
    floor is what the device needs at least: operations over its rate for large matrix
    products, or inputs and outputs over its bandwidth.
    """
    from fdch.bench.learning.networks import networks_benchmark

    run_benchmark(networks_benchmark, **given)
