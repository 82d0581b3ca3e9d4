"""Writers killed with -9 at random points: what was acknowledged is there."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.index.crashing import BITS, code_of, codes_of, item_of

from fdch.index.folder import CodeFolder
from fdch.index.verification import verify_folder

KILLS_PER_INDEX = 20


class Expected:
    """What an index must hold: versions by id, and codes by running number."""

    def __init__(self):
        self.items = {}
        self.codes = []

    def after(self, begun):
        then = Expected()
        then.items, then.codes = dict(self.items), list(self.codes)
        if begun["begin"] == "add":
            then.items |= dict(begun["items"])
        elif begun["begin"] == "remove":
            then.items = {k: v for k, v in self.items.items() if k not in begun["ids"]}
        elif begun["begin"] == "add_codes":
            then.codes += begun["codes"]
        return then

    def is_in(self, folder):
        """Compare with an index: every item and code, and nothing else."""
        found = folder.within(codes_of([bytes(4)]), BITS)[0]
        running = sorted(int(id) for id in found.ids if id.isdecimal())
        named = {id for id in found.ids if not id.isdecimal()}
        if named != set(self.items) or len(running) != len(self.codes):
            return False
        ids = list(self.items)
        if folder.items(ids) != [item_of(id, self.items[id]) for id in ids]:
            return False
        contents = [code_of(id, self.items[id]) for id in ids]
        contents += [bytes.fromhex(code) for code in self.codes]
        everything = folder.codes([*ids, *map(str, running)])
        return len(folder) == len(found.ids) and (
            not contents or everything == codes_of(contents)
        )


@pytest.fixture
def writers():
    script = Path(__file__).with_name("crashing.py")
    with subprocess.Popen(
        [sys.executable, script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
        env=os.environ | {"PYTHONPATH": str(script.parents[2])},
    ) as process:
        assert process.stdin
        yield process
        process.stdin.close()


def kill_one(writers, path, draw):
    """Let one writer begin and end; give what it told before it was gone."""
    calls = draw.choice([0, draw.randint(1, 60)])
    delay = draw.uniform(0, 0.05)
    request = json.dumps([str(path), draw.randrange(2**32), calls])
    print(request, file=writers.stdin, flush=True)
    told = []
    while "gone" not in (line := json.loads(writers.stdout.readline())):
        if "pid" in line and not calls:
            time.sleep(delay)
            os.kill(line["pid"], signal.SIGKILL)
        told.append(line)
    return [line for line in told if "pid" not in line]


def survive(writers, folder, kills, seed):
    draw = random.Random(seed)
    acknowledged = 0
    for count in range(kills):
        if count % KILLS_PER_INDEX == 0:
            path = folder / f"index {count}"
            CodeFolder.create(path, BITS, "model").close()
            expected = Expected()
        begun = None
        for line in kill_one(writers, path, draw):
            if "begin" in line:
                begun = line
            else:
                expected, begun = expected.after(begun), None
                acknowledged += 1
        with CodeFolder.open(path) as index:
            if begun is not None and not expected.is_in(index):
                expected = expected.after(begun)
            assert expected.is_in(index), f"kill {count} of seed {seed}: {begun}"
        found = verify_folder(path)
        assert found.is_clean, f"kill {count} of seed {seed}: {found.problems}"
    return acknowledged


def test_200_kills_lose_nothing_that_was_acknowledged(writers, tmp_path):
    assert survive(writers, tmp_path, 200, seed=4) > 200


@pytest.mark.slow
def test_2000_kills_lose_nothing_that_was_acknowledged(
    writers, tmp_path, record_testsuite_property
):
    record_testsuite_property("kills", 2000)
    done = survive(writers, tmp_path, 2000, seed=random.randrange(2**32))
    record_testsuite_property("acknowledged", done)
    assert done > 2000
