"""Copies of an index while it is used."""

import shutil
import threading

import pytest
from tests.index.store_samples import (
    copying,
    random_codes,
    random_vectors,
    sample_items,
)

from fdch.errors import DamagedIndex, IndexFolderError
from fdch.index.storage.access import Access
from fdch.index.storage.files.layout import LOG
from fdch.index.storage.folder import CodeFolder
from fdch.index.storage.maintenance import backup
from fdch.index.storage.maintenance.backup import backup_folder
from fdch.index.storage.maintenance.verification import verify_folder
from fdch.index.store import Item


@pytest.fixture(params=[0, 7], ids=["codes", "vectors"])
def width(request):
    return request.param


@pytest.fixture
def path(tmp_path, width):
    run = tmp_path / "run"
    run.mkdir()
    (run / "run.json").write_text('{"weights": 3}')
    path = tmp_path / "index"
    with CodeFolder.create(path, 32, copying(run), vector_bytes=width) as folder:
        folder.add(sample_items(100), random_codes(100), random_vectors(100, width))
        folder.add_numbered(random_codes(30, seed=2), random_vectors(30, width))
        folder.remove(["item 3", "110"])
        folder.compact()
        folder.add([Item("last")], random_codes(1), random_vectors(1, width))
    (path / "pictures").mkdir()
    (path / "pictures" / "a.jpg").write_bytes(b"picture")
    return path


def contents(path):
    with CodeFolder.open(path) as folder:
        return [
            (known.items, known.codes.packed.tolist(), str(known.vectors))
            for known in folder.batches(40)
        ]


def test_a_copy_holds_what_the_index_holds(path, tmp_path, width):
    copy = tmp_path / "copies" / "copy"
    assert backup_folder(path, copy) == 129
    assert contents(copy) == contents(path)
    assert verify_folder(copy).is_clean
    assert (copy / "pictures" / "a.jpg").read_bytes() == b"picture"
    with CodeFolder.open(copy, writable=True) as folder:
        folder.add([Item("more")], random_codes(1), random_vectors(1, width))
        assert folder.model_folder().is_dir()
    assert len(contents(path)[-1][0]) == 129 % 40


def test_copies_made_while_a_writer_writes_hold_whole_commits(path, tmp_path, width):
    stop = threading.Event()

    def write():
        with CodeFolder.open(path, writable=True) as folder:
            for count in range(10_000):
                if stop.is_set():
                    return
                items = [Item(f"{count} a"), Item(f"{count} b")]
                folder.add(items, random_codes(2), random_vectors(2, width))
                if count % 20 == 19:
                    folder.compact()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for count in range(4):
            copy = tmp_path / f"copy {count}"
            items = backup_folder(path, copy)
            with CodeFolder.open(copy) as folder:
                assert len(folder) == items
                assert items % 2 == 1  # 129, and two with each commit
            assert verify_folder(copy).is_clean
    finally:
        stop.set()
        writer.join()


def test_a_copy_waits_until_a_compaction_has_ended(path, tmp_path, monkeypatch):
    log = path / LOG
    content = log.read_bytes()

    def open_before_the_switch(folder, *, writable):
        access = Access(folder, writable=writable)
        log.write_bytes(bytes(64) + content[64:])  # not the catalogue's
        return access

    def end(seconds):
        if seconds:
            log.write_bytes(content)

    monkeypatch.setattr(backup, "Access", open_before_the_switch)
    monkeypatch.setattr("time.sleep", end)
    with CodeFolder.open(path) as folder:
        items = len(folder)
    assert backup_folder(path, tmp_path / "copy") == items


def test_a_damaged_index_is_not_copied(path, tmp_path):
    file = next((path / "model").iterdir())
    file.write_bytes(b"other")
    with pytest.raises(DamagedIndex, match=r"was not copied: model"):
        backup_folder(path, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    content = bytearray((path / LOG).read_bytes())
    content[200] ^= 1
    (path / LOG).write_bytes(content)
    with pytest.raises(DamagedIndex):
        backup_folder(path, tmp_path / "copy")
    assert not list(tmp_path.glob(".fdch*"))


@pytest.mark.parametrize("is_removed", [True, False])
def test_a_picture_lost_while_copying_goes_with_its_item_or_is_left_out(
    path, tmp_path, width, monkeypatch, is_removed
):
    picture = path / "pictures" / f"{'0' * 32}.jpg"
    with CodeFolder.open(path, writable=True) as folder:
        sent = Item("sent", image=str(picture))
        folder.add([sent], random_codes(1), random_vectors(1, width))

        def lose(folder_, staging):
            if is_removed and folder.items(["sent"]) != [None]:
                folder.remove(["sent"])
            copy_files(folder_, staging)

        copy_files = backup._copy_files
        monkeypatch.setattr(backup, "_copy_files", lose)
        items = backup_folder(path, tmp_path / "copy")
    assert items == (129 if is_removed else 130)
    wrong = [problem.file for problem in verify_folder(tmp_path / "copy").problems]
    assert wrong == ([] if is_removed else [f"pictures/{picture.name}"])


def test_a_copy_replaces_nothing(path, tmp_path):
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "file").touch()
    with pytest.raises(IndexFolderError, match="already exists"):
        backup_folder(path, tmp_path / "copy")


def test_a_copy_of_a_copy_opens_where_the_first_is_gone(path, tmp_path):
    backup_folder(path, tmp_path / "one")
    before = contents(path)
    shutil.rmtree(path)
    backup_folder(tmp_path / "one", tmp_path / "two")
    assert contents(tmp_path / "two") == before
