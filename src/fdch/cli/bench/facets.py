"""`fdch bench facets`: how long counts by value take."""

from typing import Any

from fdch.cli.bench._running import run_benchmark
from fdch.cli.shared import options
from fdch.cli.shared.options import COUNT, option


@options.command("facets", "fdch bench facets --items 2000 --repeats 1")
@option("--items N", "Items to count.", COUNT, default=1_000_000)
@options.repeats(10, "Turns of each count.")
@options.seed()
@options.json
def command(**given: Any) -> None:
    """Measure counts by value of items that fulfil filters.

    Items have a label and three columns: 5, 70, 1,000 and 366 values. The first
    count after opening reads the columns; later ones have them in memory. A fifth
    of the texts has the word that is counted.
    """
    from fdch.bench.index_folder import facet_benchmark

    run_benchmark(facet_benchmark, **given)
