"""Large indexes are checked for damage while they answer."""

import threading

import pytest
from tests.index.store_samples import random_codes, sample_items

from fdch.errors import DamagedIndex
from fdch.index.storage.files.checking import Scrub, part_problems
from fdch.index.storage.folder import CodeFolder

CODES = random_codes(50)


@pytest.fixture
def path(tmp_path, monkeypatch):
    """An index that counts as large, since every other one is checked at once."""
    with CodeFolder.create(tmp_path / "index", 32, "model") as folder:
        folder.add(sample_items(50), CODES)
    monkeypatch.setattr(Scrub, "MAX_FOREGROUND_BYTES", 1)
    return tmp_path / "index"


@pytest.fixture
def go_on(monkeypatch):
    """Let checks wait before they read rows; give what lets them go on to the end."""
    may_read = threading.Event()

    def wait_first(*words):
        assert may_read.wait(60)
        yield from part_problems(*words)

    def release():
        may_read.set()
        for thread in threading.enumerate():
            if thread.name == "fdch index check":
                thread.join(60)

    monkeypatch.setattr("fdch.index.storage.access.part_problems", wait_first)
    yield release
    release()


def test_damage_found_in_the_background_ends_answers(path, go_on):
    [rows] = (path / "codes").glob("*.rows")
    content = bytearray(rows.read_bytes())
    content[-1] ^= 16
    rows.write_bytes(content)
    with CodeFolder.open(path) as folder:
        folder.search(CODES[:1], 1)  # answers do not wait for the check
        go_on()
        for _ in range(2):
            with pytest.raises(
                DamagedIndex, match=r"rows 0 to 49: .*fdch index repair"
            ):
                folder.search(CODES[:1], 1)


def test_damage_found_in_the_background_ends_writing(path, go_on):
    [rows] = (path / "codes").glob("*.rows")
    content = bytearray(rows.read_bytes())
    content[-9] ^= 16
    rows.write_bytes(content)
    with CodeFolder.open(path, writable=True) as folder:
        len(folder)
        go_on()
        with pytest.raises(DamagedIndex, match="rows 0 to 49"):
            folder.remove(["item 1"])


def test_a_sound_index_answers_after_its_check(path, go_on):
    with CodeFolder.open(path) as folder:
        folder.search(CODES[:1], 1)
        go_on()
        [found] = folder.search(CODES[3:4], 1)
        assert found.distances.tolist() == [0]
