"""A server that requires a password."""

import runpy
from pathlib import Path

import pytest

from fdch.errors import IndexFolderError
from fdch.index.milvus import MilvusStore

KEEPER = Path(__file__).parents[2] / "milvus_keeper.py"


@pytest.fixture
def guarded(tmp_path, monkeypatch):
    """A server of its own, which its environment makes require passwords."""
    pytest.importorskip("pymilvus")
    pytest.importorskip("milvus")
    monkeypatch.setenv("ETCD_CONFIG_PATH", "set by the server's maker")
    monkeypatch.setenv("COMMON_SECURITY_AUTHORIZATIONENABLED", "true")
    keeper = runpy.run_path(str(KEEPER))
    server = keeper["configured"](tmp_path)
    server.config.configs.pop("authorization_enabled", None)
    try:
        keeper["start"](server)
        yield f"milvus://127.0.0.1:{server.listen_port}/photos?shards=2"
    finally:
        server.stop()


@pytest.mark.slow
def test_the_token_comes_from_the_environment(guarded, monkeypatch, caplog):
    for wrong in ("root:secret", ""):
        monkeypatch.setenv("FDCH_MILVUS_TOKEN", wrong)
        with pytest.raises(IndexFolderError, match="refused the user or") as caught:
            MilvusStore.create(guarded, 16, "model")
        assert "secret" not in str(caught.value)
    monkeypatch.setenv("FDCH_MILVUS_TOKEN", "root:Milvus")
    with MilvusStore.create(guarded, 16, "model") as store:
        assert len(store) == 0
        described = store._collection.call("describe_collection")
        assert described["num_shards"] == 2
        assert "Milvus" not in str(store.describe())
    assert "secret" not in caplog.text and "root:Milvus" not in caplog.text
