"""Files that were swapped or renamed are whole: reported, and repair loses nothing."""

import hashlib
import shutil
from contextlib import suppress
from itertools import combinations, count
from pathlib import Path

import pytest
from tests.index.storage.test_damage import contents
from tests.index.store_samples import (
    copying,
    random_codes,
    random_vectors,
    sample_items,
    tables_for_few_rows,
)

from fdch.errors import FdchError
from fdch.index.storage.files.layout import CATALOGUE, LOCK, LOG, WAL
from fdch.index.storage.folder import CodeFolder
from fdch.index.storage.maintenance.repair import repair_folder
from fdch.index.storage.maintenance.verification import verify_folder
from fdch.index.store import Item

BITS, WIDTH = 64, 12
PICTURES = {"a": b"the first picture", "b": b"the second picture"}
NAMES = (
    "acknowledged",
    "catalogue.check",
    "catalogue.sqlite",
    "catalogue.sqlite-wal",
    "codes/00000001.buckets",
    "codes/00000001.grouping",
    "codes/00000001.numbers",
    "codes/00000001.rows",
    "codes/00000002.rows",
    "items.log",
    "model/run.json",
    "model/weights",
    "pictures/a",
    "pictures/b",
    "vectors/00000001.vectors",
    "vectors/00000002.vectors",
    "writer.lock",
)


def upload(id):
    digest = hashlib.blake2b(id.encode() + b"\0" + PICTURES[id], digest_size=16)
    return f"pictures/{digest.hexdigest()}.jpg"


@pytest.fixture(scope="module")
def closed(tmp_path_factory):
    """An index with every kind of file."""
    place = tmp_path_factory.mktemp("swaps")
    run, path = place / "run", place / "closed"
    run.mkdir()
    (run / "run.json").write_text('{"a": "model"}')
    (run / "weights").write_bytes(bytes(range(200)))
    with (
        tables_for_few_rows(),
        CodeFolder.create(path, BITS, copying(run), vector_bytes=WIDTH) as folder,
    ):
        folder.add(sample_items(80), random_codes(80, BITS), random_vectors(80, WIDTH))
        folder.add_numbered(random_codes(40, BITS, 2), random_vectors(40, WIDTH, 2))
        folder.remove(["item 3", "item 50", "90"])
        folder.compact()
        (path / "pictures").mkdir()
        for id, content in PICTURES.items():
            (path / upload(id)).write_bytes(content)
        items = [Item(id, image=str(path / upload(id))) for id in PICTURES]
        folder.add(items, random_codes(2, BITS, 3), random_vectors(2, WIDTH, 3))
        folder.remove(["item 7"])
    return path


@pytest.fixture(scope="module")
def killed(closed):
    """The same, as a writer leaves it that is killed within a commit."""
    path = shutil.copytree(closed, closed.parent / "writing")
    with CodeFolder.open(path, writable=True) as folder:
        folder.add([Item("late")], random_codes(1, BITS), random_vectors(1, WIDTH))
        killed = shutil.copytree(path, closed.parent / "killed")
    (killed / f"{CATALOGUE}-shm").unlink()
    with (killed / LOG).open("ab") as log:
        log.write(b"an unfinished change")
    return killed


@pytest.fixture(scope="module", params=["closed", "killed"])
def sound(request):
    """An index, and what is in it."""
    path = request.getfixturevalue(request.param)
    return path, contents(shutil.copytree(path, f"{path} copy"))


def find(path, name):
    folder, _, id = name.rpartition("/")
    return path / (upload(id) if folder == "pictures" else name)


def swap(first, second, between):
    first.rename(between)
    second.rename(first)
    between.rename(second)


def look(path):
    """Do what users do before they repair; none of it may write over a file."""
    for writable in (False, True):
        with (
            suppress(FdchError),
            CodeFolder.open(path, writable=writable) as folder,
        ):
            folder.search(random_codes(1, BITS), 10)


