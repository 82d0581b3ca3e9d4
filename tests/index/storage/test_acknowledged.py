import pytest

from fdch.index.storage.files.acknowledged import (
    Acknowledged,
    acknowledge,
    begin,
    read_acknowledged,
)
from fdch.index.storage.files.layout import ACKNOWLEDGED

UID = bytes(range(16))


@pytest.fixture
def folder(tmp_path):
    begin(tmp_path, Acknowledged(0, 0, 0, UID))
    acknowledge(tmp_path, Acknowledged(1, 5, 5, UID))
    acknowledge(tmp_path, Acknowledged(2, 4, 5, UID))
    return tmp_path


def test_the_last_commit_is_recorded(folder):
    assert read_acknowledged(folder) == (Acknowledged(2, 4, 5, UID), [])


def test_every_flipped_byte_is_found_and_the_other_record_left(folder):
    path = folder / ACKNOWLEDGED
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        latest, wrong = read_acknowledged(folder)
        assert len(wrong) == 1
        assert latest == (
            Acknowledged(1, 5, 5, UID) if place < 512 else Acknowledged(2, 4, 5, UID)
        )


def test_a_missing_or_short_file_is_reported(folder):
    path = folder / ACKNOWLEDGED
    path.write_bytes(path.read_bytes()[:700])
    latest, wrong = read_acknowledged(folder)
    assert latest == Acknowledged(2, 4, 5, UID)
    assert wrong == ["it does not have 1024 bytes", "record 1 is damaged"]
    path.unlink()
    assert read_acknowledged(folder) == (None, ["it is missing"])
