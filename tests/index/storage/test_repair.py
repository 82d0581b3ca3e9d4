import random
import re
import shutil

import numpy as np
import pytest
from tests.index.store_samples import random_codes, sample_items

from fdch.codes import Codes
from fdch.errors import DamagedIndex
from fdch.index.storage.files.layout import ACKNOWLEDGED, CATALOGUE, CHECK, LOG, WAL
from fdch.index.storage.folder import CodeFolder
from fdch.index.storage.maintenance.repair import repair_folder
from fdch.index.storage.maintenance.verification import verify_folder
from fdch.index.store import Item

COUNT = 2500  # several chunks of codes


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """An index with named items, running numbers, gaps and removed rows."""
    path = tmp_path_factory.mktemp("sound") / "index"
    with CodeFolder.create(path, 32, "model") as folder:
        folder.add(sample_items(COUNT), random_codes(COUNT))
        folder.add_numbered(random_codes(500, seed=2))
        folder.remove([f"item {i}" for i in range(0, 100, 7)])
        folder.compact()
        folder.add(sample_items(50, COUNT), random_codes(50, seed=3))
        folder.remove(["item 1", str(COUNT + 3)])
    return path


@pytest.fixture
def path(sound, tmp_path):
    return shutil.copytree(sound, tmp_path / "index")


def contents(path):
    with CodeFolder.open(path) as folder:
        ids = folder.search(random_codes(1), radius=32)[0].ids
        codes = folder.fetch(ids).codes.packed.tolist()
        return dict(zip(ids, zip(folder.items(ids), codes, strict=True), strict=True))


def damage(file, place, content):
    with file.open("r+b") as opened:
        opened.seek(place)
        opened.write(content)


def flip(file, place, mask=16):
    damage(file, place, bytes([file.read_bytes()[place] ^ mask]))


def rows_files(path):
    return sorted((path / "codes").glob("*.rows"))


def require_rest_kept(path, sound, done):
    """All that is not named as lost is unchanged, and nothing else is there."""
    before, after = contents(sound), contents(path)
    assert set(after) == set(before) - set(done.lost)
    assert all(after[id] == before[id] for id in after)
    assert done.items == len(after)
    assert not done.left
    with CodeFolder.open(path, writable=True) as folder:
        folder.add([Item("more")], random_codes(1))
        folder.compact()
    assert verify_folder(path).is_clean


def test_a_sound_index_stays_as_it_is(path, sound):
    done = repair_folder(path)
    assert (done.restored, done.lost, done.unnamed) == ([], [], [])
    require_rest_kept(path, sound, done)


@pytest.mark.parametrize("name", [".numbers", CATALOGUE, LOG, ACKNOWLEDGED, CHECK])
@pytest.mark.parametrize("part", [0.0, 0.1, 0.5, 0.9])
def test_a_flipped_bit_is_restored_and_nothing_lost(path, sound, name, part):
    if name == ".numbers":
        (file,) = (path / "codes").glob("*.numbers")
    else:
        file = path / name
    flip(file, int(file.stat().st_size * part))
    assert not verify_folder(path).is_clean
    done = repair_folder(path)
    assert done.restored
    assert not done.lost
    assert not done.unnamed
    require_rest_kept(path, sound, done)
    assert (path / "damaged").is_dir()


def test_damaged_rows_are_named_and_all_others_kept(path, sound):
    damage(rows_files(path)[0], 64 + 4096 + 100, b"damaged rows")
    done = repair_folder(path)
    assert len(done.lost) == 1024
    assert "item 1100" in done.lost
    require_rest_kept(path, sound, done)


def test_damaged_rows_are_encoded_again_where_that_proves_right(path, sound):
    before = contents(sound)

    def encode(items):
        packed = np.array([before[item.id][1] for item in items], np.uint8)
        return Codes(packed, 32), None

    damage(rows_files(path)[0], 64 + 4096 + 100, b"damaged rows")
    done = repair_folder(path, encode)
    assert not done.lost
    assert "rows 1024 to 2047 encoded" in done.restored[0]
    require_rest_kept(path, sound, done)


