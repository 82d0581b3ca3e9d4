"""Jobs shared between processes, each with its share of the cores.

A process runs `main`: it reads the study from its first line of input and a cell from
each further one, and prints the cell's name when it ends. All cells of a job go to one
process. If it is killed, as systems do for lack of memory, the cell that it was
running has failed, and another process takes the rest of the job.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from selectors import EVENT_READ, DefaultSelector
from subprocess import DEVNULL, PIPE
from threading import Thread
from typing import IO, Any

from fdch.machine import available_memory, usable_cores
from fdch.reproduction.grid_runner import GridRunner
from fdch.reproduction.study import Cell, Job, Study

MEMORY_EACH = 4 * 10**9
MAX_WORKERS, MAX_ON_ACCELERATOR = 16, 8
THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)
# NVIDIA's Multi-Process Service: kernels of several processes run side by side
SHARING = "nvidia-cuda-mps-control"
ANSWER_SECONDS = 30
SHARING_FOLDERS = ("CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY")
WORKER = (sys.executable, "-m", "fdch.reproduction.worker_pool")
Process = subprocess.Popen[bytes]


def usual_workers(share_accelerator: bool = False) -> int:
    """Return how many workers cores and memory allow, fewer on one accelerator."""
    most = MAX_ON_ACCELERATOR if share_accelerator else MAX_WORKERS
    memory = available_memory()
    by_memory = most if memory is None else memory // MEMORY_EACH
    return max(1, min(usable_cores(), by_memory, most))


@contextmanager
def shared_accelerator(is_used: bool) -> Iterator[dict[str, str]]:
    """Run the service that shares a GPU, where it is installed and not set up already.

    Yields the variables by which processes find it. Without it they take turns.
    """
    is_set = any(map(os.environ.get, SHARING_FOLDERS))
    if not is_used or is_set or shutil.which(SHARING) is None:
        yield {}
        return
    with tempfile.TemporaryDirectory() as folder:
        variables = dict.fromkeys(SHARING_FOLDERS, folder)

        def tell(*command: str, line: str = "") -> str:
            with suppress(subprocess.TimeoutExpired):
                return subprocess.run(
                    [SHARING, *command],
                    input=line,
                    env=os.environ | variables,
                    # a service in the background keeps its output open
                    stdout=DEVNULL if command else PIPE,
                    stderr=DEVNULL,
                    text=True,
                    timeout=ANSWER_SECONDS,
                ).stdout
            return ""

        tell("-d")
        try:
            tell(line=f"start_server -uid {os.getuid()}\n")
            listed = tell(line="get_server_list\n")
            yield variables if listed.strip().isdigit() else {}
        finally:
            tell(line="quit\n")


def run_jobs(
    study: Study,
    jobs: Sequence[Job],
    workers: int,
    command: Sequence[str] = WORKER,
    variables: Mapping[str, str] | None = None,
) -> Iterator[tuple[Cell, str]]:
    """Run jobs in several processes; when this ends, however it does, none is left.

    Yields each cell as it ends, with the reason if its process ended before it.
    Variables are added to the environment of each process.
    """
    waiting = deque(jobs)
    running: dict[Process, list[Cell]] = {}  # the cells left of each one's job
    selector = DefaultSelector()

    def start() -> None:
        process = _start(study, workers, command, variables or {})
        running[process] = []
        selector.register(_output(process), EVENT_READ, process)
        give_cell(process)

    def give_cell(process: Process) -> None:
        """Give a process the next cell of its job, or of another one."""
        if not running[process] and waiting:
            running[process] = list(waiting.popleft())
        if running[process]:
            cell = running[process][0]
            _send(process, [cell.method, cell.bits, cell.seed])
        else:
            stop(process)

    def stop(process: Process) -> int:
        selector.unregister(_output(process))
        del running[process]
        return _end(process)

    try:
        for _ in range(min(workers, len(jobs))):
            start()
        while running:
            for key, _ in selector.select():
                process: Process = key.data
                left = running[process]
                if _output(process).readline():
                    yield left.pop(0), ""
                    give_cell(process)
                    continue
                yield left.pop(0), _explain_end(stop(process))
                if left:
                    waiting.append(tuple(left))
                if waiting:
                    start()
    finally:
        for process in running:
            process.kill()
            _end(process)
        selector.close()


def _start(
    study: Study, workers: int, command: Sequence[str], variables: Mapping[str, str]
) -> Process:
    threads = max(1, usable_cores() // workers)
    environment = {**os.environ, **dict.fromkeys(THREADS, str(threads)), **variables}
    environment.setdefault("OMP_WAIT_POLICY", "passive")
    process = subprocess.Popen(
        command,
        bufsize=0,  # so that no line is read ahead, where no event would show it
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        process_group=0,  # Ctrl-C is for this process, which then ends that one
    )
    _send(process, study.to_json())
    return process


def _send(process: Process, document: Any) -> None:
    assert process.stdin is not None  # it is a pipe
    with suppress(OSError):  # a dead process is noticed when its output ends
        process.stdin.write(f"{json.dumps(document)}\n".encode())


def _output(process: Process) -> IO[bytes]:
    assert process.stdout is not None  # it is a pipe
    return process.stdout


def _end(process: Process) -> int:
    """Close the pipes of a process, which ends it, and return its exit code."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    return process.wait()


def _explain_end(code: int) -> str:
    if code < 0:
        return (
            f"its process was ended by signal {-code}, most likely for lack of memory; "
            "try with fewer --workers."
        )
    return f"its process ended with exit code {code}; see its messages."


def main() -> None:
    """Work until the input ends."""
    answers, sys.stdout = sys.stdout, sys.stderr
    lines: SimpleQueue[str] = SimpleQueue()

    def read() -> None:
        for line in sys.stdin:
            lines.put(line)
        os._exit(0)  # the parent is gone, and another may start the same cells

    Thread(target=read, daemon=True).start()
    runner = GridRunner(Study.from_json(json.loads(lines.get())))
    while True:
        cell = Cell(*json.loads(lines.get()))
        runner.run(cell)
        print(cell.name, file=answers, flush=True)


if __name__ == "__main__":
    main()
