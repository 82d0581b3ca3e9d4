"""A folder that is replaced while it is open is not taken for the new one."""

import os
import shutil

import numpy as np
import pytest
from tests.index.store_samples import random_codes

from fdch.errors import IndexFolderError
from fdch.index.storage.catalogue.catalogue import Catalogue
from fdch.index.storage.folder import CodeFolder
from fdch.index.storage.maintenance.verification import verify_folder
from fdch.index.store import Item

CODES = random_codes(50)


def written(path, order):
    with CodeFolder.create(path, 32, "model") as folder:
        folder.add([Item(f"id {i}") for i in order], CODES[order])
    return path


@pytest.fixture
def live(tmp_path):
    return written(tmp_path / "live", np.arange(50))


@pytest.fixture(params=["another index", "a copy"])
def following(request, live, tmp_path):
    if request.param == "a copy":
        return shutil.copytree(live, tmp_path / "next")
    return written(tmp_path / "next", np.arange(50)[::-1])


def replaced(live, following):
    os.rename(live, live.with_name("old"))
    os.rename(following, live)


def test_a_replaced_folder_is_read_no_more(live, following):
    with CodeFolder.open(live) as reader:
        assert reader.search(CODES[[7]], 1)[0].ids == ("id 7",)
        replaced(live, following)
        with pytest.raises(IndexFolderError, match="was replaced"):
            reader.search(CODES[[7]], 1)
    with CodeFolder.open(live) as reader:
        assert reader.search(CODES[[7]], 1)[0].ids == ("id 7",)


def test_a_connection_made_while_it_is_replaced_is_refused(live, tmp_path, monkeypatch):
    following = written(tmp_path / "next", np.arange(50)[::-1])
    with CodeFolder.open(live) as reader:
        reader.search(CODES[[7]], 1)
        # as where the folder is replaced between the look at it and its opening
        monkeypatch.setattr(Catalogue, "require_same_file", lambda self: None)
        with reader._access.catalogue.reading():  # the idle connection is taken
            replaced(live, following)
            with pytest.raises(IndexFolderError, match="was replaced"):
                reader.search(CODES[[7]], 1)


def test_a_replaced_folder_is_not_written(live, following):
    with CodeFolder.open(live, writable=True) as writer:
        writer.add([Item("before")], CODES[[1]])
        replaced(live, following)
        with pytest.raises(IndexFolderError, match="was replaced"):
            writer.add([Item("after")], CODES[[2]])
    assert verify_folder(live).is_clean
    with CodeFolder.open(live) as reader:
        assert len(reader) == 50


def test_a_folder_that_was_moved_away_is_read_on(live):
    with CodeFolder.open(live) as reader:
        reader.search(CODES[[7]], 1)
        os.rename(live, live.with_name("elsewhere"))
        assert reader.search(CODES[[7]], 1)[0].ids == ("id 7",)


def test_a_replaced_writer_closes_in_silence_and_its_commits_stay(
    live, following, caplog
):
    with CodeFolder.open(live, writable=True) as writer:
        writer.add([Item("before")], CODES[[1]])
        replaced(live, following)
    assert not caplog.messages
    with CodeFolder.open(live.with_name("old")) as old:
        assert len(old) == 51 and old.items(["before"]) != [None]
