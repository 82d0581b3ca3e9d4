"""`fdch bench facets`: how long counts by value take."""

from fdch.cli.bench._tables import report_benchmark
from fdch.cli.shared import options
from fdch.cli.shared.progress_lines import ProgressPrinter


@options.command("facets", "fdch bench facets --items 2000 --repeats 1")
@options.count("--items", default=1_000_000, metavar="N")
@options.count("--repeats", default=10, help="Turns of each count.")
@options.seed()
@options.json
def command(items: int, repeats: int, seed: int, as_json: bool) -> None:
    """Measure counts by value of items that fulfil filters.

    Items have a label and three columns: 5, 70, 1,000 and 366 values. The first
    count after opening reads the columns; later ones have them in memory.
    """
    from fdch.bench.index_folder import facet_benchmark

    with ProgressPrinter() as progress:
        result = facet_benchmark(items, repeats, seed, progress)
    report_benchmark({"benchmark": "facets", **result}, as_json)
