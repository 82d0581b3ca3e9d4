"""Readers that may not write in a folder see every commit, and each one whole."""

import shutil
import sqlite3
import subprocess
import tempfile
from pathlib import Path

import pytest
from tests.index.storage.unprivileged import as_nobody, followed_by_nobody
from tests.index.store_samples import random_codes, sample_items

from fdch.errors import DamagedIndex, IndexBusy
from fdch.index.storage.catalogue.catalogue import Catalogue
from fdch.index.storage.files.layout import WAL
from fdch.index.storage.folder import CodeFolder
from fdch.index.storage.maintenance.verification import verify_folder
from fdch.index.storage.snapshot import load_snapshot
from fdch.index.store import Item


@pytest.fixture
def path():
    """An index where other users may look, and not write."""
    place = Path(tempfile.mkdtemp())
    place.chmod(0o755)
    with CodeFolder.create(place / "index", 32, "model") as folder:
        folder.add(sample_items(3), random_codes(3))
    subprocess.run(["chmod", "-R", "go+rX,go-w", str(place)], check=True)
    yield place / "index"
    shutil.rmtree(place)


def add(folder, name):
    folder.add([Item(name, text="x" * 5000)], random_codes(1))


def test_a_reader_follows_writers_that_come_and_go(path):
    with followed_by_nobody(path) as count:
        assert count() == "3 3"
        with CodeFolder.open(path, writable=True) as writer:
            assert count() == "3 3"
            add(writer, "new 1")
            assert count() == "4 4"
            add(writer, "new 2")
            writer.remove(["item 1"])
            assert count() == "4 4"
            writer.compact()
            assert count() == "4 4"
        assert count() == "4 4"
        with CodeFolder.open(path, writable=True) as writer:
            add(writer, "new 3")
            writer._access.checkpoint()
            assert count() == "5 5"
            add(writer, "new 4")
            assert count() == "6 6"
    assert verify_folder(path).is_clean


def test_a_reader_that_looks_after_the_writer_sees_what_it_did(path):
    with followed_by_nobody(path) as count:
        assert count() == "3 3"
        for expected in ("4 4", "5 5"):
            with CodeFolder.open(path, writable=True) as writer:
                add(writer, f"new {expected}")
            assert count() == expected
    assert as_nobody(path, "read") == "5 1"


def test_a_log_that_was_left_is_read_too(path):
    with CodeFolder.open(path, writable=True) as writer:
        with followed_by_nobody(path) as count:
            add(writer, "new")
            assert count() == "4 4"
        add(writer, "another")
        left = shutil.copytree(path, path.with_name("left"))  # as a kill leaves it
    assert (left / WAL).stat().st_size
    assert as_nobody(left, "read") == "5 1"


@pytest.fixture
def unlocked(path, monkeypatch):
    """A reader in this process that had to do without locks."""
    connected = Catalogue._connect

    def may_not_write(self, mode, still=None):
        if still is None:
            problem = sqlite3.OperationalError("unable to open database file")
            problem.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
            raise problem
        return connected(self, mode, still)

    with monkeypatch.context() as patch:
        patch.setattr(Catalogue, "_connect", may_not_write)
        folder = CodeFolder.open(path)
    with folder:
        yield folder


def test_what_was_read_of_two_commits_is_refused(path, unlocked):
    assert len(unlocked) == 3
    with (
        CodeFolder.open(path, writable=True) as writer,
        pytest.raises(IndexBusy, match=r"was written while .* Try again"),
        unlocked._access.reading() as view,
    ):
        add(writer, "new")
        assert view.items == 3  # as of the commit that it began with
        writer._access.checkpoint()
    assert len(unlocked) == 4


def test_a_torn_state_is_no_damage(path, unlocked):
    with (
        CodeFolder.open(path, writable=True) as writer,
        pytest.raises(IndexBusy, match="was written while"),
        unlocked._access.reading(),
    ):
        add(writer, "new")
        writer._access.checkpoint()
        raise DamagedIndex("so it seemed")


def test_a_torn_snapshot_is_not_kept(path, unlocked, monkeypatch):
    with CodeFolder.open(path, writable=True) as writer:

        def settled_meanwhile(*args):
            monkeypatch.undo()
            found = load_snapshot(*args)
            add(writer, "new")
            writer._access.checkpoint()
            return found

        monkeypatch.setattr(
            "fdch.index.storage.access.load_snapshot", settled_meanwhile
        )
        with pytest.raises(IndexBusy):
            len(unlocked)
    assert unlocked._access._snapshot is None


def test_a_commit_during_a_read_does_not_disturb_it(path, unlocked):
    with (
        CodeFolder.open(path, writable=True) as writer,
        unlocked._access.reading() as view,
    ):
        add(writer, "new")
        assert view.items == 3


def test_a_busy_file_is_not_read_without_locks(path, monkeypatch):
    tries = []

    def busy(self, mode, still=None):
        tries.append(still)
        problem = sqlite3.OperationalError("database is locked")
        problem.sqlite_errorcode = sqlite3.SQLITE_BUSY
        raise problem

    monkeypatch.setattr(Catalogue, "_connect", busy)
    with pytest.raises(IndexBusy):
        CodeFolder.open(path)
    assert tries == [None]
