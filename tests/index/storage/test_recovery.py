"""The catalogue follows the log: replayed, or made again, when an index is opened."""

import shutil
import sqlite3
from pathlib import Path

import pytest
from tests.index.store_samples import random_codes, sample_items, upload_picture

from fdch.errors import DamagedIndex
from fdch.index.storage.catalogue import recovery
from fdch.index.storage.files.layout import CATALOGUE, CHECK, LOG, WAL
from fdch.index.storage.folder import CodeFolder
from fdch.index.storage.maintenance.backup import backup_folder
from fdch.index.storage.maintenance.verification import verify_folder
from fdch.index.store import Condition, Item


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "index"
    with CodeFolder.create(path, 32, "model") as folder:
        folder.add(sample_items(300), random_codes(300))
        folder.add_numbered(random_codes(20, seed=2))
        folder.remove(["item 3", "305"])
        folder.add(sample_items(5), random_codes(5, seed=4))
    return path


def contents(path):
    with CodeFolder.open(path) as folder:
        answers = folder.search(random_codes(1), radius=32)
        red = folder.search(
            random_codes(1), radius=32, where=[Condition("colour", "=", ("red",))]
        )
        return answers[0].items, answers[0].codes.packed.tolist(), red[0].ids


def test_a_deleted_catalogue_is_made_again(path):
    before = contents(path)
    for name in (CATALOGUE, CHECK):
        (path / name).unlink(missing_ok=True)
        assert contents(path) == before
        assert verify_folder(path).is_clean


@pytest.mark.parametrize("content", [b"", b"hello", b"SQLite format 3\0", bytes(9999)])
def test_what_is_no_catalogue_is_replaced(path, content):
    before = contents(path)
    (path / CATALOGUE).write_bytes(content)
    assert not verify_folder(path).is_clean
    assert contents(path) == before
    assert verify_folder(path).is_clean


@pytest.mark.parametrize(
    "change",
    [
        "CREATE TRIGGER t AFTER INSERT ON items BEGIN SELECT 1; END",
        "CREATE VIEW v AS SELECT 1",
        "DROP TABLE cells",
        "DELETE FROM state",
        "UPDATE state SET content = replace(content, 'items', 'itemz')",
        "UPDATE state SET uid = x'00'",
    ],
)
def test_a_catalogue_that_is_not_ours_is_replaced(path, change):
    before = contents(path)
    forge(path, change)
    assert not verify_folder(path).is_clean
    assert contents(path) == before
    assert verify_folder(path).is_clean


def forge(path, change):
    connection = sqlite3.connect(path / CATALOGUE)
    with connection:
        connection.execute(change)
    connection.close()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE cells SET numbers = substr(numbers, 9)",
        "UPDATE items SET content = 'x' WHERE number = 100",
        "DELETE FROM items WHERE number = 100",
        "DELETE FROM records WHERE kind = 'R'",
        "UPDATE records SET payload = x'00' WHERE kind = 'N'",
        "UPDATE columns SET name = 'other' WHERE name = 'colour'",
    ],
)
def test_a_changed_catalogue_is_noticed_by_a_search(path, change):
    forge(path, change)
    with pytest.raises(DamagedIndex, match="index repair"):
        contents(path)
    assert not verify_folder(path).is_clean


def test_a_flip_in_the_codes_or_the_model_is_noticed_by_a_search(path):
    file = path / "codes" / "00000000.rows"
    content = bytearray(file.read_bytes())
    content[500] ^= 1
    file.write_bytes(content)
    with pytest.raises(
        DamagedIndex, match=r"rows 0 to 324: their checksums do not match"
    ):
        contents(path)


def test_the_tail_of_the_log_is_replayed(path, tmp_path):
    old = shutil.copytree(path, tmp_path / "old")
    with CodeFolder.open(path, writable=True) as folder:
        folder.add([Item("new")], random_codes(1, seed=9))
        folder.remove(["item 7"])
    before = contents(path)
    for name in (CATALOGUE, CHECK):  # as if a power cut had taken what SQLite wrote
        shutil.copyfile(old / name, path / name)
    assert contents(path) == before
    assert verify_folder(path).is_clean


