"""`fdch bench networks`: layers written here beside those they stand in for."""

from fdch.cli.bench._tables import report_benchmark
from fdch.cli.shared import options
from fdch.cli.shared.progress_lines import ProgressPrinter


@options.command("networks", "fdch bench networks --repeats 1")
@options.count("--repeats", default=5, help="Turns of each side.")
@options.device
@options.json
def command(repeats: int, device: str, as_json: bool) -> None:
    """Time our layers beside torch's own.

    EfficientNet-Lite0 is timed as it runs frozen, its batch normalisation folded
    into the convolutions, and as it is trained, beside the plain one in float32. The
    floor is what the device needs at least: operations over its rate for large matrix
    products, or inputs and outputs over its bandwidth.
    """
    from fdch.bench.learning.networks import networks_benchmark

    with ProgressPrinter() as progress:
        result = networks_benchmark(repeats, device, progress)
    report_benchmark(result, as_json)
