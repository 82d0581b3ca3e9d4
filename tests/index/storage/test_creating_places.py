"""Where an index can be made, and what is said where it cannot."""

import errno
import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.index.storage.unprivileged import as_nobody

from fdch.errors import IndexFolderError
from fdch.index.storage.files.layout import make_folders
from fdch.index.storage.folder import CodeFolder


@contextmanager
def mounted(place, *options):
    command = ["mount", *options, str(place)]
    if (
        shutil.which("mount") is None
        or subprocess.run(command, capture_output=True, check=False).returncode
    ):
        pytest.skip("no file system can be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", str(place)], check=True)


def refusal(path, model="model"):
    with pytest.raises(IndexFolderError) as refused:
        CodeFolder.create(path, 32, model)
    return str(refused.value)


def test_a_mount_point_is_reported_before_any_work(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    with mounted(disk, "-t", "tmpfs", "tmpfs"):
        assert (
            f"'{disk}': Device or resource busy; a mount point is no index. Name "
            in (refusal(disk, pytest.fail))
        )
        (disk / "lost+found").mkdir()
        assert "a mount point is no index" in refusal(disk)
        CodeFolder.create(disk / "catalogue.index", 32, "model").close()
    assert [path.name for path in tmp_path.iterdir()] == ["disk"]


def test_a_mount_of_the_same_disk_is_reported(tmp_path):
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    with mounted(tmp_path / "here", "--bind", str(tmp_path / "there")):
        assert "a mount point is no index" in refusal(tmp_path / "here")
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (errno.EBUSY, "a mount point is no index"),
        (errno.EXDEV, "a mount point is no index"),
        (errno.ENOTEMPTY, "already exists"),
        (errno.EIO, "disk is sound"),
    ],
)
def test_what_the_system_says_of_the_last_step_is_reported(
    tmp_path, monkeypatch, code, words
):
    def refuse(source, target):
        raise OSError(code, os.strerror(code), source, None, target)

    monkeypatch.setattr(os, "rename", refuse)
    assert words in refusal(tmp_path / "index")
    assert list(tmp_path.iterdir()) == []


def test_of_two_at_once_the_first_to_finish_stays(tmp_path):
    path = tmp_path / "index"

    def write(folder):
        folder.mkdir()
        CodeFolder.create(path, 32, "the first").close()
        return "the second"

    assert "already exists" in refusal(path, write)
    with CodeFolder.open(path) as folder:
        assert folder.model == "the first"
    assert [file.name for file in tmp_path.iterdir()] == ["index"]


def test_a_parent_that_may_not_be_written_is_reported():
    with tempfile.TemporaryDirectory() as place:
        parent = Path(place)
        parent.chmod(0o555)
        for name in ("index", "new/index"):
            said = as_nobody(parent / name, "create")
            assert said.startswith("IndexFolderError")
            assert f"Permission denied ('{parent}')" in said
        parent.chmod(0o755)


def test_every_new_folder_is_in_one_that_was_synced(tmp_path, monkeypatch):
    synced: list[Path] = []
    monkeypatch.setattr("fdch.index.storage.files.layout.sync_folder", synced.append)
    make_folders(tmp_path / "new" / "deep")
    assert (tmp_path / "new" / "deep").is_dir()
    assert synced == [tmp_path, tmp_path / "new"]
    make_folders(tmp_path / "new" / "deep")
    assert len(synced) == 2
    CodeFolder.create(tmp_path / "more" / "deep" / "x.index", 32, "model").close()
    assert {tmp_path, tmp_path / "more"} <= set(synced[2:])
