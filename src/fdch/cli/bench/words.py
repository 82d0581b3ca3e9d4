"""`fdch bench words`: what matching words adds to codes, and costs."""

from pathlib import Path
from typing import Any

import click

from fdch.cli.bench._tables import report_benchmark
from fdch.cli.shared import options
from fdch.cli.shared.progress_lines import show_progress


@options.command("words", "fdch bench words runs/first --items 2000 --repeats 1")
@click.argument("run", type=options.PathName(), required=False)
@options.count("--queries", default=200, help="Queries of one word or two.")
@options.count("--gallery", default=5000, help="Pairs of the run's data to search.")
@click.option("--tuning", is_flag=True, help="Use the words meant for choosing.")
@options.count("--items", default=1_000_000, help="Items to measure the cost with.")
@options.count("--bits", default=64, help="Length of their codes.")
@options.count("-k", default=10, help="Results of a query.")
@options.count("--repeats", default=10, help="Turns of each side, of 20 queries.")
@options.seed("Of the choice of pairs and words, and of what is drawn.")
@options.device
@options.json
def command(
    run: Path | None,
    queries: int,
    gallery: int,
    tuning: bool,
    seed: int,
    device: str,
    as_json: bool,
    **cost: int,
) -> None:
    """Measure what matching words adds to codes, and what it costs.

    Quality of a RUN: queries are words of its texts that the model knows, searched
    are pairs that it has not seen. Cost: one query over drawn items, by codes and
    by codes and words, taking turns.
    """
    from fdch.bench.query_cost import word_cost
    from fdch.bench.word_quality import word_quality
    from fdch.runs.run import open_run

    result: dict[str, Any] = {}
    with show_progress(device) as context:
        if run is not None:
            opened = open_run(run, context)
            result = word_quality(opened, queries, gallery, seed, tuning, context)
    result["cost"] = word_cost(seed=seed, **cost)
    report_benchmark(result, as_json)
