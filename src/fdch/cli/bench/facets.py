"""`fdch bench facets`: how long counts by value take."""

from fdch.cli.shared import options
from fdch.cli.shared.output import lay_out, report
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
    rows = [
        (
            name,
            f"{times['counted']:,}",
            _milliseconds(times["first_seconds"]),
            _milliseconds(times["first_processor_seconds"]),
            _milliseconds(times["again_seconds"]["median"]),
            _milliseconds(times["again_seconds"]["max"]),
            _milliseconds(times["radius_seconds"]["median"]),
        )
        for name, times in result["filters"].items()
    ]
    header = ("filter", "items", "first", "busy", "median", "most", "in a radius")
    notes = (
        f"counts by value over {items:,} items, four columns",
        "first: after opening, with the columns read; busy: its processor time",
    )
    report({"benchmark": "facets", **result}, as_json, lay_out(header, rows, notes))


def _milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.0f} ms"
