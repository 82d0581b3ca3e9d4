"""`fdch bench serve`: the service beside FAISS behind FastAPI."""

from typing import Any

from fdch.cli.bench._running import run_benchmark
from fdch.cli.serve import require_packages
from fdch.cli.shared import options
from fdch.cli.shared.options import COUNT, NUMBERS, POSITIVE, option


@options.command("serve", "fdch bench serve --sizes 20000 --seconds 1 --repeats 1")
@option("--sizes", "Codes in the index.", NUMBERS, default="1000000")
@option(
    "--kind",
    "Codes: random, or around 1,000 centres.",
    ["random", "clustered"],
    default="random",
)
@option("--clients", "Concurrent clients.", COUNT, default=64)
@option("--seconds", "Length of each side's turn.", POSITIVE, default=10.0)
@options.repeats(3)
@option("-k", "Results to a query.", COUNT, default=20)
@options.bits
@option(
    "--encoder",
    "What encodes the service's queries; the peer's are by torch.",
    ["torch", "onnx"],
    default="torch",
)
@options.seed()
@options.json
def command(as_json: bool, **sizes: Any) -> None:
    """Time the service beside FAISS behind FastAPI.

    'fdch serve' serves an index of N codes; its peer is the shortest server that
    gives the same answers with FAISS IndexBinaryFlat and the same text network, in
    two variants; the faster one counts. Another 'fdch serve' also orders candidates
    by vectors, as FDCH+ does, and answers queries that match words of its items'
    texts, unless the encoder is onnx, which cannot order by vectors. A second
    process runs many clients, each waiting for its answer; the sides take turns.
    """
    require_packages()
    from fdch.bench.serving.throughput import LoadSizes, serve_benchmark

    run_benchmark(serve_benchmark, as_json, sizes=LoadSizes(**sizes))
