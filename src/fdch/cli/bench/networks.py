"""`fdch bench networks`: layers written here beside those they stand in for."""

from typing import TYPE_CHECKING, Any

import click

from fdch.cli.shared.options import example, json_option
from fdch.cli.shared.output import say, say_json
from fdch.cli.shared.progress_lines import ProgressPrinter
from fdch.cli.shared.values import count_option

if TYPE_CHECKING:
    from fdch.evaluation.tables import Table

TITLES = {
    "response_norm": "response normalisation of CNN-F, forward and backward",
    "word_layer": "first layer of the text network, forward and backward",
    "efficientnet_lite0": "features of 32 pictures, folded",
}


@click.command("networks", epilog=example("fdch bench networks --repeats 1"))
@count_option("--repeats", default=5, help="Turns of each side.")
@json_option
def command(repeats: int, as_json: bool) -> None:
    """Time our layers beside torch's own.

    The image network is timed as it runs frozen, its batch normalisation folded
    into the convolutions, beside the plain one.
    """
    from fdch.bench.networks import networks_benchmark

    with ProgressPrinter() as progress:
        result = networks_benchmark(repeats, progress=progress)
    say_json(result) if as_json else say(table(result))


def table(result: dict[str, Any]) -> "Table":
    """Lay the result out for a terminal."""
    from fdch.evaluation.tables import Table

    rows = tuple(
        (
            TITLES[name],
            *(
                f"{1000 * part[side]['median']:.3g}"
                for side in ("ours_seconds", "peer_seconds")
            ),
            *(f"{part['ratio'][which]:.3g}" for which in ("median", "min", "max")),
        )
        for name, part in result["parts"].items()
    )
    header = ("", "ours, ms", "peer, ms", "times faster", "least", "most")
    return Table(header, rows, (f"{result['repeats']} turns each, medians",))
