"""An id that is not there is reported."""

import pytest

from fdch.codes import binarize
from fdch.errors import DataError
from fdch.index.storage.folder import CodeFolder
from fdch.index.store import Item


@pytest.fixture
def folder(tmp_path):
    with CodeFolder.create(tmp_path / "index", 3, "a model") as made:
        made.add([Item(id) for id in ("beach", "city")], binarize([[1, 1, -1]] * 2))
        yield made


def test_half_a_character_is_no_id(folder):
    with pytest.raises(DataError, match="has no item '\udcff'"):
        folder.fetch(["\udcff"])
    assert folder.remove(["\udcff", "city"]) == ["\udcff"]


def test_ten_ids_are_listed(folder):
    unknown = [f"x{number}" for number in range(11)]
    with pytest.raises(DataError, match=r"'x8', 'x9', \.\.\.\. Check"):
        folder.fetch([*unknown, "city"])
    with pytest.raises(DataError, match=r"'x8', 'x9'\. Check"):
        folder.fetch(unknown[:10])
