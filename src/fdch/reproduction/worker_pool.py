"""Jobs shared between processes, each with its share of the cores.

A process reads the study from its first line of input and a job from each further
one; it prints the name of each cell as it ends. A process that is killed, as systems
do for lack of memory, costs the one cell it was running.
"""

import json
import os
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

from fdch.machine import available_memory, usable_cores
from fdch.reproduction.study import Cell, Job, Study

MEMORY_EACH = 4 * 10**9
MAX_WORKERS, MAX_ON_ACCELERATOR = 16, 4
JOB_ENDED = "-"
THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)
WORKER = (sys.executable, "-m", "fdch.reproduction.worker")
TUNE = "tune"  # the argument with which a process tunes cells instead
Process = subprocess.Popen[str]


def usual_workers(share_accelerator: bool = False) -> int:
    """Return how many workers cores and memory allow, fewer on one accelerator."""
    most = MAX_ON_ACCELERATOR if share_accelerator else MAX_WORKERS
    memory = available_memory()
    by_memory = most if memory is None else memory // MEMORY_EACH
    return max(1, min(usable_cores(), by_memory, most))


class WorkerPool:
    """Processes that run jobs, and a thread for each.

    Args:
        study: What the jobs belong to.
        workers: How many processes.
        command: What starts one.
    """

    def __init__(
        self, study: Study, workers: int, command: Sequence[str] = WORKER
    ) -> None:
        self._study = study
        self._workers = workers
        self._command = command
        self._lock = Lock()
        self._waiting: deque[Job] = deque()
        self._running: list[Process] = []
        self._is_open = True
        self._reports: SimpleQueue[tuple[Cell, str] | Exception | None] = SimpleQueue()

    def work(self, jobs: Sequence[Job]) -> Iterator[tuple[Cell, str]]:
        """Run jobs; when this ends, however it does, no process is left.

        Yields each cell as it ends, with the reason if its process ended before it.
        """
        self._waiting.extend(jobs)
        count = min(self._workers, len(jobs))
        threads = [Thread(target=self._serve, daemon=True) for _ in range(count)]
        for thread in threads:
            thread.start()
        try:
            while count:
                report = self._reports.get()
                if isinstance(report, Exception):
                    raise report
                if report is None:
                    count -= 1
                else:
                    yield report
        finally:
            self._close()
            for thread in threads:
                thread.join()

    def _serve(self) -> None:
        """Keep a process busy until no job is left."""
        process: Process | None = None
        try:
            while (job := self._next()) is not None:
                process = process or self._start()
                if process is not None and not self._do(process, job):
                    process = None
        except Exception as problem:  # to be raised where the jobs were given
            self._reports.put(problem)
        finally:
            if process is not None:
                _end(process)
            self._reports.put(None)

    def _next(self) -> Job | None:
        with self._lock:
            return self._waiting.popleft() if self._waiting and self._is_open else None

    def _start(self) -> Process | None:
        threads = max(1, usable_cores() // self._workers)
        environment = os.environ | {name: str(threads) for name in THREADS}
        environment.setdefault("OMP_WAIT_POLICY", "passive")
        with self._lock:
            if not self._is_open:
                return None
            process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                encoding="utf-8",
                env=environment,
            )
            self._running.append(process)
        _send(process, self._study.to_json())
        return process

    def _do(self, process: Process, job: Job) -> bool:
        """Send a job to a process; returns whether it survived."""
        left = list(job)
        _send(process, [[cell.method, cell.bits, cell.seed] for cell in job])
        assert process.stdout is not None  # it is a pipe
        for line in process.stdout:
            if line.strip() == JOB_ENDED:
                return True
            self._reports.put((left.pop(0), ""))
        self._report_worker_death(process, left)
        return False

    def _report_worker_death(self, process: Process, left: list[Cell]) -> None:
        """Report the cell that a process died at; others may do the rest."""
        code = _end(process)
        with self._lock:
            if not self._is_open:
                return
            if left[1:]:
                self._waiting.append(tuple(left[1:]))
        if left:
            self._reports.put((left[0], _why(code)))

    def _close(self) -> None:
        with self._lock:
            self._is_open = False
            for process in self._running:
                process.kill()


def _send(process: Process, document: Any) -> None:
    assert process.stdin is not None  # it is a pipe
    with suppress(OSError):  # a dead process is noticed when its output ends
        process.stdin.write(json.dumps(document) + "\n")
        process.stdin.flush()


def _end(process: Process) -> int:
    """Close the pipes of a process, which ends it, and return its exit code."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):  # unsent lines to a dead process
                pipe.close()
    return process.wait()


def _why(code: int) -> str:
    if code < 0:
        return (
            f"its process was ended by signal {-code}, most likely for lack of memory; "
            "try with fewer --workers."
        )
    return f"its process ended with exit code {code}; see its messages."
