"""A model kept on a real server."""

from typing import Any

import pytest

from fdch.errors import DamagedIndex, IndexFolderError
from fdch.index.milvus import MilvusStore
from fdch.index.milvus.model import PIECE_BYTES, save_model

NOBODY: Any = None  # a connection that must not be used
FILES = {
    "run.json": b'{"method": "fdch"}',
    "state.safetensors": bytes(range(256)) * (3 * PIECE_BYTES // 256 + 1),
    "empty.bin": b"",
    "whole.bin": b"\xff" * PIECE_BYTES,
}


@pytest.fixture
def store(milvus_url):
    made = MilvusStore.create(milvus_url, 16, "model")
    yield made
    made.close()


def write(folder, files):
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def read(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def pieces(store):
    return store._connection.call(
        "query",
        store._connection.address.model_collection,
        filter='key != ""',
        output_fields=["key", "generation"],
        consistency_level="Strong",
    )


def change(store, ending, content):
    """Let another program write into a piece."""
    (row,) = (row for row in pieces(store) if row["key"].endswith(ending))
    row = {**row, "content": content, "unused": b"\0"}
    collection = store._connection.address.model_collection
    store._connection.call("upsert", collection, [row])


@pytest.mark.slow
def test_a_model_is_kept_replaced_and_checked(store, tmp_path, milvus_url):
    with pytest.raises(DamagedIndex, match="it was never saved"):
        store.model_folder()
    store.keep_model(write(tmp_path / "first", FILES))
    other = MilvusStore.open(milvus_url)
    folder = other.model_folder()
    assert read(folder) == FILES
    assert other.model_folder() == folder
    other.close()
    assert not folder.exists()

    store.keep_model(write(tmp_path / "second", {"run.json": b"new"}))
    store.load_model(tmp_path / "loaded")
    assert read(tmp_path / "loaded") == {"run.json": b"new"}

    assert len(pieces(store)) == 2  # the list and one piece; the first model is gone

    change(store, "/run.json/0", "bmV4")
    with pytest.raises(DamagedIndex, match=r"'run.json' is not as it was written"):
        store.load_model(tmp_path / "damaged")
    assert read(tmp_path / "damaged") == {}
    change(store, "/run.json/0", "?")
    with pytest.raises(DamagedIndex, match=r"piece of 'run.json' is missing or dam"):
        store.load_model(tmp_path / "damaged")
    for listed, message in [
        ('{"generation": "x", "files": [["../evil", 1, ""]]}', "list of files"),
        ('{"generation": "x", "files": [["a", 99999999999999, ""]]}', "claims more"),
        ('{"generation": "x", "files": [["a", -1, ""]]}', "list of files"),
        ('{"generation": "x", "files": [["a"]]}', "list of files"),
        ('{"generation": "x", "files": []}', "list of files"),
        ("[" * 9000, "list of files"),
    ]:
        change(store, "files", listed)
        with pytest.raises(DamagedIndex, match=message):
            store.model_folder()


@pytest.mark.parametrize("name", [".hidden", "a b", "é", "x" * 101])
def test_odd_names_are_refused(name, tmp_path):
    folder = write(tmp_path / "odd", {name: b""})
    with pytest.raises(IndexFolderError, match="no plain file with a plain name"):
        save_model(NOBODY, folder)


def test_folders_and_nothing_are_refused(tmp_path):
    with pytest.raises(IndexFolderError, match="has 0 files"):
        save_model(NOBODY, tmp_path)
    (tmp_path / "checkpoints").mkdir()
    with pytest.raises(IndexFolderError, match="'checkpoints' is no plain file"):
        save_model(NOBODY, tmp_path)
