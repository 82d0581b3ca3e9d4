"""`fdch bench words`: what matching words adds to codes, and costs."""

from typing import Any

import click

from fdch.cli.bench._running import run_benchmark
from fdch.cli.shared import options
from fdch.cli.shared.options import COUNT, option


@options.command("words", "fdch bench words runs/first --items 2000 --repeats 1")
@click.argument("run", type=options.PathName(), required=False)
@option("--queries", "Queries of one word or two.", COUNT, default=200)
@option("--gallery", "Pairs of the run's data to search.", COUNT, default=5000)
@option("--tuning", "Use the words meant for choosing.", bool)
@option("--items", "Items to measure the cost with.", COUNT, default=1_000_000)
@option("--bits", "Length of their codes.", COUNT, default=64)
@option("-k", "Results of a query.", COUNT, default=10)
@options.repeats(10, "Turns of each side, of 20 queries.")
@options.seed("Of the choice of pairs and words, and of what is drawn.")
@options.device
@options.json
def command(**given: Any) -> None:
    """Measure what matching words adds to codes, and what it costs.

    Quality of a RUN: queries are words of its texts that the model knows, searched
    are pairs that it has not seen. Cost: one query over drawn items, by codes and
    by codes and words, taking turns.
    """
    from fdch.bench.words import words_benchmark

    run_benchmark(words_benchmark, **given)
