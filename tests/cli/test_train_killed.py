"""Training killed at random moments, and gone on with until it is done."""

import os
import random
import subprocess
import sys

import pytest

from fdch.runs.model_card import CARD
from fdch.runs.run_files import CHECKPOINTS, STATE
from fdch.training.checkpoints import Checkpoints

RUNS = ("whole", "killed")
# Trains in forks of itself, each killed at a call that writes or reports progress.
TRAIN = """
import os, signal, sys
import torch
from fdch.cli import main
from fdch.cli.shared.progress_lines import ProgressPrinter
from fdch.training.checkpoints import Checkpoints

Checkpoints.due = lambda *_: True  # after every epoch

def die_at(moment):
    left = [moment]
    def counted(plain):
        def call(*args, **kwargs):
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)
            return plain(*args, **kwargs)
        return call
    for name in ("replace", "rename", "fsync", "mkdir", "unlink"):
        setattr(os, name, counted(getattr(os, name)))
    ProgressPrinter.__call__ = counted(ProgressPrinter.__call__)

moments = [int(word) for word in sys.argv.pop(1).split()]
for moment in moments:
    child = os.fork()
    if not child:
        if moment:
            die_at(moment)
        main()
    _, status = os.waitpid(child, 0)
    print("ended", os.waitstatus_to_exitcode(status), flush=True)
    if not status:
        break
    if os.path.exists(sys.argv[-1]):  # --out RUN comes last
        sys.argv.insert(2, "--resume")
"""


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_killed_training_goes_on_to_the_same_result(
    fdch, manifest, photo_rows, tiny, tmp_path, seed
):
    draw, data = random.Random(seed), manifest(tmp_path / "pairs.csv", photo_rows)
    epochs = ("--set", "stage_one_epochs=3", "--set", "stage_two_epochs=3")
    words = ["train", data, "--bits", 16, *tiny, *epochs, "--out"]
    fdch(*words, tmp_path / "whole")
    moments = [*(draw.randint(1, 25) for _ in range(12)), 0]
    result = subprocess.run(
        [sys.executable, "-c", TRAIN, " ".join(map(str, moments))]
        + [str(word) for word in (*words, tmp_path / "killed")],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    ended = [line for line in result.stdout.splitlines() if line.startswith("ended")]
    assert ended[-1] == "ended 0", result.stderr
    assert ended.count("ended -9") == len(ended) - 1 >= 2, result.stderr
    files = [{path.name for path in (tmp_path / run).iterdir()} for run in RUNS]
    assert files[0] == files[1]
    states = [(tmp_path / run / STATE).read_bytes() for run in RUNS]
    assert states[0] == states[1]


def test_a_run_killed_at_its_very_end_is_ended_by_resuming(
    fdch, manifest, photo_rows, tiny, tmp_path, monkeypatch
):
    data, run = manifest(tmp_path / "pairs.csv", photo_rows), tmp_path / "run"
    words = ("train", data, "--bits", 16, *tiny, "--out", run)
    monkeypatch.setattr(Checkpoints, "due", lambda *_: True)
    with monkeypatch.context() as killed:
        killed.setattr("fdch.runs.pipeline._end_training", lambda *_: None)
        assert fdch(*words).exit_code == 0
    assert (run / CHECKPOINTS).exists()
    assert not (run / CARD).exists()
    (run / "split.json.17.partial").touch()  # of an earlier kill
    assert "was already finished" in fdch(*words, "--resume").stderr
    assert not (run / CHECKPOINTS).exists()
    assert not list(run.glob("*.partial"))
    assert (run / CARD).exists()
