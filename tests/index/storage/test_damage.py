"""Random damage to a folder: found, never a wrong answer, and repaired from a copy."""

import os
import random
import re
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from tests.index.store_samples import (
    copying,
    random_codes,
    random_vectors,
    sample_items,
    tables_for_few_rows,
    upload_picture,
)

from fdch.errors import DamagedIndex, FdchError
from fdch.index.storage.files.layout import (
    ACKNOWLEDGED,
    CATALOGUE,
    CHECK,
    LOCK,
    LOG,
    MODEL,
    PICTURES,
    WAL,
)
from fdch.index.storage.files.log import Kind, read_header, read_records
from fdch.index.storage.files.records import read_item
from fdch.index.storage.folder import CodeFolder
from fdch.index.storage.maintenance.repair import repair_folder
from fdch.index.storage.maintenance.verification import verify_folder
from fdch.index.store import Condition, Item, WordQuery

BITS = 64
QUERIES = random_codes(2, BITS, seed=77)
KINDS = ("flip", "cut", "zero", "noise")
DERIVED = (ACKNOWLEDGED, CATALOGUE, CHECK, WAL)  # of commits that the log has


@pytest.fixture(scope="module")
def place():
    """A folder in memory where there is one."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def states(place):
    """Indexes without and with vectors and tables, each in several states."""
    plain = make_states(place / "codes", 0)
    with tables_for_few_rows():
        yield [*plain, *make_states(place / "vectors", 12)]


class State:
    """A folder, older states of it, and how many bytes of unfinished files count."""

    def __init__(self, path, older, ends=None):
        self.path, self.older, self.ends = path, older, ends or {}


def make_states(place, width):
    """An index, closed and as a killed writer leaves it; with a model and pictures."""
    path, run = place / "index", place / "run"
    run.mkdir(parents=True)
    (run / "run.json").write_text('{"a": "model"}')
    (run / "weights").write_bytes(random.Random(1).randbytes(9000))
    with CodeFolder.create(path, BITS, copying(run), vector_bytes=width) as folder:
        vectors = random_vectors(160, width)
        folder.add(sample_items(160), random_codes(160, BITS), vectors)
        vectors = random_vectors(600, width, seed=2)
        folder.add_numbered(random_codes(600, BITS, seed=2), vectors)
        folder.remove([f"item {i}" for i in range(0, 100, 7)])
        early = copy_killed(path, place / "early")
        folder.compact()
        codes, vectors = random_codes(40, BITS, 3), random_vectors(40, width, 3)
        folder.add(sample_items(40, 900), codes, vectors)
        ids = [f"sent {i}" for i in range(3)]
        sent = [
            Item(id, image=upload_picture(path, id, id.encode() * 500)) for id in ids
        ]
        folder.add(sent, random_codes(3, BITS, 5), random_vectors(3, width, 5))
    older = shutil.copytree(path, place / "older")
    with CodeFolder.open(path, writable=True) as folder:
        codes, vectors = random_codes(40, BITS, 4), random_vectors(40, width, 4)
        folder.add(sample_items(40, 940), codes, vectors)
        between = copy_killed(path, place / "between")
        folder.remove(["item 1", "603", "item 910"])
    closed = shutil.copytree(path, place / "closed")
    with CodeFolder.open(path, writable=True) as folder:
        late = Item("late", columns={"colour": "red"})
        folder.add([late], random_codes(1, BITS), random_vectors(1, width))
        killed = copy_killed(path, place / "killed")
    ends = {}
    for name in (LOG, *(f"codes/{file.name}" for file in last_rows(killed))):
        ends[name] = (killed / name).stat().st_size
        with (killed / name).open("ab") as file:
            file.write(b"an unfinished change")
    return [
        State(closed, [older, early, between]),
        State(killed, [closed, early, between], ends),
    ]


def copy_killed(path, target):
    """Copy an index that is open as its writer would leave it."""
    shutil.copytree(path, target)
    (target / f"{CATALOGUE}-shm").unlink()
    return target


def last_rows(path):
    return sorted((path / "codes").glob("*.rows"))[-1:]


def answers(path):
    with CodeFolder.open(path) as folder:
        folder.model_folder()
        red = [Condition("colour", "=", ("red",))]
        words = [WordQuery(("text", "7"), 3.0)] * len(QUERIES)
        found = [
            *folder.search(QUERIES, 20),
            *folder.search(QUERIES, 20, where=red),
            *folder.search(QUERIES, 20, words=words),
            *folder.search(QUERIES, radius=BITS, where=red),
        ]
        counted = folder.facets(), folder.facets(red, words=words[0])
        return counted, [
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


def files_of(path):
    """The files of an index that have bytes with a meaning, by their names in it."""
    found = {
        file.relative_to(path).as_posix(): file.read_bytes()
        for file in sorted(path.rglob("*"))
        if file.is_file() and file.name != LOCK
    }
    return {name: content for name, content in found.items() if content}


def damage(state, path, draw):
    """Damage files of a copy of a state; return the kind of damage.

    Files that were swapped are whole. Older files are those that a backup may put back.
    """
    kind = draw.choice([*KINDS, "flip", "miss", "old", "swap", "both", "mix"])
    names = list(files_of(path))
    file = path / draw.choice(names)
    older = draw.choice(state.older)
    if kind == "both":
        for name in (LOG, CATALOGUE):
            alter(path / name, draw.choice(KINDS), draw)
    elif kind == "swap":
        other = path / draw.choice(names)
        content = file.read_bytes()
        file.write_bytes(other.read_bytes())
        other.write_bytes(content)
    elif kind == "miss":
        inside = file.parent if file.parent != path and draw.random() < 0.2 else None
        shutil.rmtree(inside) if inside else file.unlink()
    elif kind == "old":
        put_back(path, older, draw.choice([*names, WAL]))
    elif kind == "mix":
        others = draw.choice([DERIVED, (ACKNOWLEDGED, CHECK)])
        chosen = [name for name in others if draw.random() < 0.5]
        for name in [*chosen, *([] if others is DERIVED else [LOG])]:
            put_back(path, older, name)
    else:
        alter(file, kind, draw)
    return kind


def put_back(path, older, name):
    """Replace a file by an older one; there may have been none."""
    (path / name).unlink(missing_ok=True)
    if (older / name).is_file():
        shutil.copyfile(older / name, path / name)


def alter(file, kind, draw):
    """Change some bytes of a file."""
    content = file.read_bytes()
    at = draw.randrange(len(content))
    if kind == "flip":
        changed = content[:at] + bytes([content[at] ^ 1 << at % 8]) + content[at + 1 :]
    elif kind == "cut":
        changed = content[:at]
    elif kind == "zero":
        at, end = at - at % 4096, at - at % 4096 + 4096
        changed = content[:at] + bytes(len(content[at:end])) + content[end:]
    else:
        length = draw.choice([7, 300, 9000])
        changed = content[:at] + draw.randbytes(len(content[at : at + length]))
        changed += content[at + length :]
    file.write_bytes(changed)


def find_changes(state, path):
    """The files that differ from those of a state, and those where that must be found.

    - Bytes behind the last commit have no meaning: the next writer cuts them off.
    - SQLite drops what is damaged in its write-ahead log, and all that follows; the
      log of the index has it, and is replayed on opening.
    """
    before, after = files_of(state.path), files_of(path)
    changed, relevant = set(), set()
    for name in before.keys() | after.keys():
        old, new = before.get(name, b""), after.get(name, b"")
        end = state.ends.get(name, max(len(old), len(new)))
        changed |= {name} if old != new else set()
        relevant |= {name} if old[:end] != new[:end] and name != WAL else set()
    return changed, relevant


def losable(state, path, before, names):
    """Items that no copy proves any more, by the bytes that differ from a sound state.

    None where something else than items is damaged in log and catalogue.
    """
    found = set()
    for name in names:
        width = {".rows": BITS // 8, ".vectors": 12}.get(Path(name).suffix)
        grouping = f"{name.removesuffix('.rows')}.grouping"  # has the codes again
        if width and ((path / grouping).exists() <= (grouping in names)):
            rows = damaged_rows(state / name, path / name, width)
            at = 1 if name.endswith(".rows") else 2
            found |= {id for id, each in before.items() if bytes_of(each[at]) in rows}
    if {LOG, CATALOGUE} <= names:
        catalogue = damaged(state / CATALOGUE, path / CATALOGUE)
        records = [*damaged_records(state, damaged(state / LOG, path / LOG))]
        if any(kind != Kind.ITEM for kind, _ in records):
            return None
        ids = {read_item(payload)[1] for _, payload in records}
        found |= {id for id in ids if is_damaged(state / CATALOGUE, id, catalogue)}
    return found


def bytes_of(values):
    return np.array(values).astype(np.uint8).tobytes()  # int8 of vectors, too


def damaged(sound, file):
    """The range of bytes within which a file differs from a sound one."""
    old = np.frombuffer(sound.read_bytes(), np.uint8)
    new = np.frombuffer(file.read_bytes() if file.exists() else b"", np.uint8)
    size = min(len(old), len(new))
    places = np.flatnonzero(old[:size] != new[:size]).tolist()
    places += [size, len(old) - 1] if size < len(old) else []
    return range(min(places), max(places) + 1)


def damaged_rows(sound, file, width):
    """The rows that share a checksum with a byte that was damaged."""
    rows, step = sound.read_bytes()[64:], 4096 // width * width
    where = damaged(sound, file)
    first, last = (max(0, byte - 64) // step for byte in (where[0], where[-1]))
    hit = rows[first * step : (last + 1) * step]
    return {hit[at : at + width] for at in range(0, len(hit), width)}


def damaged_records(state, where):
    """Records of a log, and the check in front of each, that a range of bytes meets."""
    header = read_header(state)
    start = header.start.offset
    for record in read_records(state, header.uid, header.start):
        if start - 16 < where.stop and where.start < record.position.offset:
            yield record.entry
        start = record.position.offset


def is_damaged(catalogue, id, where):
    """Whether an item's page of a catalogue is damaged, or one that leads to it."""
    with closing(
        sqlite3.connect(f"{catalogue.as_uri()}?immutable=1", uri=True)
    ) as opened:
        row = opened.execute("SELECT content FROM items WHERE id = ?", (id,)).fetchone()
        roots = opened.execute(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'items'"
        )
        pages = {0, roots.fetchone()[0] - 1}
    if row is None:  # it is in SQLite's log, or was removed
        return False
    content, key = catalogue.read_bytes(), f"{id}{row[0]}".encode()
    pages |= {match.start() // 4096 for match in re.finditer(re.escape(key), content)}
    return any(
        page * 4096 < where.stop and where.start < page * 4096 + 4096 for page in pages
    )


def survive(states, place, count, seed):
    """Damage, search, verify and repair; count what was found, and what need not be."""
    draw, found, unseen = random.Random(seed), 0, 0
    known = [
        (state, answers(copy), contents(copy))
        for state in states
        for name in [f"copy {state.path.parent.name} {state.path.name} {seed}"]
        for copy in [shutil.copytree(state.path, place / name)]
    ]
    for number in range(count):
        state, right, before = draw.choice(known)
        path, names = shutil.copytree(state.path, place / "damaged"), set[str]()
        while not names:  # a page of zeros may be zeroed
            kind = damage(state, path, draw)
            names, relevant = find_changes(state, path)
        case = f"damage {number} of seed {seed}: {kind} {sorted(names)} of {state.path}"
        may_lose = set()
        if kind not in ("swap", "mix"):
            may_lose = losable(state.path, path, before, names)
        clean = verify_folder(path).is_clean
        # the catalogue of an earlier commit, as a power cut leaves it, is replayed
        is_whole = (CATALOGUE in names) == (CHECK in names) and LOG not in names
        is_earlier = kind == "mix" and is_whole and names & {CATALOGUE, WAL}
        assert not clean or not relevant or is_earlier, case
        found, unseen = found + (not clean), unseen + clean
        searched = shutil.copytree(path, place / "searched")
        try:
            assert answers(searched) == right, case
        except FdchError:
            assert not clean, case
        check_repair(path, may_lose, names, (before, right), case)
        shutil.rmtree(path)
        shutil.rmtree(searched)
    return found, unseen


def check_repair(path, may_lose, names, known, case):
    before, right = known
    try:
        done = repair_folder(path)
    except DamagedIndex as problem:
        assert "cannot be repaired" in str(problem), case
        assert may_lose is None, case
        return
    after = contents(path)
    assert all(after[id] == before[id] for id in after.keys() & before.keys()), case
    # a removal that both copies have lost is named, as what they have both lost is
    assert after.keys() <= before.keys() or done.unnamed, case
    # of these there is no other copy; who has one restores them from it
    left = {name for name in names if name.startswith((f"{MODEL}/", f"{PICTURES}/"))}
    assert {problem.file for problem in done.left} <= left, (case, done)
    lost = before.keys() - after.keys()
    assert lost == set(done.lost) or done.unnamed, case
    assert may_lose is None or lost <= may_lose, (case, len(lost), lost - may_lose)
    assert verify_folder(path).problems == done.left, case
    if after == before and not left:
        assert answers(path) == right, case


def test_100_random_damages(states, place):
    survive(states, place, 100, seed=1)


@pytest.mark.slow
def test_many_random_damages(states, place, record_testsuite_property):
    """FDCH_DAMAGES says how many, FDCH_DAMAGE_SEED which."""
    count = int(os.environ.get("FDCH_DAMAGES", "1500"))
    seed = int(os.environ.get("FDCH_DAMAGE_SEED", "2"))
    found, unseen = survive(states, place, count, seed)
    record_testsuite_property("damages", count)
    record_testsuite_property("found", found)
    record_testsuite_property("without any effect", unseen)
