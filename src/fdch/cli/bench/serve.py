"""`fdch bench serve`: the service beside FAISS behind FastAPI."""

from typing import Any

import click

from fdch.cli.bench._running import run_benchmark
from fdch.cli.serve import require_packages
from fdch.cli.shared import options


@options.command("serve", "fdch bench serve --sizes 20000 --seconds 1 --repeats 1")
@options.numbers("--sizes", default="1000000")
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
@options.repeats(3)
@options.count("-k", default=20, help="Results to a query.")
@options.bits
@click.option(
    "--encoder",
    default="torch",
    type=click.Choice(["torch", "onnx"]),
    help="What encodes the service's queries; the peer's are by torch.",
)
@options.seed()
@options.json
def command(as_json: bool, **sizes: Any) -> None:
    """Time the service beside FAISS behind FastAPI.

    'fdch serve' serves an index of N codes; its peer is the shortest server that
    gives the same answers with FAISS IndexBinaryFlat and the same text network, in
    two variants; the faster one counts. A second process runs many clients,
    each waiting for its answer; the sides take turns.
    """
    require_packages()
    from fdch.bench.serving.throughput import LoadSizes, serve_benchmark

    run_benchmark(serve_benchmark, as_json, sizes=LoadSizes(**sizes))
