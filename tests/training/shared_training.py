"""What torchrun starts several times, for the tests of shared training.

shared_training.py commands JSON     run `fdch` commands, one after the other
shared_training.py killed JSON RANK  run one; a process dies in epoch 3 of stage 2
shared_training.py stuck             one process no longer answers
shared_training.py leaving           one process ends while another one waits
"""

import json
import os
import signal
import sys
import time
from datetime import timedelta

import torch

from fdch.cli import main
from fdch.errors import FdchError
from fdch.training.checkpoints import Checkpoints
from fdch.training.devices.processes import (
    current_group,
    is_first,
    join_processes,
    take_turns,
)
from fdch.training.devices.shared_batches import require_same_work
from fdch.training.two_stage import ModalityStage

CPU = torch.device("cpu")


def run_commands(commands):
    for arguments in json.loads(commands):
        try:
            main(arguments)
        except SystemExit as end:
            if end.code:
                raise


def kill_one(commands, rank):
    image_loss, batches = ModalityStage.image_loss, []

    def die_in_the_third_epoch(stage, rows):
        batches.append(len(rows))
        if sum(batches) > 2 * stage.items and os.environ["RANK"] == rank:
            os.kill(os.getpid(), signal.SIGKILL)
        return image_loss(stage, rows)

    ModalityStage.image_loss = die_in_the_third_epoch  # type: ignore[method-assign]
    Checkpoints.due = lambda *_: True  # type: ignore[method-assign]
    run_commands(commands)


def get_stuck():
    with join_processes("cpu", timedelta(seconds=10)):
        try:
            require_same_work(CPU, os.environ["RANK"])
        except FdchError as problem:
            sys.stdout.write(f"{problem}\n")
        if not is_first():
            time.sleep(120)
        require_same_work(CPU, "the same")


def leave():
    with join_processes("cpu"):
        group = current_group()
        assert group
        if is_first():
            group.wait_for("the other is connected")
            os._exit(3)
        group.store.set("the other is connected", "")
        with take_turns():
            pass


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["commands", commands]:
            run_commands(commands)
        case ["killed", commands, rank]:
            kill_one(commands, rank)
        case ["stuck"]:
            get_stuck()
        case ["leaving"]:
            leave()
