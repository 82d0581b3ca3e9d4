"""Some items of an index, drawn."""

import numpy as np
import pytest

from fdch.codes import Codes
from fdch.index.storage.folder import CodeFolder
from fdch.index.store import Item

MODEL = "a model"


@pytest.fixture
def folder(tmp_path):
    codes = Codes(np.arange(200, dtype=np.uint8).reshape(-1, 1), 8)
    with CodeFolder.create(tmp_path / "index", 8, MODEL) as folder:
        folder.add([Item(f"item {row}") for row in range(200)], codes)
        yield folder


def test_all_items_are_given_where_there_are_no_more(folder):
    ids, codes = folder.sample(500)
    assert ids == [f"item {row}" for row in range(200)]
    assert codes.packed.ravel().tolist() == list(range(200))


@pytest.mark.parametrize("count", [10, 100])
def test_a_sample_has_different_items_with_their_codes(folder, count):
    ids, codes = folder.sample(count)
    assert len(set(ids)) == len(codes) == count
    assert codes == folder.fetch(ids).codes


def test_a_seed_draws_the_same_items_again_and_another_does_not(folder):
    assert folder.sample(10, seed=1)[0] == folder.sample(10, seed=1)[0]
    assert folder.sample(10, seed=1)[0] != folder.sample(10, seed=2)[0]


def test_removed_items_are_not_drawn(folder):
    folder.remove(f"item {row}" for row in range(200) if row % 10)
    for count in (10, 30):
        ids, codes = folder.sample(count)
        assert {int(name.split()[1]) % 10 for name in ids} == {0}
        assert codes == folder.fetch(ids).codes


def test_running_numbers_are_drawn_as_their_ids(tmp_path):
    codes = Codes(np.arange(100, dtype=np.uint8).reshape(-1, 1), 8)
    with CodeFolder.create(tmp_path / "numbers", 8, MODEL) as folder:
        folder.add_numbered(codes)
        ids, drawn = folder.sample(7)
    assert [int(name) for name in ids] == drawn.packed.ravel().tolist()


def test_an_empty_index_gives_an_empty_sample(tmp_path):
    with CodeFolder.create(tmp_path / "empty", 8, MODEL) as folder:
        ids, codes = folder.sample(5)
    assert ids == [] and len(codes) == 0
