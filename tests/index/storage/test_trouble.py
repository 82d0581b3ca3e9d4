"""Full disks, closed doors, vanished folders, hostile files: clear errors."""

import errno
import gc
import os
import resource
import shutil
import subprocess
import tempfile
from functools import partial
from pathlib import Path

import pytest
from tests.index.storage.unprivileged import as_nobody
from tests.index.store_samples import (
    copying,
    random_codes,
    random_vectors,
    sample_items,
    tables_for_few_rows,
)

from fdch.errors import DamagedIndex, IndexBusy, IndexFolderError
from fdch.index.storage.files.layout import ACKNOWLEDGED, CATALOGUE, LOG, WAL
from fdch.index.storage.files.locking import WriterLock
from fdch.index.storage.folder import CodeFolder
from fdch.index.storage.maintenance.verification import verify_folder
from fdch.index.store import Item

WRITES = ("pwrite", "fsync", "fdatasync", "truncate", "replace", "rename")


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "index"
    with CodeFolder.create(path, 32, "model") as folder:
        folder.add(sample_items(30), random_codes(30))
        folder.remove(["item 3"])
    return path


def names(path):
    with CodeFolder.open(path) as folder:
        return set(folder.search(random_codes(1), radius=32)[0].ids)


def failing(monkeypatch, calls):
    """Let the disk be full from some call to the system on."""
    left = calls

    def full(call):
        def fails(*args, **kwargs):
            nonlocal left
            left -= 1
            if left <= 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            return call(*args, **kwargs)

        return fails

    for name in filter(partial(hasattr, os), WRITES):  # macOS has no fdatasync
        monkeypatch.setattr(os, name, full(getattr(os, name)))


@pytest.mark.parametrize("action", ["add", "remove", "add_numbered", "compact"])
def test_a_full_disk_at_any_write_leaves_the_last_commit(path, monkeypatch, action):
    """The change is there wholly, or not at all, and reported to be in doubt."""
    for calls in range(1, 40):
        before = names(path)
        folder = CodeFolder.open(path, writable=True)
        new = f"new {action} {calls}"
        with monkeypatch.context() as patch:
            failing(patch, calls)
            try:
                if action == "add":
                    folder.add([Item(new)], random_codes(1))
                elif action == "remove":
                    folder.remove([sorted(before)[0]])
                elif action == "add_numbered":
                    folder.add_numbered(random_codes(3))
                else:
                    folder.compact()
                is_done = True
            except IndexFolderError as problem:
                assert "disk is full" in str(problem)
                is_done = False
            folder.close()
        after = names(path)
        if action == "compact":
            assert after == before
        elif is_done:
            assert after != before
        else:
            assert len(after ^ before) in (0, 3 if action == "add_numbered" else 1)
        assert verify_folder(path).is_clean, calls
        if is_done and calls > 12:
            break
    assert is_done


def test_sqlite_on_a_full_disk_leaves_the_last_commit(path):
    before = names(path)
    with CodeFolder.open(path, writable=True) as folder:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (70_000, hard))
        try:
            with pytest.raises(IndexFolderError, match=r"disk|full"):
                big = [Item(f"big {i}", text="x" * 4000) for i in range(40)]
                folder.add(big, random_codes(40))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert len(folder) == len(before)
        folder.add([Item("small")], random_codes(1))
    assert names(path) == before | {"small"}
    assert verify_folder(path).is_clean


