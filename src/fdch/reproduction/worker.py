"""A process of the pool: reads jobs line by line, prints each finished cell."""

import json
import os
import signal
import sys
from collections.abc import Iterator
from queue import SimpleQueue
from threading import Thread

from fdch.reproduction.grid_runner import GridRunner
from fdch.reproduction.study import Cell, Study
from fdch.reproduction.worker_pool import JOB_ENDED, TUNE


def main() -> None:
    """Work until the input ends."""
    # Ctrl-C is for the parent, which then ends this process
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers, sys.stdout = sys.stdout, sys.stderr
    lines = _lines()
    runner = GridRunner(Study.from_json(json.loads(next(lines))))
    work = runner.tune_job if TUNE in sys.argv else runner.run_job
    for line in lines:
        job = tuple(Cell(*parts) for parts in json.loads(line))
        for cell in work(job):
            print(cell.name, file=answers, flush=True)
        print(JOB_ENDED, file=answers, flush=True)


def _lines() -> Iterator[str]:
    """Yield lines as they come; end the process at once when there are no more.

    The parent is gone then, and another may start the same cells.
    """
    waiting: SimpleQueue[str] = SimpleQueue()

    def read() -> None:
        for line in sys.stdin:
            waiting.put(line)
        os._exit(0)

    Thread(target=read, daemon=True).start()
    while True:
        yield waiting.get()


if __name__ == "__main__":
    main()
