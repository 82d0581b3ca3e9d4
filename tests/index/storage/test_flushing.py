"""What is committed is flushed, by the calls that a system has for it."""

import errno
import fcntl
import os

import pytest
from tests.index.store_samples import random_codes, sample_items

from fdch.index.storage.files.acknowledged import read_acknowledged
from fdch.index.storage.files.layout import CHECK
from fdch.index.storage.folder import CodeFolder
from fdch.index.storage.maintenance.verification import verify_folder

FULLY = 51  # what macOS calls F_FULLFSYNC


def commit(path):
    with CodeFolder.create(path, 32, "model") as folder:
        folder.add(sample_items(30), random_codes(30))
        folder.remove(["item 3"])
        folder.compact()
    latest, _ = read_acknowledged(path)
    assert latest is not None
    assert latest.commit == 3
    assert verify_folder(path).is_clean


@pytest.fixture
def flushed(monkeypatch):
    """A system like macOS; gives which calls flushed what."""
    calls = []
    fsync = os.fsync

    def record(handle):
        calls.append(("fsync", handle))
        fsync(handle)

    monkeypatch.delattr(os, "fdatasync", raising=False)
    monkeypatch.setattr(os, "fsync", record)
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", FULLY, raising=False)
    return calls


def test_the_drives_cache_is_flushed_where_that_is_possible(
    tmp_path, flushed, monkeypatch
):
    def control(handle, command, *rest):
        assert command == FULLY
        flushed.append(("fully", handle))
        return 0

    monkeypatch.setattr(fcntl, "fcntl", control)
    commit(tmp_path / "index")
    assert len(flushed) > 10
    assert {call for call, _ in flushed} == {"fully"}


def test_a_disk_without_such_a_call_is_flushed_as_others_are(
    tmp_path, flushed, monkeypatch
):
    def control(handle, command, *rest):
        raise OSError(errno.ENOTSUP, "not supported")

    monkeypatch.setattr(fcntl, "fcntl", control)
    commit(tmp_path / "index")
    assert len(flushed) > 10
    assert {call for call, _ in flushed} == {"fsync"}


def test_a_catalogue_that_did_not_change_is_not_hashed_again(tmp_path):
    path = tmp_path / "index"
    commit(path)
    before = (path / CHECK).stat()
    with CodeFolder.open(path, writable=True):
        pass
    after = (path / CHECK).stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    content = (path / CHECK).read_bytes()
    with CodeFolder.open(path, writable=True) as folder:
        folder.remove(["item 4"])
    assert (path / CHECK).read_bytes() != content
    assert verify_folder(path).is_clean
