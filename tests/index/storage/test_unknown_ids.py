"""An id that is not there is reported with ids that are."""

import pytest

from fdch.codes import binarize
from fdch.errors import DataError
from fdch.index.storage.folder import CodeFolder
from fdch.index.store import Item


@pytest.fixture
def folder(tmp_path):
    with CodeFolder.create(tmp_path / "index", 3, "a model") as made:
        yield made


def fill(folder, ids):
    folder.add([Item(id) for id in ids], binarize([[1, 1, -1]] * len(ids)))


def complaint(folder, *ids):
    with pytest.raises(DataError) as caught:
        folder.fetch(ids)
    return str(caught.value)


def test_the_nearest_ids_are_named(folder):
    fill(folder, ["beach", "city", "park 12", "park 13"])
    said = complaint(folder, "Park12")
    assert "has no item 'Park12'" in said
    assert "Near 'Park12' are 'park 12', 'park 13'." in said


def test_without_near_ids_their_number_and_some_are_reported(folder):
    fill(folder, ["beach", "city", "park", "lake"])
    said = complaint(folder, "xyz 9")
    assert "It has 4 items, such as 'beach', 'city', 'park'" in said
    folder.remove(["beach", "city", "park"])
    assert "It has 1 item, such as 'lake'" in complaint(folder, "xyz 9")


def test_an_empty_index_says_so(folder):
    assert "it is empty. Fill it with 'fdch index add'" in complaint(folder, "a")


def test_a_near_id_is_found_among_more_than_are_looked_at(folder):
    fill(folder, [f"photo {number:05}.jpg" for number in range(6000)])
    said = complaint(folder, "photo 04321.jpeg")
    assert "'photo 04321.jpg'" in said


def test_half_a_character_is_no_id(folder):
    fill(folder, ["beach", "city"])
    assert "It has 2 items" in complaint(folder, "\udcff")
    assert folder.remove(["\udcff", "city"]) == ["\udcff"]


def test_several_are_listed_with_help_for_the_first(folder):
    fill(folder, ["beach", "city"])
    said = complaint(folder, "beech", "city", "zzz")
    assert "2 of 3 ids are not in index" in said
    assert "'beech', 'zzz'. Near 'beech' are 'beach'." in said
