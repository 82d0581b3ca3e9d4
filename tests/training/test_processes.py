"""Processes that share a training learn what one alone learns, and end together."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from fdch.errors import SettingError
from fdch.methods.cmfh import CMFH
from fdch.progress import Update
from fdch.runs.pipeline import TrainingTask, train_run
from fdch.runs.preparation import require_ready
from fdch.training.context import Context
from fdch.training.devices import processes, steps

PROGRAM = Path(__file__).with_name("shared_training.py")
SMALL = {"image_hidden": "16", "text_hidden": "24"}
FUSION = {"fusion_width": "12", "fusion_hidden": "16", **SMALL}
# shares of 37 and 35 rows differ in size; 107 leaves a batch of one row
TASKS = {
    "fdch": {
        "stage_one_epochs": "3",
        "stage_two_epochs": "3",
        "batch_size": "37",
        **FUSION,
    },
    "fdch_plus": {
        "stage_one_epochs": "3",
        "stage_two_epochs": "3",
        "label_epochs": "3",
        "pair_epochs": "3",
        "batch_size": "37",
        "pair_width": "12",
        **FUSION,
    },
    "dcmh": {"epochs": "3", "batch_size": "107", **SMALL},
    "dsph": {"epochs": "3", "batch_size": "37", **SMALL},
    "mith": {"epochs": "3", "batch_size": "36", "pairwise": "sampled", **SMALL},
    "ucch": {"epochs": "3", "batch_size": "37", "negatives": "20", **SMALL},
}
LONGER = TASKS["fdch"] | {"stage_two_epochs": "5"}


class Stop(Exception):
    """The user's interruption."""


@pytest.fixture
def source(tmp_path, factor_pairs, write_features):
    return write_features(tmp_path / "features.npz", factor_pairs(240))


def launch(*arguments):
    """Start two processes of the program; return how they ended, and their output."""
    return subprocess.run(
        [
            *(sys.executable, "-m", "torch.distributed.run"),
            *("--standalone", "--nproc-per-node", "2", PROGRAM, *arguments),
        ],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )


