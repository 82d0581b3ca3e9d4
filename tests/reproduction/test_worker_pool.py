"""Jobs are shared, a process that dies costs one cell, none outlives the pool."""

import os
import sys
import time

import pytest

from fdch.reproduction import worker_pool
from fdch.reproduction.study import Cell, Study
from fdch.reproduction.worker_pool import (
    run_jobs,
    shared_accelerator,
    usual_workers,
)

# a process that does its jobs without learning anything
QUICK = """
import json, os, sys
study = json.loads(sys.stdin.readline())
open(os.path.join(study["out"], f"started-{os.getpid()}"), "w").write(
    os.environ["OMP_NUM_THREADS"])
for line in sys.stdin:
    method, bits, seed = json.loads(line)
    if method == "dies":
        os._exit(3)
    if method == "killed":
        os.kill(os.getpid(), 9)
    if method == "endless":
        sys.stdin.read()
    print(f"{method}-{bits}-{seed}", flush=True)
"""


@pytest.fixture
def run(tmp_path):
    def run(workers, jobs):
        command = (sys.executable, "-c", QUICK)
        return run_jobs(Study("scenes", tmp_path), jobs, workers, command)

    return run


def job(*methods):
    return tuple(Cell(method, 16, 0) for method in methods)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_every_cell_is_reported_once(run, workers):
    jobs = [job("a", "b"), job("c"), job("d"), job("e", "f", "g")]
    reported = list(run(workers, jobs))
    assert sorted(cell.method for cell, _ in reported) == list("abcdefg")
    assert {trouble for _, trouble in reported} == {""}


def test_the_cores_are_shared(run, tmp_path, monkeypatch):
    monkeypatch.setattr(worker_pool, "usable_cores", lambda: 8)
    list(run(2, [job("a"), job("b"), job("c")]))
    threads = {path.read_text() for path in tmp_path.glob("started-*")}
    assert threads == {"4"}


def test_a_process_that_dies_costs_one_cell(run):
    reported = dict(run(1, [job("a", "dies", "b"), job("c")]))
    reasons = {cell.method: trouble for cell, trouble in reported.items()}
    assert reasons.pop("dies").startswith("its process ended with exit code 3")
    assert reasons == dict.fromkeys("abc", "")


def test_a_killed_process_is_reported_as_lack_of_memory(run):
    reported = list(run(2, [job("killed"), job("a")]))
    reasons = {cell.method: trouble for cell, trouble in reported}
    assert "lack of memory" in reasons["killed"]
    assert reasons["a"] == ""


def is_running(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_no_process_outlives_an_interruption(run, tmp_path):
    work = run(2, [job("a"), job("endless"), job("endless")])
    next(work)

    def started():
        return [int(path.name.split("-")[1]) for path in tmp_path.glob("started-*")]

    # Ctrl-C reaches the group of the process that waits, and none of theirs
    groups = {os.getpgid(each) for each in started()}
    assert groups
    assert os.getpgrp() not in groups
    with pytest.raises(KeyboardInterrupt):
        work.throw(KeyboardInterrupt)
    deadline = time.monotonic() + 60
    while any(map(is_running, started())) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(is_running, started()))


def test_a_command_that_cannot_be_started_is_an_error(tmp_path):
    command = (str(tmp_path / "nothing"),)
    with pytest.raises(FileNotFoundError):
        list(run_jobs(Study("scenes", tmp_path), [job("a")], 1, command))


@pytest.mark.parametrize(
    ("cores", "memory", "workers"),
    [(8, 100, 8), (8, 9, 2), (2, 1, 1), (64, None, 16), (4, None, 4)],
)
def test_workers_are_as_many_as_cores_and_memory_allow(
    monkeypatch, cores, memory, workers
):
    held = None if memory is None else memory * 10**9
    monkeypatch.setattr(worker_pool, "usable_cores", lambda: cores)
    monkeypatch.setattr(worker_pool, "available_memory", lambda: held)
    assert usual_workers() == workers
    assert usual_workers(share_accelerator=True) == min(workers, 8)


# records its commands and their folder, and answers like NVIDIA's program
SERVICE = """#!/bin/sh
record() { echo "$CUDA_MPS_PIPE_DIRECTORY $1" >> "$(dirname "$0")/commands"; }
if [ "$1" = "-d" ]; then record started; exit; fi
read line
record "$line"
case "$line" in get_server_list) echo %s ;; esac
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a service with this list of servers; return the file of its commands."""
    for name in worker_pool.SHARING_FOLDERS:
        monkeypatch.delenv(name, raising=False)

    def install(listed):
        program = tmp_path / worker_pool.SHARING
        program.write_text(SERVICE % listed)
        program.chmod(0o700)
        monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
        return tmp_path / "commands"

    return install


def test_a_gpu_is_shared_by_a_service_that_ends_with_the_work(install):
    commands = install("4711")
    with pytest.raises(KeyboardInterrupt), shared_accelerator(True) as variables:
        folder = variables["CUDA_MPS_PIPE_DIRECTORY"]
        assert os.path.isdir(folder)
        raise KeyboardInterrupt
    received = [line.split(maxsplit=1) for line in commands.read_text().splitlines()]
    assert {place for place, _ in received} == {folder}
    assert [command for _, command in received] == [
        "started",
        f"start_server -uid {os.getuid()}",
        "get_server_list",
        "quit",
    ]
    assert not os.path.exists(folder)


def test_a_service_that_does_not_start_is_not_used(install):
    install("")
    with shared_accelerator(True) as variables:
        assert variables == {}


def test_a_service_that_somebody_set_up_is_left_alone(install, monkeypatch):
    commands = install("4711")
    monkeypatch.setenv("CUDA_MPS_PIPE_DIRECTORY", "/elsewhere")
    with shared_accelerator(True) as variables:
        assert variables == {}
    assert not commands.exists()


def test_variables_reach_every_process(tmp_path):
    report = "import os, sys; sys.stdin.readline(); print(os.environ['SHARED'])"
    command = (sys.executable, "-c", report)
    jobs, study = [job("a")], Study("scenes", tmp_path)
    with pytest.raises(KeyError):
        os.environ["SHARED"]
    [(_, trouble)] = run_jobs(study, jobs, 1, command, {"SHARED": "yes"})
    assert trouble == ""