def test_a_tiny_disk_that_fills_up_keeps_every_acknowledged_item(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", str(disk)]
    if (
        shutil.which("mount") is None
        or subprocess.run(command, capture_output=True, check=False).returncode
    ):
        pytest.skip("no file system can be mounted here")
    try:
        kept = set()
        with CodeFolder.create(disk / "index", 32, "model") as folder:
            with pytest.raises(IndexFolderError, match=r"disk|full"):
                for i in range(10_000):
                    folder.add([Item(f"{i}x", text="x" * 1000)], random_codes(1))
                    kept.add(f"{i}x")
            assert len(kept) > 10
        copy = shutil.copytree(disk / "index", tmp_path / "copy")
    finally:
        gc.collect()  # since Python 3.12, frames of the error hold a map of a file
        subprocess.run(["umount", str(disk)], check=True)
    assert names(copy) >= kept
    assert verify_folder(copy).is_clean


@pytest.fixture
def elsewhere(path):
    """A copy where other users may look, for tests may run as root."""
    place = Path(tempfile.mkdtemp())
    place.chmod(0o755)
    yield shutil.copytree(path, place / "index")
    subprocess.run(["chmod", "-R", "u+rwX", str(place)], check=True)
    shutil.rmtree(place)


def test_a_read_only_folder_is_read_and_not_written(elsewhere):
    subprocess.run(["chmod", "-R", "a-w", str(elsewhere)], check=True)
    assert as_nobody(elsewhere, "read") == "29 1"
    assert as_nobody(elsewhere, "verify") == "0"
    assert "is read-only here" in as_nobody(elsewhere, "write")


def test_closed_doors_are_reported(elsewhere):
    (elsewhere / CATALOGUE).chmod(0)
    said = as_nobody(elsewhere, "read")
    assert said.startswith("IndexFolderError")
    assert "permissions" in said
    (elsewhere / CATALOGUE).chmod(0o644)
    for file in (elsewhere / "codes").iterdir():
        file.chmod(0)
    said = as_nobody(elsewhere, "read")
    assert said.startswith("IndexFolderError")
    assert "permissions" in said


def test_a_vanished_folder_is_reported(path):
    with CodeFolder.open(path, writable=True) as folder:
        shutil.rmtree(path)
        with pytest.raises(IndexFolderError):
            folder.add([Item("new")], random_codes(1))


def test_a_program_may_leave_for_another_folder(path, tmp_path, monkeypatch):
    monkeypatch.chdir(path.parent)
    writer = CodeFolder.open(Path(path.name), writable=True)
    reader = CodeFolder.open(Path(path.name))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    with writer, reader:
        writer.add([Item("new")], random_codes(1, seed=9))
        assert reader.search(random_codes(1, seed=9), 1)[0].ids == ("new",)
    assert verify_folder(path).is_clean
    assert not any(elsewhere.iterdir())


def test_nothing_is_committed_without_its_record(path):
    with CodeFolder.open(path, writable=True) as folder:
        (path / ACKNOWLEDGED).unlink()
        for change in (
            lambda: folder.add([Item("new")], random_codes(1)),
            lambda: folder.add_numbered(random_codes(2)),
            lambda: folder.remove(["item 1"]),
        ):
            with pytest.raises(DamagedIndex, match=r"lost .*acknowledged"):
                change()
            assert len(folder) == 29
        assert folder.items(["new"]) == [None]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_does_not_keep_the_lock(path):
    folder = CodeFolder.open(path, writable=True)
    closed, close = os.pipe()
    child = os.fork()
    if not child:
        os.close(close)
        os.read(closed, 1)  # until the test has seen enough
        os._exit(0)
    try:
        folder.close()
        with CodeFolder.open(path, writable=True) as again:
            again.add([Item("new")], random_codes(1))
    finally:
        os.close(close)
        os.waitpid(child, 0)
        os.close(closed)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_does_not_let_go_of_the_lock(path):
    lock = WriterLock(path)
    child = os.fork()
    if not child:
        lock.release()
        os._exit(0)
    os.waitpid(child, 0)
    with pytest.raises(IndexBusy, match=f"process {os.getpid()} "):
        WriterLock(path)
    lock.release()


def test_a_vanished_part_is_reported(path):
    for file in (path / "codes").iterdir():
        file.unlink()
    with (
        CodeFolder.open(path) as folder,
        pytest.raises(DamagedIndex, match=r"has lost .*rows"),
    ):
        folder.search(random_codes(1), 1)
    assert not verify_folder(path).is_clean


@pytest.mark.parametrize("name", [CATALOGUE, LOG, ACKNOWLEDGED, "codes"])
@pytest.mark.parametrize("size", [0, 1, 100, 0.5])
def test_cut_files_are_found(path, name, size):
    file = path / name
    if file.is_dir():
        file = next(file.iterdir())
    length = file.stat().st_size
    os.truncate(file, int(length * size) if size == 0.5 else size)
    assert not verify_folder(path).is_clean


def test_files_of_another_index_are_found(path, tmp_path):
    other = tmp_path / "other"
    with CodeFolder.create(other, 32, "model") as folder:
        folder.add(sample_items(30), random_codes(30))
        folder.remove(["item 3"])
    for name in (ACKNOWLEDGED, LOG, CATALOGUE, "codes/00000000.rows"):
        copy = shutil.copytree(path, tmp_path / f"copy of {Path(name).name}")
        shutil.copyfile(other / name, copy / name)
        assert not verify_folder(copy).is_clean, name


def small_index(place):
    path = place / "index"
    run = place / "run"
    run.mkdir()
    (run / "run.json").write_text('{"weights": 3}')
    with (
        tables_for_few_rows(),
        CodeFolder.create(path, 16, copying(run), vector_bytes=3) as folder,
    ):
        folder.add(sample_items(6), random_codes(6, 16), random_vectors(6, 3))
        folder.add_numbered(random_codes(6, 16), random_vectors(6, 3))
        folder.remove(["item 2", "7"])
        folder.compact()
        folder.add([Item("last")], random_codes(1, 16), random_vectors(1, 3))
        folder.remove(["item 4"])
    assert not (path / WAL).exists()
    kinds = {file.suffix for file in path.glob("[cv]*/*")}
    assert kinds == {".rows", ".vectors", ".numbers", ".grouping", ".buckets"}
    return path


def undetected_flips(path, step):
    missed, count = [], 0
    for file in sorted(path.rglob("*")):
        if file.is_file():
            whole = file.read_bytes()
            for place in range(count % step, len(whole), step):
                count += 1
                with file.open("r+b") as opened:
                    opened.seek(place)
                    opened.write(bytes([whole[place] ^ 1 << place % 8]))
                if verify_folder(path).is_clean:
                    missed.append((file.name, place))
                file.write_bytes(whole)
    return missed, count


def test_flipped_bytes_are_found(tmp_path):
    missed, count = undetected_flips(small_index(tmp_path), step=397)
    assert count > 100
    assert not missed


@pytest.fixture
def quick_disk(tmp_path):
    """A folder in memory where there is one: flips need tens of thousands of looks."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)


@pytest.mark.slow
def test_every_flipped_byte_of_every_file_is_found(
    quick_disk, record_testsuite_property
):
    path = small_index(quick_disk)
    total = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    missed, count = undetected_flips(path, step=1)
    record_testsuite_property("flips", count)
    assert not missed
    assert count == total


def test_an_index_is_made_behind_a_link(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to("empty")
    with CodeFolder.create(tmp_path / "link", 32, "model") as folder:
        folder.add(sample_items(3), random_codes(3))
    assert (tmp_path / "link").is_symlink()
    assert len(names(tmp_path / "empty")) == 3


def test_long_and_odd_names_are_names(tmp_path):
    for name in ("x" * 250, os.fsdecode(b"caf\xe9 %3f?#")):
        with CodeFolder.create(tmp_path / name, 32, "model") as folder:
            folder.add(sample_items(3), random_codes(3))
        assert len(names(tmp_path / name)) == 3
        assert verify_folder(tmp_path / name).is_clean


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (".", "the folder that this program runs in"),
        ("x" * 300, "name is too long"),
        ("file", "already exists"),
        ("file/x", "a file is where a folder should be"),
        ("file/x/y", "a file is where a folder should be"),
    ],
)
def test_where_no_index_can_be_is_said(tmp_path, monkeypatch, name, words):
    (tmp_path / "file").touch()
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    with pytest.raises(IndexFolderError, match=words) as refused:
        CodeFolder.create(Path(name if name == "." else tmp_path / name), 32, "model")
    assert "disk is sound" not in str(refused.value)
    assert [file.name for file in here.iterdir()] == []
