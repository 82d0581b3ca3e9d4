"""`fdch bench startup`: how long the program takes to start."""

from fdch.cli.bench._tables import report_benchmark
from fdch.cli.shared import options


@options.command("startup", "fdch bench startup --repeats 2")
@options.count("--repeats", default=5, help="Turns of each side.")
@options.json
def command(as_json: bool, repeats: int) -> None:
    """Time how long Python, the import and the help take to start."""
    from fdch.bench.startup import startup_benchmark

    report_benchmark(startup_benchmark(repeats), as_json)
