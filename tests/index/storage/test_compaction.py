import threading
from pathlib import Path

import numpy as np
import pytest
from tests.index.store_samples import random_codes, sample_items

from fdch.codes import Codes, hamming_distances
from fdch.index.storage.folder import CodeFolder
from fdch.index.storage.maintenance.verification import verify_folder
from fdch.index.store import Item

MANY = 40_000


def clustered_codes(count, bits=64, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.random((40, bits)) < 0.5
    flips = rng.random((count, bits)) < 0.03
    return Codes(
        np.packbits(centres[rng.integers(40, size=count)] ^ flips, axis=1), bits
    )


@pytest.fixture
def large(tmp_path):
    """An index worth grouping, some of its items removed."""
    with CodeFolder.create(tmp_path / "index", 64, "model") as folder:
        folder.add_numbered(clustered_codes(MANY))
        folder.add(sample_items(50), clustered_codes(50, seed=1))
        folder.remove([str(i) for i in range(0, 20_000, 9)] + ["item 7"])
        yield folder


def answers(folder):
    queries = clustered_codes(20, seed=2)
    near = folder.search(queries, 30) + folder.search(queries, radius=3)
    return [(answer.ids, answer.distances.tolist()) for answer in near]


def kinds(folder):
    return sorted({file.suffix for file in (folder.path / "codes").iterdir()})


def test_compaction_changes_no_answer(large):
    before, size = answers(large), len(large)
    some = large.fetch(["item 3", "10", "39999"]).codes
    large.compact()
    assert answers(large) == before
    assert len(large) == size
    assert large.fetch(["item 3", "10", "39999"]).codes == some
    assert large.items(["item 7", "9", "10"])[:2] == [None, None]
    assert large.describe()["removed"] == 0
    assert large.verify().is_clean


def test_changes_after_compaction_count(large):
    large.compact()
    code = large.fetch(["10"]).codes
    assert large.search(code, 1)[0].distances.tolist() == [0]
    large.remove(["10"])
    large.add([Item("ten"), Item("12")], Codes.concatenate([code, code]))
    found = large.search(code, radius=0)[0].ids
    assert found[-2:] == ("ten", "12")
    assert "10" not in found
    before = answers(large)
    large.compact()
    large.compact()
    assert answers(large) == before
    assert large.verify().is_clean


def test_damaged_tables_cost_speed_and_no_answer(large, tmp_path, caplog):
    pytest.importorskip("numba")
    large.compact()
    before = answers(large)
    large.close()
    tables = [
        f for f in (tmp_path / "index" / "codes").iterdir() if f.suffix != ".rows"
    ]
    tables = [file for file in tables if file.suffix != ".numbers"]
    assert tables
    for file in tables:
        content = file.read_bytes()
        for damaged in (b"", content[:10], content[:-5000], b"x" + content[1:]):
            file.write_bytes(damaged)
            assert not verify_folder(tmp_path / "index").is_clean
            with CodeFolder.open(tmp_path / "index") as folder:
                assert answers(folder) == before
            assert "without its tables" in caplog.text
            caplog.clear()
        file.unlink()
        with CodeFolder.open(tmp_path / "index") as folder:
            assert answers(folder) == before
        file.write_bytes(content)


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="no /proc here")
def test_tables_take_up_memory_only_as_they_are_used(large, tmp_path):
    pytest.importorskip("numba")
    large.compact()
    large.close()
    with CodeFolder.open(tmp_path / "index") as folder:
        folder.search(clustered_codes(1, seed=2), 1)
        resident, size, is_ours = 0, 0, False
        for line in Path("/proc/self/smaps").read_text().splitlines():
            name, *rest = line.split()
            if not name.endswith(":"):
                is_ours = str(tmp_path) in line and line.endswith(".buckets")
            elif is_ours and name in ("Rss:", "Size:"):
                resident += int(rest[0]) if name == "Rss:" else 0
                size += int(rest[0]) if name == "Size:" else 0
    assert size > 0
    assert resident < size / 4


def test_a_forged_table_leads_nowhere(large, tmp_path, caplog):
    pytest.importorskip("numba")
    large.compact()
    before = answers(large)
    large.close()
    for file in (tmp_path / "index" / "codes").glob("*.grouping"):
        content = np.frombuffer(file.read_bytes(), np.uint8).copy()
        content[len(content) // 2 :] = 255
        file.write_bytes(content.tobytes())
        with CodeFolder.open(tmp_path / "index") as folder:
            assert answers(folder) == before
        assert "without its tables" in caplog.text


def test_space_is_given_back(tmp_path):
    with CodeFolder.create(tmp_path / "index", 64, "model") as folder:
        folder.add(sample_items(3000), random_codes(3000, 64))
        folder.close()
        full = sum(f.stat().st_size for f in (tmp_path / "index").rglob("*.*"))
    with CodeFolder.open(tmp_path / "index", writable=True) as folder:
        folder.remove([f"item {i}" for i in range(2900)])
        folder.compact()
    left = sum(f.stat().st_size for f in (tmp_path / "index").rglob("*.*"))
    assert left < full / 8
    assert verify_folder(tmp_path / "index").is_clean


def test_an_emptied_index_compacts_to_nothing(tmp_path):
    with CodeFolder.create(tmp_path / "index", 32, "model") as folder:
        folder.compact()
        folder.add(sample_items(5), random_codes(5))
        folder.remove([f"item {i}" for i in range(5)])
        folder.compact()
        assert not list((tmp_path / "index" / "codes").iterdir())
        assert folder.search(random_codes(1), 3)[0].ids == ()
        folder.add(sample_items(2), random_codes(2))
        assert len(folder) == 2
        assert folder.verify().is_clean


def test_readers_go_on_while_parts_are_replaced(tmp_path):
    with CodeFolder.create(tmp_path / "index", 32, "model") as folder:
        folder.add(sample_items(200), random_codes(200))
        expected = folder.search(random_codes(1), 200)[0].ids
        done, wrong = threading.Event(), []

        def read():
            with CodeFolder.open(tmp_path / "index") as reader:
                while not done.is_set():
                    if reader.search(random_codes(1), 200)[0].ids != expected:
                        wrong.append(1)
                with CodeFolder.open(tmp_path / "index") as fresh:
                    assert len(fresh) == 200

        readers = [threading.Thread(target=read) for _ in range(2)]
        for reader in readers:
            reader.start()
        try:
            for _ in range(30):
                folder.compact()
        finally:
            done.set()
            for reader in readers:
                reader.join()
        assert not wrong


@pytest.mark.parametrize("bits", [8, 24, 320, 384, 512])
def test_codes_of_any_length_are_found_before_and_after(tmp_path, bits):
    codes, queries = random_codes(2000, bits), random_codes(3, bits, seed=5)
    distances = hamming_distances(queries, codes)
    with CodeFolder.create(tmp_path / "index", bits, "model") as folder:
        folder.add_numbered(codes)
        for _ in range(2):
            for found, row in zip(folder.search(queries, 9), distances, strict=True):
                right = np.argsort(row, kind="stable")[:9]
                assert found.ids == tuple(map(str, right))
                assert found.distances.tolist() == row[right].tolist()
            radius = int(np.sort(distances[0])[20])
            [near] = folder.search(queries[:1], radius=radius)
            assert len(near.ids) == (distances[0] <= radius).sum()
            assert folder.fetch(["7", "1999"]).codes == codes[[7, 1999]]
            folder.compact()
    assert verify_folder(tmp_path / "index").is_clean
