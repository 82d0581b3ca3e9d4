import sqlite3

import pytest
from tests.index.store_samples import random_codes

from fdch.index.storage.folder import CodeFolder
from fdch.index.storage.layout import CATALOGUE, SEAL
from fdch.index.storage.repair import repair_folder
from fdch.index.storage.verification import verify_folder
from fdch.index.store import Item

COUNT = 4000  # several chunks of numbers


@pytest.fixture(params=["named", "running", "both"])
def path(request, tmp_path):
    """An index with gaps between numbers, and items removed since."""
    path = tmp_path / "index"
    codes = random_codes(COUNT)
    half = {"named": COUNT, "running": 0, "both": COUNT // 2}[request.param]
    with CodeFolder.create(path, 32, "model") as folder:
        folder.add([Item(f"item {i}") for i in range(half)], codes[:half])
        folder.add_numbered(codes[half:])
        names = [f"item {i}" if i < half else str(i) for i in range(COUNT)]
        folder.remove(names[::9])
        folder.compact()
        folder.remove(names[1::50])
    return path


def numbers_of(path):
    (file,) = (path / "codes").glob("*.numbers")
    return file


def contents(path):
    with CodeFolder.open(path) as folder:
        ids = folder.within(random_codes(1), 32)[0].ids
        return dict(zip(ids, folder.codes(ids).packed.tolist(), strict=True))


def wound(file, *places):
    content = bytearray(file.read_bytes())
    for place in places:
        content[place] ^= 0x55
    file.write_bytes(content)


@pytest.mark.parametrize("width", [2, 40])
def test_damaged_numbers_are_found_again(path, width):
    before, file = contents(path), numbers_of(path)
    written = file.read_bytes()
    wound(file, *range(64 + 400, 64 + 400 + width), 64 + 4096 + 800, 64 + 4096 + 1800)
    done = repair_folder(path)
    chunks = [f"codes/{file.name}, chunk {chunk}" for chunk in (0, 1)]
    assert (done.restored, done.lost, done.unnamed) == (chunks, [], [])
    assert file.read_bytes() == written
    assert contents(path) == before
    assert not done.left


def test_numbers_that_are_not_proven_cost_the_items_around_them(path):
    before, file = contents(path), numbers_of(path)
    wound(file, *range(64 + 4096, 64 + 8192))
    connection = sqlite3.connect(path / CATALOGUE)
    with connection:
        connection.execute(
            "UPDATE chunks SET digest = x'00' WHERE kind = 'numbers' AND chunk = 1"
        )
    connection.close()
    (path / SEAL).unlink()
    done = repair_folder(path)
    after = contents(path)
    assert set(before) - set(after) <= set(done.lost)
    assert set(after) == set(before) - set(done.lost)
    assert all(after[id] == before[id] for id in after)
    assert done.items == len(after) > 2000
    assert not done.left
    again = repair_folder(path)
    assert (again.restored, again.lost, again.unnamed) == ([], [], [])
    with CodeFolder.open(path, writable=True) as folder:
        folder.compact()
    assert contents(path) == after
    assert verify_folder(path).is_clean
