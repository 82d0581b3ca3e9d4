"""`fdch bench startup`: how long the program takes to start."""

from typing import Any

from fdch.cli.bench._running import run_benchmark
from fdch.cli.shared import options


@options.command("startup", "fdch bench startup --repeats 2")
@options.repeats(5)
@options.json
def command(**given: Any) -> None:
    """Time how long Python, the import and the help take to start."""
    from fdch.bench.startup import startup_benchmark

    run_benchmark(startup_benchmark, **given)
