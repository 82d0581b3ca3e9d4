"""`fdch bench rerank`: what ordering candidates adds and costs."""

from pathlib import Path
from typing import Any

import click

from fdch.cli.bench._tables import report_benchmark
from fdch.cli.shared import options
from fdch.cli.shared.progress_lines import show_progress


@options.command("rerank", "fdch bench rerank runs/first --items 20000 --repeats 1")
@click.argument("run", type=options.PathName(), required=False)
@options.count("--queries", default=500, help="Pairs used as queries.")
@options.count("--items", default=1_000_000, help="Items to measure the cost with.")
@options.count("--bits", default=64, help="Length of their codes.")
@options.count("--vector-bytes", default=32, help="Length of their vectors.")
@options.count("-k", default=10, help="Results of a query.")
@options.count("--repeats", default=10, help="Turns of each side, of 20 queries.")
@options.seed("Of the choice of pairs, and of drawn codes.")
@options.device
@options.json
def command(
    run: Path | None,
    queries: int,
    seed: int,
    device: str,
    as_json: bool,
    **cost: int,
) -> None:
    """Measure what ordering candidates adds, and what it costs.

    Quality, and whether probabilities hold, of a RUN: queries and gallery are
    pairs of its data that were used neither for training nor for validation nor
    as test queries. Cost: one query over drawn codes with drawn vectors, in the
    order of codes and of vectors, taking turns.
    """
    from fdch.bench.query_cost import ordering_cost
    from fdch.bench.search_quality import search_quality
    from fdch.runs.run import open_run

    result: dict[str, Any] = {}
    with show_progress(device) as context:
        if run is not None:
            result = search_quality(open_run(run, context), queries, seed, context)
    result["cost"] = ordering_cost(seed=seed, **cost)
    report_benchmark(result, as_json)
