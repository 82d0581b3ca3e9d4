"""A model kept on a real server."""

import base64
import hashlib
import io
import stat

import pytest

from fdch.errors import DamagedIndex, IndexFolderError
from fdch.index.milvus import MilvusStore, model
from fdch.index.milvus.model import PIECE_BYTES

FILES = {
    "run.json": b'{"method": "fdch"}',
    "state.safetensors": bytes(range(256)) * (3 * PIECE_BYTES // 256 + 1),
    "empty.bin": b"",
    "whole.bin": b"\xff" * PIECE_BYTES,
}


@pytest.fixture
def store(milvus_url):
    with MilvusStore.create(milvus_url, 16, write_files) as made:
        yield made


def write_files(folder):
    write(folder, FILES)
    return "a model"


def write(folder, files):
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)


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


def test_a_model_is_kept_beside_the_codes(store, milvus_url):
    other = MilvusStore.open(milvus_url)
    assert other.model == "a model"
    folder = other.model_folder()
    assert read(folder) == FILES
    assert other.model_folder() == folder
    assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
    other.close()
    assert not folder.parent.exists()


def test_an_index_without_a_model_says_so(milvus_url):
    with (
        MilvusStore.create(milvus_url, 16, "a model") as store,
        pytest.raises(DamagedIndex, match=r"it was never saved\. Create the index ag"),
    ):
        store.model_folder()


@pytest.mark.parametrize("size", [0, 1, 1 << 20, (1 << 20) + 1])
def test_the_checksum_is_of_the_whole_archive(size):
    content = b"PK" * size
    file = io.BytesIO(content)
    file.seek(size)  # where writing ended, or reading
    whole = hashlib.blake2b(content, digest_size=16).hexdigest()
    assert model._digest(file) == whole
    assert file.tell() == 0  # to be read from its start


@pytest.mark.slow
def test_a_model_is_checked(store, monkeypatch):
    change(store, "/1", base64.b64encode(bytes(PIECE_BYTES)).decode())
    with pytest.raises(DamagedIndex, match="it has changed since it was saved"):
        store.model_folder()
    change(store, "/1", "?")
    with pytest.raises(DamagedIndex, match="a piece is missing or damaged"):
        store.model_folder()
    monkeypatch.setattr(model, "MAX_BYTES", 9)
    with pytest.raises(DamagedIndex, match="was not made by fdch"):
        store.model_folder()


def test_a_model_too_large_is_refused(milvus_url, monkeypatch):
    monkeypatch.setattr(model, "MAX_BYTES", 9)
    with pytest.raises(IndexFolderError, match="a model kept on Milvus has at most 9"):
        MilvusStore.create(milvus_url, 16, write_files)
