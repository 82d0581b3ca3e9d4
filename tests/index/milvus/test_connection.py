"""What a server may answer, without one."""

import socket
import time

import pytest

from fdch.errors import IndexFolderError, MissingExtra, StoreAway
from fdch.index.milvus import Address, MilvusStore
from fdch.index.milvus.connection import Connection, is_transient

ADDRESS = Address("db", 19530, "photos")
pymilvus = pytest.importorskip("pymilvus")
grpc = pytest.importorskip("grpc")
MilvusException = pymilvus.exceptions.MilvusException


class Client:
    """A client whose answers are written down beforehand."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.calls = 0
        self.calls_at: list[float] = []
        self.timeouts: list[float] = []

    def query(self, *, timeout):
        self.calls += 1
        self.calls_at.append(round(time.monotonic(), 6))
        self.timeouts.append(round(timeout, 6))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def connected(monkeypatch):
    """Make connections to written answers, whose waits take no time."""
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "sleep", lambda s: now.__setitem__(0, now[0] + s))

    def make(*answers, retry_seconds=5.0):
        client = Client(*answers)
        path = "fdch.index.milvus.connection._connect"
        monkeypatch.setattr(path, lambda address, seconds: client)
        return Connection(ADDRESS, retry_seconds), client

    return make


class RpcError(Exception):
    """As gRPC raises them: the status is a method's result."""

    def __init__(self, status):
        self.status = status

    def code(self):
        return self.status

    def details(self):
        return "so the server says"


class Retriable(Exception):
    """As newer clients report what the server says of its error."""

    retriable = True


UNAVAILABLE = RpcError(grpc.StatusCode.UNAVAILABLE)
TIRED = MilvusException(grpc.StatusCode.UNAVAILABLE, "Retry timeout")
LOST = MilvusException(2, "Fail connecting to server")
STARTING = MilvusException(1, "service not ready[querynode=Initializing]")
BUSY = MilvusException(8, "rate limit exceeded")
RETRIABLE = Retriable("channel not available")
WRONG = MilvusException(1100, "invalid parameter")


@pytest.mark.parametrize(
    "problem", [UNAVAILABLE, TIRED, LOST, STARTING, BUSY, RETRIABLE]
)
def test_passing_trouble_is_waited_out(connected, problem):
    connection, client = connected(problem, problem, "found")
    assert connection.call("query") == "found"
    assert client.calls == 3


def test_waiting_ends(connected):
    connection, client = connected(*[UNAVAILABLE] * 100)
    with pytest.raises(StoreAway, match=r"at db, port 19530 \(so the server says"):
        connection.call("query")
    assert 3 < client.calls < 20


def test_waits_grow_to_three_seconds_and_no_call_outlasts_the_last(connected):
    connection, client = connected(*[UNAVAILABLE] * 100, retry_seconds=10.0)
    with pytest.raises(StoreAway):
        connection.call("query")
    assert client.calls_at == [0, 0.1, 0.3, 0.7, 1.5, 3.1, 6.1, 9.1]
    assert client.timeouts == [10, 9.9, 9.7, 9.3, 8.5, 6.9, 3.9, 0.9]


def test_no_call_is_made_without_time_to_answer(connected):
    connection, client = connected("found", retry_seconds=0.0)
    assert connection.call("query") == "found"
    assert client.timeouts == [0.1]


def test_long_reasons_are_cut(connected):
    connection, _ = connected(MilvusException(1100, "a  b\n" + 500 * "x"))
    with pytest.raises(IndexFolderError) as caught:
        connection.call("query")
    assert str(caught.value).endswith("'photos': a b " + 296 * "x")


def test_what_the_server_refuses_is_requested_once(connected):
    connection, client = connected(WRONG)
    with pytest.raises(IndexFolderError, match=r"refused a request.*invalid parameter"):
        connection.call("query")
    assert client.calls == 1
    assert not is_transient(WRONG)


def test_a_lost_collection_is_named(connected):
    connection, _ = connected(MilvusException(100, "collection not found"))
    with pytest.raises(IndexFolderError, match="no collection 'photos' at db:19530"):
        connection.call("query")


@pytest.mark.parametrize("status", ["UNAUTHENTICATED", "PERMISSION_DENIED"])
def test_a_refused_token_is_not_repeated(connected, status, monkeypatch):
    monkeypatch.setenv("FDCH_MILVUS_TOKEN", "root:secret")
    connection, _ = connected(RpcError(grpc.StatusCode[status]))
    with pytest.raises(IndexFolderError, match="Set FDCH_MILVUS_TOKEN") as caught:
        connection.call("query")
    assert "secret" not in str(caught.value)


def test_a_token_refused_while_connecting_again_is_not_waited_for(connected):
    lost = MilvusException(2, "Fail connecting to server")
    lost.__cause__ = RpcError(grpc.StatusCode.UNAUTHENTICATED)
    connection, client = connected(lost)
    with pytest.raises(IndexFolderError, match="refused the user or token"):
        connection.call("query")
    assert client.calls == 1


def test_our_own_mistakes_keep_their_trace(connected):
    connection, _ = connected(ZeroDivisionError("by zero"))
    with pytest.raises(ZeroDivisionError):
        connection.call("query")


def test_a_server_that_does_not_listen_is_an_absent_store():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(StoreAway, match=f"127.0.0.1, port {port}.*Start it"):
        MilvusStore.open(f"milvus://127.0.0.1:{port}/photos")


def test_a_port_that_never_answers_is_an_absent_store():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        with pytest.raises(StoreAway, match=f"port {port}"):
            MilvusStore.open(f"milvus://127.0.0.1:{port}/photos", retry_seconds=0.5)


def test_the_client_package_is_named_where_missing(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pymilvus", None)
    with pytest.raises(MissingExtra, match=r"fdch\[milvus\]"):
        MilvusStore.create("milvus://db/photos", 16, "model")
