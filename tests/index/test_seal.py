"""A seal that is lost, as whoever opens the index is told of it."""

import pytest
from tests.index.store_samples import random_codes, sample_items

from fdch.errors import DamagedIndex
from fdch.index.storage.folder import CodeFolder
from fdch.index.storage.layout import SEAL
from fdch.index.storage.verification import verify_folder


@pytest.fixture
def path(tmp_path):
    with CodeFolder.create(tmp_path / "index", 32, "model a") as folder:
        folder.add(sample_items(5), random_codes(5))
    return tmp_path / "index"


def test_a_missing_seal_is_told_with_what_to_do(path):
    (path / SEAL).unlink()
    with pytest.raises(DamagedIndex, match=r"seal' is missing\. .*'fdch index repair'"):
        CodeFolder.open(path, writable=True)
    assert [str(each) for each in verify_folder(path).problems] == [
        "index.seal: it is missing"
    ]


@pytest.mark.parametrize("content", [b"", b"x", bytes(1000)])
def test_a_damaged_seal_is_told_with_what_to_do(path, content):
    (path / SEAL).write_bytes(content)
    with pytest.raises(DamagedIndex, match=r"seal' is damaged\. .*'fdch index repair'"):
        CodeFolder.open(path, writable=True)
    assert [str(each) for each in verify_folder(path).problems] == [
        "index.seal: it is not as written"
    ]
