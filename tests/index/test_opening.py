"""Stores by their names: a folder's path, or a server's address."""

from pathlib import Path

import pytest
from tests.index.store_samples import random_codes, sample_items

from fdch.errors import IndexFolderError, SettingError
from fdch.index.opening import (
    create_store,
    is_server,
    open_store,
    require_folder,
    require_free,
)

SERVER = "milvus://127.0.0.1:19530/catalogue"


def test_an_address_is_a_server_and_a_path_is_none():
    assert is_server(SERVER)
    assert not is_server("catalogue.index")
    assert not is_server(Path("milvus://catalogue"))


def test_addresses_of_other_servers_are_refused():
    with pytest.raises(IndexFolderError, match="'http://host/x' is not an index"):
        is_server("http://host/x")


def test_a_server_is_no_folder():
    assert require_folder("some/index") == Path("some/index")
    with pytest.raises(IndexFolderError, match="is on a server"):
        require_folder(SERVER)


def test_a_folder_is_made_opened_and_described(tmp_path):
    place = str(tmp_path / "index")
    require_free(place)
    made = create_store(place, 32, "model", {"by": "me"}, 4, {"price": "text"})
    assert made.types() == {"price": "text"}
    made.close()
    with pytest.raises(IndexFolderError):
        require_free(place)
    opened = open_store(place, writable=True)
    known = opened.describe()
    assert list(known)[:3] == ["items", "bits", "model"]
    assert [known[name] for name in ("items", "bits", "model")] == [0, 32, "model"]
    assert opened.vector_bytes == 4
    opened.close()


def test_a_store_is_opened_for_reading_by_default(tmp_path):
    create_store(tmp_path / "index", 32, "model").close()
    opened = open_store(tmp_path / "index")
    with pytest.raises(IndexFolderError):
        opened.add(sample_items(1), random_codes(1))
    opened.close()


def test_types_are_checked_before_anything_is_made(tmp_path):
    with pytest.raises(SettingError, match="no type 'colour'"):
        create_store(tmp_path / "index", 32, "model", types={"x": "colour"})  # type: ignore[dict-item]
    assert not (tmp_path / "index").exists()