def child_with_rank(parent, rank):
    """Find the process of a number among those that torchrun has started."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    for child in children:
        variables = Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
        if f"RANK={rank}".encode() in variables:
            return int(child)
    raise AssertionError(f"no process {rank} among {children}")


def command(task, *more):
    """Write a task as the arguments of `fdch`."""
    changes = [f"--set={name}={value}" for name, value in task.settings.items()]
    chosen = ["--method", task.method, "--bits", str(task.bits), "--device", "cpu"]
    return ["train", task.source, "--out", str(task.out), *chosen, *changes, *more]


def stop_in_stage_two(update):
    if (update.task, update.done) == ("stage 2", 3):
        raise Stop


def assert_same_weights(one, other, apart=1e-4):
    found, expected = (load_file(run.out / "state.safetensors") for run in (one, other))
    torch.testing.assert_close(found, expected, rtol=0, atol=apart)


@pytest.mark.slow
def test_two_processes_learn_what_one_learns(tmp_path, source, monkeypatch):
    tasks = [
        TrainingTask(source, tmp_path / name, name, bits=16, settings=settings)
        for name, settings in TASKS.items()
    ]
    stopped = TrainingTask(
        source, tmp_path / "stopped", "fdch", bits=16, settings=LONGER
    )
    monkeypatch.setattr("fdch.training.checkpoints.Checkpoints.due", lambda *_: True)
    with pytest.raises(Stop):
        train_run(stopped, context=Context(stop_in_stage_two, "cpu"))
    commands = [
        *(command(task, "--json") for task in tasks),
        command(stopped, "--json", "--resume"),
    ]
    shared = launch("commands", json.dumps(commands))
    assert shared.returncode == 0, shared.stderr
    assert shared.stdout.count('"run": ') == len(commands)
    assert "stage 2: 3/5" in shared.stderr
    assert "stage 2: 1/5" not in shared.stderr
    for task in [*tasks, stopped]:
        alone = replace(task, out=tmp_path / f"{task.out.name} alone")
        train_run(alone, context=Context(device="cpu"))
        assert_same_weights(task, alone)


@pytest.mark.slow
@pytest.mark.parametrize("rank", ["0", "1"])
def test_training_goes_on_alone_after_a_process_was_killed(tmp_path, source, rank):
    killed = TrainingTask(source, tmp_path / "killed", "fdch", bits=16, settings=LONGER)
    shared = launch("killed", json.dumps([command(killed)]), rank)
    assert shared.returncode != 0
    messages = [line for line in shared.stderr.splitlines() if "error: " in line]
    assert len(messages) == 1
    assert messages[0].startswith("error: training stopped, because one of its 2 proc")
    assert "--resume" in messages[0]
    reports: list[Update] = []
    train_run(killed, resume=True, context=Context(reports.append, "cpu"))
    epochs = [(each.task, each.done) for each in reports if each.unit == "epoch"]
    assert epochs == [("stage 2", 3), ("stage 2", 4), ("stage 2", 5)]
    alone = replace(killed, out=tmp_path / "alone")
    train_run(alone, context=Context(device="cpu"))
    assert_same_weights(killed, alone)


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 1])
def test_the_documented_command_is_killed_and_resumed(tmp_path, rank):
    """As users type it: no part of the program is replaced."""
    settings = LONGER | {"stage_two_epochs": "40", "batch_size": "8"}
    killed = TrainingTask(
        "scenes:120", tmp_path / "killed", "fdch", 16, settings=settings
    )
    words = ["-m", "fdch", *command(killed)]
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, *torchrun, *words],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    ) as shared:
        assert shared.stderr
        while not (line := shared.stderr.readline()).startswith("stage 2: "):
            assert line, "it ended before stage 2"
        os.kill(child_with_rank(shared.pid, rank), signal.SIGKILL)
        messages = [each for each in shared.stderr if each.startswith("error: ")]
    assert shared.returncode != 0
    assert len(messages) == 1
    assert "one of its 2 processes was lost" in messages[0]
    alone = subprocess.run(
        [sys.executable, *words, "--resume"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert alone.returncode == 0, alone.stderr
    assert "stage 1: " not in alone.stderr
    assert "stage 2: 40/40" in alone.stderr
    whole = replace(killed, out=tmp_path / "whole")
    train_run(whole, context=Context(device="cpu"))
    assert_same_weights(killed, whole, apart=1e-3)  # rounding, in a longer training


@pytest.mark.slow
def test_a_process_that_does_not_answer_ends_the_training():
    shared = launch("stuck")
    assert shared.returncode != 0
    assert shared.stdout.count("have different data, settings or checkpoints") == 2
    assert shared.stderr.count("ProcessLost: training stopped") == 1


@pytest.mark.slow
def test_a_process_that_waits_reports_that_another_one_ended():
    shared = launch("leaving")
    assert shared.returncode != 0
    assert shared.stderr.count("error: training stopped") == 1


def test_without_torchrun_nothing_is_shared():
    with processes.join_processes("cpu") as device, processes.take_turns():
        assert device == "cpu"
        assert processes.is_first()
        assert processes.count_processes() == 1


def test_methods_without_networks_cannot_be_shared(monkeypatch):
    require_ready(CMFH(), Context(device="cpu"))
    monkeypatch.setattr("fdch.runs.preparation.count_processes", lambda: 2)
    with pytest.raises(SettingError, match="without torchrun"):
        require_ready(CMFH(), Context(device="cpu"))


@pytest.mark.parametrize(("name", "rank"), [("cuda:1", "0"), ("cuda", "2")])
def test_each_process_needs_an_accelerator_of_its_own(monkeypatch, name, rank):
    monkeypatch.setattr(processes, "resolve_device", torch.device)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setenv("LOCAL_RANK", rank)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "3")
    with pytest.raises(SettingError, match=r"by 3 processes .* with 2 accelerators"):
        processes._choose_device(name)


def test_a_shared_step_is_not_captured(monkeypatch):
    monkeypatch.setattr(steps, "count_processes", lambda: 2)
    step = steps.Step(lambda rows: (rows, {}), [], 10, torch.device("cuda"), True)
    assert not step._is_captured
