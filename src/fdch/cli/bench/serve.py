"""`fdch bench serve`: the service beside FAISS behind FastAPI."""

from typing import Any

import click

from fdch.cli.bench._tables import report_benchmark
from fdch.cli.serve import require_packages
from fdch.cli.shared import options
from fdch.cli.shared.progress_lines import ProgressPrinter


@options.command("serve", "fdch bench serve --sizes 20000 --seconds 1 --repeats 1")
@click.option("--sizes", default="1000000", metavar="N,N")
@click.option(
    "--kind",
    default="random",
    type=click.Choice(["random", "clustered"]),
    help="Codes: random, or around 1,000 centres.",
)
@options.count("--clients", default=64, help="Concurrent clients.")
@click.option(
    "--seconds",
    type=options.POSITIVE,
    default=10.0,
    help="Length of each side's turn.",
)
@options.count("--repeats", default=3, help="Turns of each side.")
@click.option(
    "--requests",
    type=options.WholeRange(0),
    default=0,
    show_default=False,
    metavar="N",
    help="Then send N requests to the service and watch its memory.",
)
@options.count("-k", default=20, help="Results to a query.")
@options.count("--bits", default=64, help="Length of the codes.")
@click.option(
    "--encoder",
    default="torch",
    type=click.Choice(["torch", "onnx"]),
    help="What encodes the service's queries; the peer's are by torch.",
)
@options.seed()
@options.json
def command(as_json: bool, sizes: str, **more: Any) -> None:
    """Time the service beside FAISS behind FastAPI.

    'fdch serve' serves an index of N codes; its peer is the shortest server that
    gives the same answers with FAISS IndexBinaryFlat and the same text network, in
    two variants; the faster one counts. A second process runs many clients,
    each waiting for its answer; the sides take turns.
    """
    require_packages()
    from fdch.bench.serving.throughput import Sizes, serve_benchmark

    wanted = Sizes(options.split_numbers(sizes, "--sizes"), **more)
    with ProgressPrinter() as progress:
        result = serve_benchmark(wanted, progress)
    report_benchmark(result, as_json)
