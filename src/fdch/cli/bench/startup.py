"""`fdch bench startup`: how long the program takes to start."""

import subprocess
import sys
from functools import partial
from typing import Any

from fdch.bench.timing import spread, time_turns
from fdch.cli.bench._running import run_benchmark
from fdch.cli.shared import options
from fdch.progress import Progress

COMMANDS = {
    "python": ("-c", "pass"),
    "import fdch": ("-c", "import fdch"),
    "fdch --help": ("-m", "fdch", "--help"),
}


@options.command("startup", "fdch bench startup --repeats 2")
@options.repeats(5)
@options.json
def command(**given: Any) -> None:
    """Time how long Python, the import and the help take to start."""
    run_benchmark(measure_starts, **given)


def measure_starts(repeats: int, progress: Progress) -> dict[str, Any]:
    """Time the commands in turns, each time in a process of its own."""

    def run(words: tuple[str, ...], turn: int) -> None:
        subprocess.run([sys.executable, *words], check=True, capture_output=True)

    works = {name: partial(run, words) for name, words in COMMANDS.items()}
    time_turns(works, 1)  # files are read from the disk once
    turns = time_turns(works, repeats, progress, "starts")
    return {"repeats": repeats, "seconds": {k: spread(v) for k, v in turns.items()}}
