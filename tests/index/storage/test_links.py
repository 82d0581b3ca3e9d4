"""Folders made by others: a link in them destroys nothing that it leads to."""

import pytest
from tests.index.store_samples import random_codes

from fdch.errors import IndexFolderError
from fdch.index.storage.files.acknowledged import Acknowledged, acknowledge
from fdch.index.storage.files.layout import write_durably
from fdch.index.storage.files.locking import WriterLock
from fdch.index.storage.folder import CodeFolder
from fdch.index.storage.maintenance.repair import repair_folder
from fdch.index.storage.maintenance.verification import verify_folder
from fdch.index.store import Item

ROWS = "codes/00000000.rows"


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "index"
    with CodeFolder.create(path, 32, "model") as folder:
        folder.add([Item(f"item {i}") for i in range(100)], random_codes(100))
    return path


def write_to(path):
    with CodeFolder.open(path, writable=True) as folder:
        folder.add([Item("more")], random_codes(1))
        folder.compact()


@pytest.mark.parametrize("act", [write_to, verify_folder, repair_folder])
@pytest.mark.parametrize(
    "name",
    [
        "writer.lock",
        "acknowledged",
        "acknowledged.partial",
        "items.log",
        "items.log.partial",
        "catalogue.sqlite",
        "catalogue.sqlite-wal",
        "catalogue.sqlite-shm",
        "catalogue.check",
        "catalogue.check.partial",
        ROWS,
        "codes/00000001.rows",
        "codes/00000001.buckets",
    ],
)
def test_a_link_in_an_index_is_refused_and_not_followed(path, tmp_path, name, act):
    victim = tmp_path / "victim"
    link = path / name
    written = link.read_bytes() if link.exists() else b""
    victim.write_bytes(written + b"precious" * 1000)
    before = victim.read_bytes()
    link.unlink(missing_ok=True)
    link.symlink_to(victim)
    with pytest.raises(IndexFolderError, match="is a link or device"):
        act(path)
    assert victim.read_bytes() == before
    assert link.is_symlink()


def test_a_folder_that_is_a_link_is_refused(path, tmp_path):
    (path / "codes").rename(tmp_path / "codes")
    (path / "codes").symlink_to(tmp_path / "codes")
    with pytest.raises(IndexFolderError, match="is a link or device"):
        write_to(path)


def test_nothing_is_written_through_a_link(tmp_path):
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    for name in ("acknowledged", "writer.lock", "seal.partial"):
        (tmp_path / name).symlink_to(victim)
    with pytest.raises(OSError, match="symbolic links"):
        acknowledge(tmp_path, Acknowledged(1, 1, 1, bytes(16)))
    with pytest.raises(OSError, match="symbolic links"):
        WriterLock(tmp_path)
    write_durably(tmp_path / "seal", b"sealed")
    assert (tmp_path / "seal").read_bytes() == b"sealed"
    assert victim.read_bytes() == b"precious"


def test_a_file_of_another_kind_is_not_cut(path):
    (path / ROWS).write_bytes(b"precious" * 1000)
    with pytest.raises(IndexFolderError, match="has the wrong header"):
        CodeFolder.open(path, writable=True)
    assert (path / ROWS).read_bytes() == b"precious" * 1000
