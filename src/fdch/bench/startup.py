"""How long fdch takes to start, each time in a process of its own."""

import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from fdch.bench.timing import alternate, spread

COMMANDS = {
    "python": ("-c", "pass"),
    "import fdch": ("-c", "import fdch"),
    "fdch --help": ("-m", "fdch", "--help"),
}


def startup_benchmark(repeats: int = 5) -> dict[str, Any]:
    """Time Python alone, the import and the help, one after the other."""
    sides = {name: lambda words=words: _run(words) for name, words in COMMANDS.items()}
    alternate(sides, 1)  # files are read from the disk once
    turns = alternate(sides, repeats)
    return {"repeats": repeats, "seconds": {k: spread(v) for k, v in turns.items()}}


def _run(words: Sequence[str]) -> None:
    subprocess.run([sys.executable, *words], check=True, capture_output=True)
