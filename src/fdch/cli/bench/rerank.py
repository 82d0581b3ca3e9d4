"""`fdch bench rerank`: what ordering candidates adds and costs."""

from typing import Any

import click

from fdch.cli.bench._running import run_benchmark
from fdch.cli.shared import options
from fdch.cli.shared.options import COUNT, option


@options.command("rerank", "fdch bench rerank runs/first --items 20000 --repeats 1")
@click.argument("run", type=options.PathName(), required=False)
@option("--queries", "Pairs used as queries.", COUNT, default=500)
@option("--items", "Items to measure the cost with.", COUNT, default=1_000_000)
@option("--bits", "Length of their codes.", COUNT, default=64)
@option("--vector-bytes", "Length of their vectors.", COUNT, default=32)
@option("-k", "Results of a query.", COUNT, default=10)
@options.repeats(10, "Turns of each side, of 20 queries.")
@options.seed("Of the choice of pairs, and of drawn codes.")
@options.device
@options.json
def command(**given: Any) -> None:
    """Measure what ordering candidates adds, and what it costs.

    Quality of a RUN: queries and gallery are pairs of its data that were used
    neither for training nor for validation nor as test queries. Cost: one query
    over drawn codes with drawn vectors, in the order of codes and of vectors,
    taking turns.
    """
    from fdch.bench.reranking import rerank_benchmark

    run_benchmark(rerank_benchmark, **given)
