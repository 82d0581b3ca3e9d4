"""Random damage to a folder: found, never a wrong answer, and repaired from a copy."""

import os
import random
import shutil
import tempfile
from pathlib import Path

import pytest
from tests.index.store_samples import random_codes, random_vectors, sample_items

from fdch.errors import DamagedIndex, FdchError
from fdch.index.storage.files.layout import (
    ACKNOWLEDGED,
    CATALOGUE,
    CHECK,
    LOCK,
    LOG,
    WAL,
)
from fdch.index.storage.folder import CodeFolder
from fdch.index.storage.maintenance.repair import repair_folder
from fdch.index.storage.maintenance.verification import verify_folder
from fdch.index.store import Condition, Item

BITS = 64
QUERIES = random_codes(2, BITS, seed=77)
# a file of these may be lost as a whole: another one has all that it says
COPIED = (LOG, CATALOGUE, CHECK, WAL, ACKNOWLEDGED)
# of these an older state, or damage that SQLite drops, is made good on opening
REPLAYED = (CATALOGUE, CHECK, WAL, ACKNOWLEDGED)


@pytest.fixture(scope="module")
def place():
    """A folder in memory where there is one."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def states(place):
    """Indexes without and with vectors, each in several states."""
    return [*make_states(place / "codes", 0), *make_states(place / "vectors", 12)]


def make_states(place, width):
    """An index, closed and as a killed writer leaves it, each with an older state."""
    path = place / "index"
    with CodeFolder.create(path, BITS, "model", vector_bytes=width) as folder:
        vectors = random_vectors(900, width)
        folder.add(sample_items(900), random_codes(900, BITS), vectors)
        vectors = random_vectors(300, width, seed=2)
        folder.add_numbered(random_codes(300, BITS, seed=2), vectors)
        folder.remove([f"item {i}" for i in range(0, 100, 7)])
        folder.compact()
        codes, vectors = random_codes(40, BITS, 3), random_vectors(40, width, 3)
        folder.add(sample_items(40, 900), codes, vectors)
    older = shutil.copytree(path, place / "older")
    with CodeFolder.open(path, writable=True) as folder:
        codes, vectors = random_codes(40, BITS, 4), random_vectors(40, width, 4)
        folder.add(sample_items(40, 940), codes, vectors)
        folder.remove(["item 1", "903", "item 910"])
    closed = shutil.copytree(path, place / "closed")
    with CodeFolder.open(path, writable=True) as folder:
        late = Item("late", columns={"colour": "red"})
        folder.add([late], random_codes(1, BITS), random_vectors(1, width))
        killed = shutil.copytree(path, place / "killed")
    (killed / f"{CATALOGUE}-shm").unlink()
    with (killed / LOG).open("ab") as log:
        log.write(b"an unfinished change")
    return [(closed, older), (killed, closed)]


def answers(path):
    with CodeFolder.open(path) as folder:
        red = [Condition("colour", "=", ("red",))]
        found = [
            *folder.nearest(QUERIES, 20),
            *folder.nearest(QUERIES, 20, red),
            *folder.within(QUERIES, BITS, red),
        ]
        return [
            (one.items, one.distances.tolist(), listed(one.vectors)) for one in found
        ]


def listed(vectors):
    return None if vectors is None else vectors.tolist()


def contents(path):
    with CodeFolder.open(path) as folder:
        return {
            item.id: (item, tuple(code), None if vectors is None else vectors[row])
            for items, codes, found in folder.batches(10_000)
            for vectors in [listed(found)]
            for row, (item, code) in enumerate(
                zip(items, codes.packed.tolist(), strict=True)
            )
        }


def damage(path, older, draw):
    """Damage one file, or swap two; return the names of those that changed."""
    files = sorted(file for file in path.rglob("*") if file.is_file())
    files = [file for file in files if file.stat().st_size and file.name != LOCK]
    file = draw.choice(files)
    content = file.read_bytes()
    kind = draw.choice(["flip", "flip", "cut", "zero", "noise", "miss", "old", "swap"])
    at = draw.randrange(len(content))
    if kind == "flip":
        changed = content[:at] + bytes([content[at] ^ 1 << at % 8]) + content[at + 1 :]
    elif kind == "cut":
        changed = content[:at]
    elif kind == "zero":
        at, end = at - at % 4096, at - at % 4096 + 4096
        changed = content[:at] + bytes(len(content[at:end])) + content[end:]
    elif kind == "noise":
        length = draw.choice([7, 300, 9000])
        changed = content[:at] + draw.randbytes(len(content[at : at + length]))
        changed += content[at + length :]
    elif kind == "old":
        source = older / file.relative_to(path)
        changed = source.read_bytes() if source.is_file() else b""
    elif kind == "swap":
        other = draw.choice(files)
        changed = other.read_bytes()
        other.write_bytes(content)
        if changed == content:
            return set()
        file.write_bytes(changed)
        return {file.name, other.name}
    else:
        file.unlink()
        return {file.name}
    file.write_bytes(changed)
    return {file.name} if changed != content else set()


def survive(states, place, count, seed):
    """Damage, search, verify and repair; return how many damages were not seen."""
    draw, unseen = random.Random(seed), 0
    known = [
        (state, older, answers(copy), contents(copy))
        for state, older in states
        for name in [f"copy {state.parent.name} {state.name} {seed}"]
        for copy in [shutil.copytree(state, place / name)]
    ]
    for number in range(count):
        state, older, right, before = draw.choice(known)
        path = shutil.copytree(state, place / "damaged")
        names = damage(path, older, draw)
        case = f"damage {number} of seed {seed}: {sorted(names)} of {state.name}"
        clean = verify_folder(path).is_clean
        # behind the last commit of a killed writer, bytes have no meaning
        unread = {LOG} if state.name == "killed" else set()
        assert not clean or names <= set(REPLAYED) | unread, case
        unseen += clean and bool(names)
        searched = shutil.copytree(path, place / "searched")
        try:
            assert answers(searched) == right, case
        except FdchError:
            assert not clean, case
        check_repair(path, names, before, case)
        shutil.rmtree(path)
        shutil.rmtree(searched)
    return unseen


def check_repair(path, names, before, case):
    try:
        done = repair_folder(path)
    except DamagedIndex as problem:
        assert "cannot be repaired" in str(problem), case
        assert len(names) == 2, case
        return
    after = contents(path)
    assert all(after[id] == before[id] for id in after), case
    assert not done.left, (case, done)
    lost = set(before) - set(after)
    # a commit that both copies have lost is named by its number
    assert lost == set(done.lost) or (len(names) == 2 and done.unnamed), case
    if names <= set(COPIED) and len(names) == 1:
        assert not lost, case
    assert verify_folder(path).is_clean, case


def test_100_random_damages(states, place):
    survive(states, place, 100, seed=1)


@pytest.mark.slow
def test_many_random_damages(states, place, record_testsuite_property):
    """FDCH_DAMAGES=10000 takes about 40 minutes."""
    count = int(os.environ.get("FDCH_DAMAGES", "1500"))
    seed = int(os.environ.get("FDCH_DAMAGE_SEED", random.randrange(2**32)))
    unseen = survive(states, place, count, seed)
    record_testsuite_property("damages", count)
    record_testsuite_property("without any effect", unseen)