def test_an_unfinished_change_is_cut_off(path):
    before, size = contents(path), (path / LOG).stat().st_size
    with (path / LOG).open("ab") as file:
        file.write(b"half a record")
    assert verify_folder(path).is_clean
    assert contents(path) == before
    assert (path / LOG).stat().st_size == size


def test_a_log_that_ends_too_soon_is_damage(path):
    whole = (path / LOG).read_bytes()
    (path / LOG).write_bytes(whole[:-20])
    with pytest.raises(DamagedIndex, match="acknowledged"):
        CodeFolder.open(path)
    (path / CATALOGUE).unlink()
    with pytest.raises(DamagedIndex, match="acknowledged"):
        CodeFolder.open(path)
    assert not (path / CATALOGUE).exists()


def test_opening_an_equal_catalogue_replays_nothing(path, monkeypatch):
    def fail(*args):
        raise AssertionError("replayed")

    monkeypatch.setattr(recovery, "rebuild_catalogue", fail)
    monkeypatch.setattr(recovery, "_replay_tail", fail)
    with CodeFolder.open(path, writable=True) as folder:
        assert len(folder) == 319
    with CodeFolder.open(path) as folder:
        assert len(folder) == 319


def test_a_reader_beside_a_writer_sees_each_commit(path):
    with CodeFolder.open(path, writable=True) as writer:
        writer.add([Item("new")], random_codes(1))
        with CodeFolder.open(path) as reader:
            assert len(reader) == 320
            writer.compact()
            writer.remove(["new"])
            assert len(reader) == 319


def test_a_stale_write_ahead_log_is_never_applied_to_a_new_catalogue(path, tmp_path):
    with CodeFolder.open(path, writable=True) as folder:
        folder.add([Item("new")], random_codes(1))
        left = shutil.copytree(path, tmp_path / "left")
    assert (left / WAL).stat().st_size
    (left / CHECK).unlink()
    assert contents(left) == contents(path)
    assert verify_folder(left).is_clean


def upload(path):
    """Make an index with one uploaded picture; return its name."""
    with CodeFolder.create(path, 32, "model") as folder:
        picture = upload_picture(path, "sent", b"a picture")
        folder.add([Item("sent", image=picture)], random_codes(1))
    return Path(picture).name


def require_verified_picture(path, name):
    assert verify_folder(path).is_clean
    picture = path / "pictures" / name
    picture.write_bytes(b"another")
    (problem,) = verify_folder(path).problems
    assert str(problem) == f"pictures/{name}: its checksum does not match"
    picture.unlink()
    (problem,) = verify_folder(path).problems
    assert str(problem) == f"pictures/{name}: it is missing"


@pytest.mark.parametrize("way", ["copy", "move", "backup", "restored backup"])
def test_uploaded_pictures_are_verified_wherever_the_index_is(tmp_path, way):
    path, here = tmp_path / "index", tmp_path / "here"
    name = upload(path)
    if way == "copy":
        shutil.copytree(path, here)
    elif way == "move":
        path.rename(here)
    else:
        backup_folder(path, here)
    if way == "restored backup":
        shutil.rmtree(path)
        here.rename(path)
        here = path
    require_verified_picture(here, name)
    if here != path and path.exists():
        require_verified_picture(path, name)


def test_pictures_outside_the_index_are_not_verified(tmp_path):
    name = upload(tmp_path / "index")
    uploads = (tmp_path / "index" / "pictures").rename(tmp_path / "pictures")
    elsewhere = tmp_path / "index" / "pictures"
    elsewhere.mkdir()
    (elsewhere / name).write_bytes(b"indexed by another index")
    path = tmp_path / "other"
    with CodeFolder.create(path, 32, "model") as folder:
        kept, indexed = Item("sent", image=str(uploads / name)), str(elsewhere / name)
        folder.add([kept, Item("a", image=indexed)], random_codes(2))
    assert verify_folder(path).is_clean
