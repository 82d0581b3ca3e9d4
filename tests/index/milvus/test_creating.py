"""Indexes on a real server are made whole or not at all, beside what others keep."""

from contextlib import contextmanager

import pytest

from fdch.errors import IndexFolderError, StoreAway
from fdch.index.milvus import MilvusStore
from fdch.index.milvus.model import ModelCollection
from fdch.index.opening import create_store, open_store, require_free


@pytest.fixture
def client(milvus_server):
    from pymilvus import MilvusClient

    made = MilvusClient(f"http://{milvus_server}")
    yield made
    made.close()


def name_in(url):
    return url.rpartition("/")[2]


def collections(client, url):
    names = (name_in(url), f"{name_in(url)}_model")
    found = [name for name in names if client.has_collection(name)]
    return [name.removeprefix(name_in(url)) for name in found]


def rows(client, url):
    name = f"{name_in(url)}_model"
    fields = {"output_fields": ["key"], "consistency_level": "Strong"}
    return client.query(name, filter='key != ""', **fields)


def model(content):
    """Write a model of one file."""

    def write(folder):
        folder.mkdir()
        (folder / "run.json").write_text(content)
        return f"model {content}"

    return write


def kept(url):
    store = open_store(url)
    folder = store.model_folder()
    found = {path.name: path.read_text() for path in folder.iterdir()}
    store.close()
    return store.model, found


def make_foreign(client, name):
    """Let another program make a collection that a model could be written into."""
    from pymilvus import DataType

    schema = client.create_schema(description="somebody's photos")
    schema.add_field("id", DataType.INT64, is_primary=True)
    schema.add_field("v", DataType.FLOAT_VECTOR, dim=2)
    client.create_collection(name, schema=schema)


@contextmanager
def failing(monkeypatch, where, name, error):
    """Let a function fail, once it has done its work."""
    with monkeypatch.context() as patch:
        function = getattr(where, name)

        def failed(*arguments, **options):
            function(*arguments, **options)
            raise error

        patch.setattr(where, name, failed)
        yield


@pytest.mark.parametrize("make", [model("a"), "a model"])
def test_another_programs_collection_in_the_models_place_is_refused(
    milvus_url, client, make
):
    make_foreign(client, f"{name_in(milvus_url)}_model")
    for touch in (require_free, lambda url: create_store(url, 16, make)):
        with pytest.raises(IndexFolderError, match=r"_model' at .* not made by fdch"):
            touch(milvus_url)
        assert collections(client, milvus_url) == ["_model"]


def test_a_collection_of_others_stays_where_an_index_is_dropped(milvus_url, client):
    MilvusStore.create(milvus_url, 16, "a model").close()
    make_foreign(client, f"{name_in(milvus_url)}_model")
    MilvusStore.drop(milvus_url)
    assert collections(client, milvus_url) == ["_model"]


@pytest.mark.slow
def test_an_index_is_dropped_with_its_model(milvus_url, client):
    create_store(milvus_url, 16, model("a")).close()
    assert collections(client, milvus_url) == ["", "_model"]
    MilvusStore.drop(milvus_url)
    assert collections(client, milvus_url) == []
    with pytest.raises(IndexFolderError, match="there is no collection"):
        MilvusStore.drop(milvus_url)


@pytest.mark.slow
def test_what_a_killed_create_left_is_used_by_the_next(milvus_url, client, monkeypatch):
    with (
        failing(monkeypatch, ModelCollection, "save", StoreAway("away")),
        pytest.raises(StoreAway),
    ):
        create_store(milvus_url, 16, model("a"))
    assert collections(client, milvus_url) == ["_model"]
    with pytest.raises(IndexFolderError, match="Make it with 'fdch index create'"):
        open_store(milvus_url)
    require_free(milvus_url)
    create_store(milvus_url, 16, model("b")).close()
    assert kept(milvus_url) == ("model b", {"run.json": "b"})
    assert len(rows(client, milvus_url)) == 1  # a's piece is gone


@pytest.mark.slow
def test_collections_whose_maker_was_killed_early_get_their_index(milvus_url, client):
    """Milvus makes a collection, then an index, then loads it."""
    create_store(milvus_url, 16, model("a")).close()
    for name in (name_in(milvus_url), f"{name_in(milvus_url)}_model"):
        client.release_collection(name)
        (index,) = client.list_indexes(name)
        client.drop_index(name, index)
    assert kept(milvus_url) == ("model a", {"run.json": "a"})


@pytest.mark.slow
def test_two_that_make_the_same_index_leave_one(milvus_url, client):
    """Another process makes it while we write the model."""

    def write(folder):
        create_store(milvus_url, 16, model("b")).close()
        return model("a")(folder)

    with pytest.raises(IndexFolderError, match=r"already\. Open it"):
        create_store(milvus_url, 16, write)
    assert kept(milvus_url) == ("model b", {"run.json": "b"})
    assert len(rows(client, milvus_url)) == 1
