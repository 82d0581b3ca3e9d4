"""A step of training takes no new memory from the system, however many words."""

import json
import os
import subprocess
import sys
from itertools import pairwise

import pytest

PAIRS, EPOCHS, BATCH = 1024, 15, 128
# in a process of its own, in which glibc at first returns all large memory
RETURNING = {"MALLOC_MMAP_THRESHOLD_": str(2**20), "MALLOC_TRIM_THRESHOLD_": "1"}
TRAINING = f"""
import json, resource, sys
from fdch.bench.learning.workload import Workload
from fdch.methods.fdch import FDCH
from fdch.training.context import Context

counts = {{"stage 1": [], "stage 2": []}}

def count(update):
    if update.unit == "epoch":
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        counts[update.task].append(faults)

settings = dict.fromkeys(("stage_one_epochs", "stage_two_epochs"), {EPOCHS})
settings |= dict.fromkeys(("image_dropout", "word_dropout"), 0.3)
pairs = Workload(64, int(sys.argv[1])).draw({PAIRS})
FDCH(bits=64, batch_size={BATCH}, **settings).fit(pairs, context=Context(count, "cpu"))
print(json.dumps(counts))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems count otherwise")
@pytest.mark.parametrize("words", [1_000, 10_000])
def test_a_warm_step_of_either_stage_faults_no_page(words):
    done = subprocess.run(
        [sys.executable, "-c", TRAINING, str(words)],
        env=os.environ | {"OMP_NUM_THREADS": "1"} | RETURNING,
        check=True,
        capture_output=True,
        text=True,
    )
    for counts in json.loads(done.stdout).values():
        epochs = [b - a for a, b in pairwise(counts)]
        # an array of a row of each word would take thousands
        assert min(epochs) < PAIRS // BATCH
