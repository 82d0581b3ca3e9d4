"""How long fdch takes to start, each time in a process of its own."""

import subprocess
import sys
from functools import partial
from typing import Any

from fdch.bench.timing import spread, time_turns
from fdch.progress import Progress, silent

COMMANDS = {
    "python": ("-c", "pass"),
    "import fdch": ("-c", "import fdch"),
    "fdch --help": ("-m", "fdch", "--help"),
}


def startup_benchmark(repeats: int, progress: Progress = silent) -> dict[str, Any]:
    """Time Python alone, the import and the help, in turns."""

    def run(words: tuple[str, ...], turn: int) -> None:
        subprocess.run([sys.executable, *words], check=True, capture_output=True)

    works = {name: partial(run, words) for name, words in COMMANDS.items()}
    time_turns(works, 1)  # files are read from the disk once
    turns = time_turns(works, repeats, progress, "starts")
    return {"repeats": repeats, "seconds": {k: spread(v) for k, v in turns.items()}}