def require_nothing_lost(path, before):
    done = repair_folder(path)
    assert (done.lost, done.unnamed, done.left) == ([], [], ())
    assert contents(path) == before
    for id, content in PICTURES.items():
        assert (path / upload(id)).read_bytes() == content
    assert verify_folder(path).is_clean


def test_every_file_of_an_index_is_swapped_with_every_other(closed, killed):
    assert {find(killed, name) for name in NAMES} == set(files(killed))
    assert set(files(closed)) == {find(closed, name) for name in NAMES if name != WAL}


def files(path):
    return [file for file in path.rglob("*") if file.is_file()]


@pytest.mark.parametrize(("first", "second"), [*combinations(NAMES, 2)])
def test_no_swap_of_two_files_loses_anything(sound, tmp_path, first, second):
    path, before = sound
    path = shutil.copytree(path, tmp_path / "index")
    one, other = find(path, first), find(path, second)
    if not (one.exists() and other.exists()):
        pytest.skip("a closed index has no write-ahead log")
    swap(one, other, tmp_path / "between")
    # bytes of these two have no meaning to an index
    assert verify_folder(path).is_clean == ({first, second} == {WAL, LOCK})
    look(path)
    require_nothing_lost(path, before)


@pytest.mark.parametrize("name", NAMES)
def test_no_renamed_file_is_lost(sound, tmp_path, name):
    path, before = sound
    path = shutil.copytree(path, tmp_path / "index")
    if not find(path, name).exists():
        pytest.skip("a closed index has no write-ahead log")
    find(path, name).rename(path / "renamed")
    assert verify_folder(path).is_clean == (name in (WAL, LOCK))
    require_nothing_lost(path, before)


def test_three_files_in_turn_are_put_back(sound, tmp_path):
    path, before = sound
    path = shutil.copytree(path, tmp_path / "index")
    names = [LOG, CATALOGUE, "codes/00000001.rows", "vectors/00000002.vectors"]
    contents = [(path / name).read_bytes() for name in names]
    for name, content in zip(names, contents[1:] + contents[:1], strict=True):
        (path / name).write_bytes(content)
    problems = [str(problem) for problem in verify_folder(path).problems]
    assert f"{CATALOGUE}: it is 'codes/00000001.rows' under another name" in problems
    look(path)
    require_nothing_lost(path, before)


def test_a_copy_that_somebody_made_replaces_nothing(sound, tmp_path):
    """Not even a damaged file, which may have more in it."""
    path, before = sound
    path = shutil.copytree(path, tmp_path / "index")
    shutil.copyfile(path / LOG, path / "items.log.old")
    with CodeFolder.open(path, writable=True) as folder:
        folder.remove(["item 1"])
    damaged = b"x" + (path / LOG).read_bytes()[1:]
    (path / LOG).write_bytes(damaged)
    done = repair_folder(path)
    assert (done.lost, done.unnamed, done.left) == ([], [], ())
    assert contents(path).keys() == before.keys() - {"item 1"}
    assert (path / "items.log.old").exists()


@pytest.mark.parametrize("call", range(1, 12))
def test_names_are_put_back_by_two_killed_repairs(sound, tmp_path, monkeypatch, call):
    path, before = sound
    path = shutil.copytree(path, tmp_path / "index")
    swap(path / LOG, path / "codes/00000001.rows", tmp_path / "between")
    swap(path / CATALOGUE, path / "vectors/00000002.vectors", tmp_path / "between")
    calls, rename = count(1), Path.rename

    def killed(self, target):
        if next(calls) == call:
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", killed)
    with suppress(KeyboardInterrupt):
        repair_folder(path)
    monkeypatch.undo()
    require_nothing_lost(path, before)


def test_rows_that_stand_for_an_empty_log_of_sqlite_are_kept(sound, tmp_path):
    """A reader leaves such a log, and a writer may delete it."""
    path, before = sound
    path = shutil.copytree(path, tmp_path / "index")
    CodeFolder.open(path, writable=True).close()
    (path / WAL).touch()
    swap(path / WAL, path / "codes/00000001.rows", tmp_path / "between")
    look(path)
    require_nothing_lost(path, before)
