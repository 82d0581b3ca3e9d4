"""Processes killed with -9 at random points: what was acknowledged is there."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.index.storage.crashing import (
    BITS,
    FACTS,
    code_of,
    codes_of,
    item_of,
    vectors_of,
)
from tests.index.storage.processes import ENVIRONMENT
from tests.index.store_samples import copying

from fdch.errors import DamagedIndex
from fdch.index.storage.files.layout import CATALOGUE, LOCK, LOG, part_files
from fdch.index.storage.folder import CodeFolder
from fdch.index.storage.maintenance.repair import repair_folder
from fdch.index.storage.maintenance.verification import verify_folder

KILLS_PER_INDEX = 20
# the same each time, so that a commit is judged by the same kills
SEED = int(os.environ.get("FDCH_KILL_SEED", "11"))


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
        elif begun["begin"] == "add_numbered":
            then.codes += begun["codes"]
        return then

    def is_in(self, folder):
        """Compare with an index: every item and code, and nothing else."""
        found = folder.search(codes_of([bytes(4)]), radius=BITS)[0]
        running = sorted(int(id) for id in found.ids if id.isdecimal())
        named = {id for id in found.ids if not id.isdecimal()}
        if named != set(self.items) or len(running) != len(self.codes):
            return False
        ids = list(self.items)
        if folder.items(ids) != [item_of(id, self.items[id]) for id in ids]:
            return False
        contents = [code_of(id, self.items[id]) for id in ids]
        contents += [bytes.fromhex(code) for code in self.codes]
        _, codes, vectors = folder.fetch([*ids, *map(str, running)])
        expected = vectors_of(contents, folder.vector_bytes)
        return len(folder) == len(found.ids) and (
            not contents
            or (codes == codes_of(contents) and np.array_equal(vectors, expected))
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
        env=ENVIRONMENT,
    ) as process:
        assert process.stdin
        yield process
        process.stdin.close()


def kill_one(writers, path, draw):
    """Let one writer begin and end; return what it printed before it was gone."""
    calls = draw.choice([0, draw.randint(1, 90)])
    delay = draw.uniform(0, 0.05)
    request = json.dumps(["write", str(path), draw.randrange(2**32), calls])
    print(request, file=writers.stdin, flush=True)
    printed = []
    while "gone" not in (line := json.loads(writers.stdout.readline())):
        if "pid" in line and not calls:
            time.sleep(delay)
            os.kill(line["pid"], signal.SIGKILL)
        printed.append(line)
    return [line for line in printed if "pid" not in line]


def survive(writers, folder, kills, seed):
    draw = random.Random(seed)
    acknowledged = 0
    for count in range(kills):
        if count % KILLS_PER_INDEX == 0:
            path = folder / f"index {count}"
            width = 5 * (count // KILLS_PER_INDEX % 2)  # every second one has vectors
            CodeFolder.create(path, BITS, "model", vector_bytes=width).close()
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
    done = survive(writers, tmp_path, 2000, SEED)
    record_testsuite_property("acknowledged", done)
    assert done > 2000


def stop(writers, work, path, calls):
    """Let some work begin, and kill it after so many calls to the system."""
    print(json.dumps([work, str(path), 0, calls]), file=writers.stdin, flush=True)
    while "gone" not in json.loads(writers.stdout.readline()):
        pass


def contents(path):
    with CodeFolder.open(path) as folder:
        ids = folder.search(codes_of([bytes(4)]), radius=BITS)[0].ids
        items, codes, vectors = folder.fetch(ids)
        assert vectors is not None
        rows = zip(items, codes.packed.tolist(), vectors.tolist(), strict=True)
        return dict(zip(ids, rows, strict=True))


def fill(path):
    """Make an index with names, numbers, vectors, gaps, and items removed since."""
    draw = random.Random(1)
    ids = [f"id {i}" for i in range(300)]
    with CodeFolder.create(path, BITS, "model", vector_bytes=5) as folder:
        codes = [code_of(id, 1) for id in ids]
        items = [item_of(id, 1) for id in ids]
        folder.add(items, codes_of(codes), vectors_of(codes, 5))
        codes = [draw.randbytes(4) for _ in range(1500)]
        folder.add_numbered(codes_of(codes), vectors_of(codes, 5))
        folder.remove([*ids[::7], "400", "900"])
        folder.compact()
        folder.remove([*ids[1::50], "500", "501"])


def damage_files(path, draw):
    """Damage some bytes of the codes, vectors, numbers, the log or the catalogue."""
    files = [path / CATALOGUE, path / LOG, *part_files(path)]
    file = draw.choice(sorted(files))
    content = bytearray(file.read_bytes())
    place = draw.randrange(len(content))
    for at in range(place, min(place + draw.choice([3, 40, 3000]), len(content))):
        content[at] ^= draw.randrange(1, 256)
    file.write_bytes(content)


def survive_repairs(writers, folder, kills, seed):
    """Kill repairs: after another one all is as after a repair that was not killed."""
    draw = random.Random(seed)
    sound = folder / "sound"
    fill(sound)
    before = contents(sound)
    compared = 0
    for count in range(kills):
        path, other = folder / f"index {count}", folder / f"other {count}"
        shutil.copytree(sound, path)
        damage_files(path, draw)
        shutil.copytree(path, other)
        try:
            unkilled = repair_folder(other)
        except DamagedIndex:
            continue
        for _ in range(draw.randint(1, 2)):
            stop(writers, "repair", path, draw.randint(1, 60))
        repair_folder(path)
        kept = contents(path)
        assert kept == contents(other), f"kill {count} of seed {seed}"
        if not unkilled.unnamed:
            assert set(before) - set(kept) <= set(unkilled.lost)
            assert kept.items() <= before.items()
        found = verify_folder(path)
        assert found.is_clean, f"kill {count} of seed {seed}: {found.problems}"
        compared += 1
        shutil.rmtree(path)
        shutil.rmtree(other)
    return compared


def survive_creating(writers, folder, kills, seed):
    """Kill the making of indexes: each is whole with its model, or not there.

    The next one leaves nothing behind of those before.
    """
    draw = random.Random(seed)
    run = folder / "run"
    run.mkdir()
    (run / "run.json").write_text("{}")
    (run / "weights").write_bytes(bytes(5000))
    whole = 0
    for count in range(kills):
        path = folder / f"index {count}"
        stop(writers, "create", path, draw.randint(1, 70))
        whole += path.exists()
        if not path.exists():
            for draft in folder.glob(".*"):
                lock = draft / LOCK
                if not lock.exists() or not lock.stat().st_size:
                    os.utime(draft, (0, 0))  # killed before it had its lock, long ago
            CodeFolder.create(path, BITS, copying(run), FACTS).close()
            assert not list(folder.glob(".*")), f"kill {count} of seed {seed}"
        found = verify_folder(path)
        assert found.is_clean, f"kill {count} of seed {seed}: {found.problems}"
    return whole


@pytest.mark.slow
def test_24_killed_repairs_lose_nothing(writers, tmp_path):
    assert survive_repairs(writers, tmp_path, 24, seed=5) > 12


def test_24_kills_while_creating_leave_nothing_half(writers, tmp_path):
    assert 0 < survive_creating(writers, tmp_path, 24, seed=6) < 24


@pytest.mark.slow
def test_400_killed_repairs_lose_nothing(writers, tmp_path):
    assert survive_repairs(writers, tmp_path, 400, SEED) > 200


@pytest.mark.slow
def test_400_kills_while_creating_leave_nothing_half(writers, tmp_path):
    assert 0 < survive_creating(writers, tmp_path, 400, SEED) < 400
