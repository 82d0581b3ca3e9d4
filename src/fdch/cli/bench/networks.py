"""`fdch bench networks`: layers written here beside those they stand in for."""

from typing import Any

from fdch.cli.bench._figures import show_three
from fdch.cli.shared import options
from fdch.cli.shared.output import lay_out, report
from fdch.cli.shared.progress_lines import ProgressPrinter

TITLES = {
    "response_norm": "response normalisation of CNN-F, forward and backward",
    "word_layer": "first layer of the text network, forward and backward",
    "efficientnet_lite0": "features of four batches of pictures, folded",
    "efficientnet_lite0_step": "gradients of one batch of pictures",
}


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
    report(result, as_json, _table(result))


def _table(result: dict[str, Any]) -> str:
    rows = (
        (
            TITLES[name],
            f"{1000 * part['ours_seconds']['median']:.3g}",
            f"{1000 * part['peer_seconds']['median']:.3g}",
            *show_three(part["ratio"]),
            f"{1000 * part['floor_seconds']:.3g}",
        )
        for name, part in result["parts"].items()
    )
    header = ("", "ours, ms", "peer, ms", "times faster", "least", "most", "floor, ms")
    notes = (
        f"{result['device']}; batches of {result['pictures']} pictures; "
        f"{result['repeats']} turns each, medians",
    )
    return lay_out(header, rows, notes)
