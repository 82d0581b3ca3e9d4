"""A fault of the machine is reported as such, and changes nothing."""

import errno
import sqlite3

import pytest
from tests.index.store_samples import random_codes, sample_items

from fdch.errors import IndexFolderError
from fdch.index.storage.files.layout import is_damage
from fdch.index.storage.folder import CodeFolder
from fdch.index.storage.maintenance.repair import repair_folder
from fdch.index.storage.maintenance.verification import verify_folder


@pytest.fixture
def path(tmp_path):
    with CodeFolder.create(tmp_path / "index", 32, "model") as folder:
        folder.add(sample_items(50), random_codes(50))
    return tmp_path / "index"


def files(path):
    return {
        file.name: file.read_bytes()
        for file in path.rglob("*")
        if file.is_file() and not file.name.endswith(("-shm", "-wal"))
    }


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (MemoryError(), MemoryError),
        (ImportError("no such library"), ImportError),
        (OSError(errno.EMFILE, "too many open files"), IndexFolderError),
    ],
)
@pytest.mark.parametrize("act", [verify_folder, repair_folder])
def test_a_fault_is_no_damage(path, monkeypatch, act, problem, expected):
    def fail(*args):
        raise problem

    before = files(path)
    module = "fdch.index.storage.maintenance.verification"
    monkeypatch.setattr(f"{module}.check_problem", fail)
    with pytest.raises(expected):
        act(path)
    assert files(path) == before
    assert not (path / "damaged").exists()
    monkeypatch.undo()
    assert verify_folder(path).is_clean


def test_what_cannot_be_read_is_damage():
    assert is_damage(FileNotFoundError(errno.ENOENT, "gone"))
    assert is_damage(OSError(errno.EIO, "a bad sector"))
    assert is_damage(sqlite3.DatabaseError("database disk image is malformed"))
    assert is_damage(ValueError("a number is wrong"))
    assert not is_damage(OSError(errno.ENOSPC, "the disk is full"))
