"""A server killed with work just acknowledged; it takes a minute to come back."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from fdch.codes import binarize
from fdch.errors import StoreAway
from fdch.index.milvus import MilvusStore
from fdch.index.store import Item

KEEPER = Path(__file__).parents[2] / "milvus_keeper.py"
PATIENCE = 300.0


@pytest.mark.slow
# The server's package leaves sockets open that it tried ports with.
@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
def test_what_was_acknowledged_survives_the_servers_death(tmp_path, monkeypatch):
    pytest.importorskip("pymilvus")
    pytest.importorskip("milvus")
    monkeypatch.setenv("ETCD_CONFIG_PATH", "set by the server's maker")
    monkeypatch.setattr("fdch.index.milvus.connection.CONNECT_SECONDS", PATIENCE)
    keeper = runpy.run_path(str(KEEPER))
    server = keeper["configured"](tmp_path)
    codes = binarize(np.random.default_rng(0).standard_normal((2_000, 32)))
    items = [Item(f"item {i}", text=f"text {i}") for i in range(2_000)]
    try:
        keeper["start"](server)
        url = f"milvus://127.0.0.1:{server.listen_port}/photos"
        MilvusStore.create(url, 32, "model").close()
        store = MilvusStore.open(url, retry_seconds=PATIENCE)
        store.add(items[:-1], codes[:-1])
        store.remove(["item 0"])
        store.add(items[-1:], codes[-1:])
        server.server_proc.kill()
        server.server_proc.wait()
        store._connection.retry_seconds = 5.0  # nobody will answer
        for attempt in (
            lambda: store.add(items[:1], codes[:1]),
            lambda: store.search(codes[:1], 1),
            lambda: store.remove(["item 1"]),
        ):
            with pytest.raises(StoreAway, match=f"port {server.listen_port}"):
                attempt()
        server.stop()
        # It would look for its ports again, and take some for busy that are not.
        monkeypatch.setattr(server.config, "resolve", lambda: None)
        keeper["start"](server)
        store._connection.retry_seconds = PATIENCE
        with MilvusStore.open(url, retry_seconds=PATIENCE) as again:
            assert len(again) == 1_999
            assert again.items(["item 0", "item 1999"]) == [None, items[-1]]
            assert (
                again.fetch([f"item {i}" for i in range(1, 2_000)]).codes == codes[1:]
            )
        assert len(store) == 1_999  # the client from before works again
        store.close()
    finally:
        server.stop()
