import shutil

import pytest
from tests.index.killing import kill_at
from tests.index.store_samples import random_codes

from fdch.index.storage.folder import CodeFolder
from fdch.index.storage.repair import repair_folder
from fdch.index.storage.verification import verify_folder
from fdch.index.store import Item

COUNT = 3000  # three chunks of codes
ROWS = "codes/00000000.rows"


def items(first, last):
    return [Item(f"item {i}") for i in range(first, last)]


@pytest.fixture
def path(tmp_path):
    """An index with a copy of its rows from before the last items."""
    path = tmp_path / "index"
    codes = random_codes(COUNT)
    with CodeFolder.create(path, 32, "model") as folder:
        folder.add(items(0, 1500), codes[:1500])
    shutil.copy(path / ROWS, path / f"{ROWS}.bak")
    with CodeFolder.open(path, writable=True) as folder:
        folder.add(items(1500, COUNT), codes[1500:])
    return path


def damage(file, place, content):
    with file.open("r+b") as opened:
        opened.seek(place)
        opened.write(content)


def require_whole(path):
    ids = [item.id for item in items(0, COUNT)]
    with CodeFolder.open(path) as folder:
        assert folder.codes(ids) == random_codes(COUNT)
    assert verify_folder(path).is_clean


def test_a_copy_beside_sound_rows_is_left_where_it_is(path):
    copy = (path / f"{ROWS}.bak").read_bytes()
    done = repair_folder(path)
    assert (done.restored, done.lost, done.items) == ([], [], COUNT)
    assert (path / f"{ROWS}.bak").read_bytes() == copy
    require_whole(path)


def test_an_older_copy_does_not_replace_rows_whose_header_is_damaged(path):
    damage(path / ROWS, 10, b"damaged")
    done = repair_folder(path)
    assert done.restored == [f"{ROWS}, header"]
    assert not done.lost
    require_whole(path)


def test_of_several_copies_the_one_is_taken_that_is_as_written(path):
    shutil.copy(path / ROWS, path / f"{ROWS}.whole")
    shutil.copy(path / ROWS, path / f"{ROWS}.worse")
    damage(path / f"{ROWS}.worse", 64 + 100, b"damaged")
    (path / ROWS).unlink()
    done = repair_folder(path)
    assert done.restored == [f"{ROWS}, its name"]
    assert not done.lost
    assert (path / f"{ROWS}.worse").exists()
    require_whole(path)


def test_what_stands_in_the_way_of_a_copy_is_put_aside(path):
    whole = (path / ROWS).read_bytes()
    (path / f"{ROWS}.whole").write_bytes(whole)
    (path / ROWS).write_bytes(b"a file of somebody else")
    done = repair_folder(path)
    assert not done.lost
    aside = path / "damaged" / "00000000.rows"
    assert aside.read_bytes() == b"a file of somebody else"
    require_whole(path)


def test_a_kill_amid_repair_lets_no_damaged_code_count(path):
    damage(path / ROWS, 64 + 4096, b"damaged codes")
    kill_at(
        path,
        "import fdch.index.storage.repair as r; r._drop = die; r.repair_folder(path)",
    )
    assert not verify_folder(path).is_clean
    done = repair_folder(path)
    assert len(done.lost) == 1024
    assert "item 1024" in done.lost
    assert verify_folder(path).is_clean