def test_codes_that_a_model_makes_otherwise_are_not_taken(path, sound):
    damage(rows_files(path)[0], 64 + 4096 + 100, b"damaged rows")
    done = repair_folder(path, lambda items: (random_codes(len(items), seed=99), None))
    assert len(done.lost) == 1024
    require_rest_kept(path, sound, done)


@pytest.mark.parametrize("name", [LOG, CATALOGUE])
def test_one_copy_is_enough(path, sound, name):
    (path / name).unlink()
    done = repair_folder(path)
    assert not done.lost
    assert not done.unnamed
    require_rest_kept(path, sound, done)


def test_what_one_copy_lost_is_taken_from_the_other(path, sound):
    size = (path / LOG).stat().st_size
    damage(path / LOG, size // 3, bytes(5000))
    pages = (path / CATALOGUE).stat().st_size // 4096
    damage(path / CATALOGUE, (pages - 2) * 4096, bytes(4096))
    done = repair_folder(path)
    require_rest_kept(path, sound, done)
    assert len(done.lost) + len(done.unnamed) < 60


@pytest.mark.parametrize("is_cut", [False, True])
def test_intact_pages_of_the_catalogue_are_read_where_the_log_is_gone(
    path, sound, is_cut
):
    """Between two damaged pages, too, and in a file that is cut short."""
    (path / LOG).unlink()
    content = bytearray((path / CATALOGUE).read_bytes())
    pages = {content.index(f'item {i}["'.encode()) // 4096 for i in (700, 1900)}
    if is_cut:
        pages = {len(content) // 4096 - 1}
    places = [range(page * 4096, (page + 1) * 4096) for page in pages]
    found = re.finditer(rb'(item \d+|more)\["', content)
    damaged = {m[1].decode() for m in found if any(m.start() in p for p in places)}
    for place in places:
        content[place.start : place.stop] = bytes(0 if is_cut else 4096)
    (path / CATALOGUE).write_bytes(content)
    before = set(contents(sound))
    done = repair_folder(path)
    assert before - set(contents(path)) <= damaged
    assert len(done.unnamed) <= len(damaged)


def test_a_cut_and_a_missing_file_lose_their_rows_only(path, sound):
    first, second = rows_files(path)
    with first.open("r+b") as file:
        file.truncate(64 + 4096)
    second.unlink()
    done = repair_folder(path)
    assert f"item {COUNT}" in done.lost
    assert str(COUNT + 100) in done.lost
    assert "item 9" not in done.lost
    require_rest_kept(path, sound, done)


def test_swapped_files_are_put_back(path, sound):
    first, second = rows_files(path)
    first.rename(path / "x")
    second.rename(first)
    (path / "x").rename(second)
    assert not verify_folder(path).is_clean
    done = repair_folder(path)
    assert len(done.restored) == 2
    assert not done.lost
    require_rest_kept(path, sound, done)


@pytest.mark.parametrize(
    "seed",
    [*range(5), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(5, 60))],
)
def test_no_random_damage_brings_back_anything_wrong(path, sound, seed):
    """Damage of any size, anywhere: what is kept is right, what is lost is named."""
    rng = random.Random(seed)
    (path / f"{CATALOGUE}-shm").unlink(missing_ok=True)  # made again on opening
    files = sorted(file for file in path.rglob("*") if file.is_file())
    for _ in range(rng.randint(1, 4)):
        file = rng.choice([file for file in files if file.stat().st_size])
        place = rng.randrange(file.stat().st_size)
        length = min(rng.choice([1, 7, 300, 9000]), file.stat().st_size - place)
        written = file.read_bytes()[place : place + length]
        noise = bytes(byte ^ rng.randint(1, 255) for byte in written)
        damage(file, place, noise)
    assert not verify_folder(path).is_clean
    try:
        done = repair_folder(path)
    except DamagedIndex as problem:
        assert "cannot be repaired" in str(problem)
        return
    before, after = contents(sound), contents(path)
    assert all(after[id] == before[id] for id in after if id in before)
    assert len(done.lost) + len(done.unnamed) >= len(set(before) - set(after))
    assert not done.left


def test_an_index_without_log_and_catalogue_is_beyond_repair(path):
    (path / LOG).unlink()
    damage(path / CATALOGUE, 0, b"\xff" * 8192)
    with pytest.raises(DamagedIndex, match=r"cannot be repaired.*from a copy"):
        repair_folder(path)


@pytest.fixture
def killed(path, tmp_path):
    return leave_killed(path, tmp_path / "left")


def leave_killed(path, left):
    """Copy an index as a writer leaves it that is killed."""
    with CodeFolder.open(path, writable=True) as folder:
        for name in ("late 1", "late 2", "late 3"):
            folder.add([Item(name, text="x" * 5000)], random_codes(1, seed=5))
        shutil.copytree(path, left)
    (left / f"{CATALOGUE}-shm").unlink()
    return left


@pytest.mark.slow
@pytest.mark.parametrize("name", [LOG, ACKNOWLEDGED, WAL, "codes/*.rows"])
def test_no_flipped_bit_of_a_header_costs_an_item(tmp_path, name):
    with CodeFolder.create(tmp_path / "index", 32, "model") as folder:
        folder.add(sample_items(30), random_codes(30))
        folder.add_numbered(random_codes(20, seed=2))
        folder.remove(["item 3", "35"])
    killed = leave_killed(tmp_path / "index", tmp_path / "left")
    before = contents(shutil.copytree(killed, tmp_path / "whole"))
    for bit in range(8 * min(64, next(killed.glob(name)).stat().st_size)):
        path = shutil.copytree(killed, tmp_path / "copy")
        flip(next(path.glob(name)), bit // 8, 1 << bit % 8)
        clean = verify_folder(path).is_clean
        done = repair_folder(path)
        assert not (done.lost or done.unnamed or done.left), bit
        assert contents(path) == before, bit
        assert clean or (path / "damaged").is_dir(), bit
        shutil.rmtree(path)


@pytest.mark.parametrize("part", [0.0005, 0.01, 0.2, 0.5, 0.8, 0.99])
def test_damage_of_the_write_ahead_log_costs_nothing(killed, tmp_path, part):
    before = contents(shutil.copytree(killed, tmp_path / "copy"))
    flip(killed / WAL, int((killed / WAL).stat().st_size * part))
    assert contents(killed) == before
    assert verify_folder(killed).is_clean


def test_a_reader_that_stayed_open_sees_what_the_repair_left(tmp_path):
    path = tmp_path / "index"
    with CodeFolder.create(path, 32, "model") as folder:
        folder.add_numbered(random_codes(100))
        folder.remove([str(i) for i in range(0, 100, 7)])
        folder.compact()
        folder.add(sample_items(5), random_codes(5))
        folder.remove(["1", "2", "50"])
        folder.remove(["97", "99"])
    with CodeFolder.open(path) as reader:
        assert len(all_ids(reader)) == len(reader) == 85
        (numbers,) = (path / "codes").glob("*.numbers")
        numbers.unlink()
        repair_folder(path)
        require_same(reader, path)
        with CodeFolder.open(path, writable=True) as folder:
            folder.remove(["item 3"])
        require_same(reader, path)


def require_same(reader, path):
    with CodeFolder.open(path) as fresh:
        assert all_ids(reader) == all_ids(fresh)
        assert len(all_ids(reader)) == len(reader)


def all_ids(folder):
    return [item.id for batch in folder.batches(1000) for item in batch.items]
