"""`fdch bench words`: what matching words adds to codes, and costs."""

from typing import Any

import click

from fdch.cli.bench._running import run_benchmark
from fdch.cli.shared import options


@options.command("words", "fdch bench words runs/first --items 2000 --repeats 1")
@click.argument("run", type=options.PathName(), required=False)
@options.count("--queries", default=200, help="Queries of one word or two.")
@options.count("--gallery", default=5000, help="Pairs of the run's data to search.")
@click.option("--tuning", is_flag=True, help="Use the words meant for choosing.")
@options.count("--items", default=1_000_000, help="Items to measure the cost with.")
@options.count("--bits", default=64, help="Length of their codes.")
@options.count("-k", default=10, help="Results of a query.")
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
