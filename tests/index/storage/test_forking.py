"""Children that are forked while an index is open leave it to their parent."""

import os
import signal
import subprocess
import sys

import pytest
from tests.index.storage.processes import ENVIRONMENT
from tests.index.store_samples import random_codes

from fdch.index.storage.folder import CodeFolder
from fdch.index.storage.maintenance.verification import verify_folder
from fdch.index.store import Item

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")

BEGIN = """
import os, signal, sys, time
from pathlib import Path
from tests.index.store_samples import random_codes
from fdch.errors import IndexFolderError
from fdch.index.storage.folder import CodeFolder
from fdch.index.store import Item
from fdch.index.storage.maintenance.verification import verify_folder
path = Path(sys.argv[1])
folder = CodeFolder.open(path, writable=True)
def add(folder, name):
    folder.add([Item(name)], random_codes(1))
"""


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "index"
    with CodeFolder.create(path, 32, "model") as folder:
        folder.add([Item("first")], random_codes(1))
    return path


def run(path, lines, status=0):
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + lines, path],
        capture_output=True,
        text=True,
        check=False,
        env=ENVIRONMENT,
    )
    assert (done.returncode, done.stderr) == (status, "")
    return done.stdout.split("\n")[:-1]


def test_the_end_of_a_child_leaves_the_parents_log(path):
    lines = """
add(folder, "before")
read, write = os.pipe()
if not (child := os.fork()):
    os.read(read, 1)
    sys.exit(0)
add(folder, "meanwhile")
log = path / "catalogue.sqlite-wal"
size = log.stat().st_size
os.write(write, b"x")
assert os.waitpid(child, 0)[1] == 0
assert log.stat().st_size == size
assert folder.verify().is_clean
add(folder, "after")
"""
    run(path, lines)
    assert verify_folder(path).is_clean
    with CodeFolder.open(path) as folder:
        assert len(folder) == 4


def test_a_child_that_outlives_its_parent_leaves_the_log(path):
    lines = """
add(folder, "before")
parent = os.getpid()
if not os.fork():
    while os.getppid() == parent:  # until it is gone, and its files are closed
        time.sleep(0.01)
    sys.exit(0)
os.kill(os.getpid(), signal.SIGKILL)
"""
    run(path, lines, -signal.SIGKILL)  # waits for the child, who has its output
    assert (path / "catalogue.sqlite-wal").stat().st_size
    assert verify_folder(path).is_clean
    with CodeFolder.open(path, writable=True) as folder:
        assert len(folder) == 2


def test_a_child_that_outlives_its_parent_has_no_lock(path):
    lines = """
parent = os.getpid()
if not os.fork():
    while os.getppid() == parent:  # until it is gone, and its files are closed
        time.sleep(0.01)
    with CodeFolder.open(path, writable=True) as own:
        add(own, "new")
    sys.exit(0)
os.kill(os.getpid(), signal.SIGKILL)
"""
    run(path, lines, -signal.SIGKILL)
    assert verify_folder(path).is_clean
    with CodeFolder.open(path) as folder:
        assert len(folder) == 2


def test_a_child_must_open_the_index_itself(path):
    lines = """
if not (child := os.fork()):
    for use in (
        lambda: len(folder),
        lambda: add(folder, "new"),
        lambda: folder.compact(),
        lambda: folder.verify(),
    ):
        try:
            use()
        except IndexFolderError as problem:
            print("Open it again in this process." in str(problem))
    folder.close()
    sys.exit(0)
os.waitpid(child, 0)
add(folder, "after")
print(len(folder), folder.verify().is_clean)
"""
    assert run(path, lines) == ["True"] * 4 + ["2 True"]


def test_a_child_that_opens_the_index_follows_every_writer(path):
    lines = """
def turn(own, other):
    os.write(other, b"x")
    os.read(own, 1)
mine, to_parent = os.pipe()
yours, to_child = os.pipe()
if not (child := os.fork()):
    os.read(yours, 1)
    with CodeFolder.open(path) as reader:
        print(len(reader), flush=True)
        turn(yours, to_parent)
        print(len(reader), flush=True)
        turn(yours, to_parent)
        print(len(reader), flush=True)
    os.write(to_parent, b"x")
    sys.exit(0)
turn(mine, to_child)
add(folder, "second")
folder.close()
with CodeFolder.open(path, writable=True) as folder:
    add(folder, "third")
    turn(mine, to_child)
with CodeFolder.open(path, writable=True) as folder:
    add(folder, "fourth")
turn(mine, to_child)
assert os.waitpid(child, 0)[1] == 0
assert verify_folder(path).is_clean
"""
    assert run(path, lines) == ["1", "3", "4"]


def test_what_a_child_inherits_is_not_even_freed_at_its_end(path):
    lines = """
from fdch.index.storage.files.locking import note_open
class Held:
    def __del__(self, print=os.write, pid=os.getpid, parent=os.getpid()):
        print(1, b"the parent's\\n" if pid() == parent else b"the child's\\n")
held = Held()
note_open(held)
if not (child := os.fork()):
    sys.exit(0)
os.waitpid(child, 0)
"""
    assert run(path, lines) == ["the parent's"]
