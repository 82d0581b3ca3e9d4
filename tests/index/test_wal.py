import shutil
import sqlite3
import tracemalloc

import pytest

from fdch.index.storage.layout import CATALOGUE, WAL
from fdch.index.storage.seal import Seal
from fdch.index.storage.wal import EMPTY, read_log
from fdch.index.storage.wal_mending import mends_of_log

UID = bytes(range(16))


@pytest.fixture
def logged(tmp_path):
    """A database whose log holds three commits, as a killed process leaves it."""
    live = tmp_path / "live"
    live.mkdir()
    connection = sqlite3.connect(live / CATALOGUE, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute("CREATE TABLE words (word TEXT)")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    Seal.of(live, UID, 4096).write(live)
    for word in ("one", "two", "three" * 2000):
        connection.execute("INSERT INTO words VALUES (?)", (word,))
    left = tmp_path / "left"
    shutil.copytree(live, left)
    connection.close()
    (left / f"{CATALOGUE}-shm").unlink()
    return left


def words(folder):
    connection = sqlite3.connect(folder / CATALOGUE)
    found = [len(word) for (word,) in connection.execute("SELECT word FROM words")]
    connection.close()
    return found


def test_the_whole_log_is_trusted(logged):
    log = read_log(logged / WAL)
    assert log.trusted == (logged / WAL).stat().st_size
    assert log.page_size == 4096
    assert log.pages == 4  # schema, the table, and two for the long word
    assert set(log.content) == {1, 2, 3, 4}


def test_no_log_and_a_cut_header_are_empty(tmp_path):
    assert read_log(tmp_path / "none") is EMPTY
    (tmp_path / "cut").write_bytes(b"\x37\x7f\x06\x82" * 10)
    assert read_log(tmp_path / "cut") is EMPTY


@pytest.mark.parametrize("place", range(0, 20000, 499))
def test_a_flipped_byte_ends_our_trust_where_it_ends_sqlites(
    logged, place, monkeypatch
):
    monkeypatch.setattr("fdch.index.storage.wal._BLOCK_FRAMES", 1 + place % 3)
    content = bytearray((logged / WAL).read_bytes())
    content[place] ^= 1 << place % 8
    (logged / WAL).write_bytes(content)
    commits = {0: 0, 4152: 1, 8272: 2, 20632: 3}
    assert (
        len(words(logged.parent / shutil.copytree(logged, logged.parent / "c")))
        == (commits[read_log(logged / WAL).trusted])
    )


@pytest.mark.parametrize("block", [1, 2, 3, 256])
def test_what_is_cut_off_ends_our_trust(logged, monkeypatch, block):
    monkeypatch.setattr("fdch.index.storage.wal._BLOCK_FRAMES", block)
    whole = (logged / WAL).read_bytes()
    for size, trusted in [
        (31, 0),
        (32, 0),
        (4151, 0),
        (4152, 4152),
        (8271, 4152),
        (8273, 8272),
        (16512, 8272),
        (len(whole) - 1, 8272),
        (len(whole), len(whole)),
    ]:
        (logged / WAL).write_bytes(whole[:size])
        assert read_log(logged / WAL).trusted == trusted


@pytest.mark.parametrize("block", [1, 2, 256])
def test_damaged_bytes_are_mended_block_by_block(logged, monkeypatch, block):
    monkeypatch.setattr("fdch.index.storage.wal._BLOCK_FRAMES", block)
    content = bytearray((logged / WAL).read_bytes())
    mends = [(place, content[place]) for place in (9, 36, 5000, 8280, 13000, 16530)]
    for place, byte in mends:
        content[place] = byte ^ 90
    (logged / WAL).write_bytes(content + b"and a tail")
    assert mends_of_log(logged / WAL) == mends


def test_a_long_log_is_not_held_in_memory(tmp_path):
    connection = sqlite3.connect(tmp_path / CATALOGUE, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute("CREATE TABLE words (word BLOB)")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    Seal.of(tmp_path, UID, 4096).write(tmp_path)
    connection.execute("INSERT INTO words VALUES (zeroblob(20000000))")
    seal, size = Seal.read(tmp_path), (tmp_path / WAL).stat().st_size
    tracemalloc.start()
    try:
        foretold = seal.after(tmp_path)
        mends = mends_of_log(tmp_path / WAL)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    assert size > 20_000_000
    assert peak < size / 2
    assert mends == []
    assert Seal.of(tmp_path, UID, 4096) == foretold


def test_the_seal_after_the_log_is_that_of_the_settled_database(logged):
    foretold = Seal.read(logged).after(logged)
    assert words(logged) == [3, 3, 10000]  # the last to close copies the log
    assert not (logged / WAL).exists()
    assert Seal.of(logged, UID, 4096) == foretold


def test_a_seal_holds_for_its_pages_only(logged):
    seal = Seal.read(logged)
    content = (logged / CATALOGUE).read_bytes()
    first, second = content[:4096], content[4096:]
    assert seal.pages == 2
    assert seal.holds(1, first)
    assert seal.holds(2, second)
    assert not seal.holds(2, first)
    assert not seal.holds(3, second)
