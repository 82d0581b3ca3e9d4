import shutil
import sqlite3

import pytest

from fdch.index.layout import CATALOGUE, WAL
from fdch.index.seal import Seal
from fdch.index.wal import EMPTY, read_log

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
def test_a_flipped_byte_ends_our_trust_where_it_ends_sqlites(logged, place):
    content = bytearray((logged / WAL).read_bytes())
    content[place] ^= 1 << place % 8
    (logged / WAL).write_bytes(content)
    commits = {0: 0, 4152: 1, 8272: 2, 20632: 3}
    assert (
        len(words(logged.parent / shutil.copytree(logged, logged.parent / "c")))
        == (commits[read_log(logged / WAL).trusted])
    )


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
