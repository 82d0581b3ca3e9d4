"""`fdch bench evaluate`: the evaluation beside the loop that this field copies."""

from typing import Any

from fdch.cli.bench._running import run_benchmark
from fdch.cli.shared import options
from fdch.cli.shared.options import COUNT, option


@options.command(
    "evaluate", "fdch bench evaluate --queries 100 --database 5000 --repeats 1"
)
@option("--queries", "Queries to score.", COUNT, default=2000)
@option("--database", "Items searched.", COUNT, default=184_577)
@options.bits
@options.repeats(3)
@option(
    "--loop-queries N", "Time the loop on N queries only and scale its time up.", COUNT
)
@options.json
def command(**given: Any) -> None:
    """Time the evaluation beside a loop of sorts.

    Random codes with 10 labels; the defaults have the size of NUS-WIDE. The
    loop sorts the whole database for each query, as most code in this field.
    """
    from fdch.bench.evaluation import evaluate_benchmark

    run_benchmark(evaluate_benchmark, **given)
