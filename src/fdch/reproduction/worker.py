"""A process of a crew: jobs come in by lines, names of finished cells go out."""

import json
import os
import signal
import sys
from collections.abc import Iterator
from queue import SimpleQueue
from threading import Thread

from fdch.reproduction.crew import JOB_ENDED, TUNE
from fdch.reproduction.laboratory import Laboratory
from fdch.reproduction.study import Cell, Study


def main() -> None:
    """Work until the input ends."""
    # Ctrl-C is for whoever gives the jobs, who then ends this process
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers, sys.stdout = sys.stdout, sys.stderr
    lines = _lines()
    laboratory = Laboratory(Study.from_json(json.loads(next(lines))))
    work = laboratory.tune_job if TUNE in sys.argv else laboratory.run_job
    for line in lines:
        job = tuple(Cell(*parts) for parts in json.loads(line))
        for cell in work(job):
            print(cell.name, file=answers, flush=True)
        print(JOB_ENDED, file=answers, flush=True)


def _lines() -> Iterator[str]:
    """Give lines as they come; end the process at once when there are no more.

    Whoever gave the jobs is gone then, and another may begin the same cells.
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
