"""`fdch bench serve`: the service beside FAISS behind FastAPI."""

from typing import TYPE_CHECKING, Any

import click

from fdch.cli.shared.lists import numbers
from fdch.cli.shared.options import example, json_option
from fdch.cli.shared.output import say, say_json
from fdch.cli.shared.progress_lines import ProgressPrinter
from fdch.cli.shared.values import Count, Seconds, count_option, seed_option

if TYPE_CHECKING:
    from fdch.evaluation.tables import Table

NAMES = {"fdch": "fdch serve", "threads": "FAISS, in threads", "loop": "FAISS, in turn"}


@click.command(
    "serve",
    epilog=example("fdch bench serve --sizes 20000 --seconds 1 --repeats 1"),
)
@click.option("--sizes", default="1000000", show_default=True, metavar="N,N")
@click.option(
    "--kind",
    default="random",
    show_default=True,
    type=click.Choice(["random", "clustered"]),
    help="Codes: random, or around 1,000 centres.",
)
@count_option("--clients", default=64, help="Concurrent clients.")
@click.option(
    "--seconds",
    type=Seconds(),
    default=10.0,
    show_default=True,
    help="Length of each side's turn.",
)
@count_option("--repeats", default=3, help="Turns of each side.")
@click.option(
    "--requests",
    type=Count(0),
    default=0,
    metavar="N",
    help="Then send N requests to the service and watch its memory.",
)
@count_option("-k", default=20, help="Results to a query.")
@count_option("--bits", default=64, help="Length of the codes.")
@click.option(
    "--encoder",
    default="torch",
    show_default=True,
    type=click.Choice(["torch", "onnx"]),
    help="What encodes the service's queries; the peer's are by torch.",
)
@seed_option()
@json_option
def command(as_json: bool, sizes: str, **more: Any) -> None:
    """Time the service beside FAISS behind FastAPI.

    'fdch serve' serves an index of N codes; its peer is the shortest server that
    gives the same answers with FAISS IndexBinaryFlat and the same text network, in
    two variants of which the faster counts. A second process runs many clients,
    each waiting for its answer; the sides take turns.
    """
    from fdch.cli.serve import require_packages

    require_packages()
    from fdch.bench.service import Sizes, serve_benchmark

    wanted = Sizes(numbers("--sizes", sizes), **more)
    with ProgressPrinter() as progress:
        result = serve_benchmark(wanted, progress)
    if as_json:
        say_json(result)
        return
    say("\n\n".join(str(table(case, result)) for case in result["cases"]))


def table(case: dict[str, Any], result: dict[str, Any]) -> "Table":
    """Lay one case out for a terminal."""
    from fdch.evaluation.tables import Table

    rows = tuple(
        (
            NAMES[name],
            _spread(side["per_second"], 0),
            *(
                f"{side['milliseconds'][p]['median']:.1f}"
                for p in ("p50", "p95", "p99")
            ),
            f"{side['processor_milliseconds']['median']:.2f}",
            str(side["errors"]),
            f"{side['memory_bytes'][-1] / 2**20:,.0f}",
        )
        for name, side in case["sides"].items()
    )
    heads = (
        f"{case['size']:,} {case['kind']}", "queries/s", "p50 ms", "p95", "p99",
        "CPU ms", "errors", "MiB",
    )  # fmt: skip
    answers = "the same" if case["answers_agree"] else "DIFFERENT"
    notes = [
        f"{result['clients']} clients, k = {result['k']}, {result['bits']} bits, "
        f"encoder {result['encoder']}; {_spread(case['ratio'], 2)} times the faster "
        f"one of FAISS {result['faiss']}; answers {answers}"
    ]
    if watched := case["watched"]:
        held = ", ".join(f"{each / 2**20:,.0f}" for each in watched["memory_bytes"])
        notes.append(
            f"memory over {watched['requests']:,} requests, in MiB: {held}; "
            f"{watched['errors']} errors"
        )
    return Table(heads, rows, tuple(notes))


def _spread(values: dict[str, Any], digits: int) -> str:
    low, middle, high = (values[name] for name in ("min", "median", "max"))
    return f"{middle:,.{digits}f} ({low:,.{digits}f}-{high:,.{digits}f})"
