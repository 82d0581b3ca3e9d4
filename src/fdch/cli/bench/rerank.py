"""`fdch bench rerank`: what ordering candidates adds and costs."""

from typing import Any

import click

from fdch.cli.bench._running import run_benchmark
from fdch.cli.shared import options


@options.command("rerank", "fdch bench rerank runs/first --items 20000 --repeats 1")
@click.argument("run", type=options.PathName(), required=False)
@options.count("--queries", default=500, help="Pairs used as queries.")
@options.count("--items", default=1_000_000, help="Items to measure the cost with.")
@options.count("--bits", default=64, help="Length of their codes.")
@options.count("--vector-bytes", default=32, help="Length of their vectors.")
@options.count("-k", default=10, help="Results of a query.")
@options.repeats(10, "Turns of each side, of 20 queries.")
@options.seed("Of the choice of pairs, and of drawn codes.")
@options.device
@options.json
def command(**given: Any) -> None:
    """Measure what ordering candidates adds, and what it costs.

    Quality, and whether probabilities hold, of a RUN: queries and gallery are
    pairs of its data that were used neither for training nor for validation nor
    as test queries. Cost: one query over drawn codes with drawn vectors, in the
    order of codes and of vectors, taking turns.
    """
    from fdch.bench.reranking import rerank_benchmark

    run_benchmark(rerank_benchmark, **given)
