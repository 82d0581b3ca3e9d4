"""Connections: how many there may be, and what becomes of those that are too many.

And of those over which nothing moves, or too much.
"""

import contextlib
import io
import resource
import socket
import time
from types import SimpleNamespace

import httpx
import numpy as np
import pytest
from PIL import Image
from tests.service.running import READ, TOKENS, WRITE, running, wait_until

from fdch.bench.hostile.refusals import measure_crowd
from fdch.service import serving
from fdch.service.http import protocol
from fdch.service.http.limits import ServiceLimits
from fdch.service.http.problems import Problem
from fdch.service.http.tokens import Right, Tokens
from fdch.service.index.pictures import PART_BYTES, ItemPictures, OpenPicture
from fdch.service.serving import limit_connections

OTHER = "127.0.0.2"  # another address of this machine


def files(monkeypatch, soft, hard):
    """Pretend that a process may open so many files; return the limits it sets."""
    found = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: found.append(limits))
    return found


@pytest.mark.parametrize(
    ("soft", "hard", "limits", "fit"),
    [
        (1024, 4096, [(4096, 4096)], 1024),
        (1024, 1024, [], 768),
        (256, 256, [], 64),
        (256, resource.RLIM_INFINITY, [(65_536, resource.RLIM_INFINITY)], 1024),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, [], 1024),
    ],
)
def test_as_many_files_as_allowed_are_opened(monkeypatch, soft, hard, limits, fit):
    found = files(monkeypatch, soft, hard)
    assert limit_connections(1024) == fit
    assert found == limits


def test_a_limit_that_cannot_be_raised_is_kept_below(monkeypatch):
    files(monkeypatch, 1024, 4096)

    def refuse(*_):
        raise ValueError

    monkeypatch.setattr(resource, "setrlimit", refuse)
    assert limit_connections(1024) == 768


def test_a_system_without_limits_takes_all(monkeypatch):
    monkeypatch.setattr(serving, "resource", None)
    assert limit_connections(10**6) == 10**6


@contextlib.contextmanager
def idle(it, count, address="127.0.0.1"):
    """Connect so often, and say nothing; give the connections once they are known."""
    with contextlib.ExitStack() as stack:
        before = len(it.server.server_state.connections)
        place, source = ("127.0.0.1", it.port), (address, 0)
        made = [
            stack.enter_context(socket.create_connection(place, source_address=source))
            for _ in range(count)
        ]
        yield before, made


def known(it):
    return len(it.server.server_state.connections)


def test_clients_get_a_reply_when_all_places_are_taken(scenes):
    with running(scenes.index, limits=ServiceLimits(connections=3)) as it:
        with idle(it, 3):
            wait_until(lambda: known(it) == 3)
            refused = httpx.get(f"{it.url}/health")
            assert refused.status_code == 503
            assert refused.json()["error"]["code"] == "busy"
            assert refused.headers["retry-after"] == "5"
            assert refused.headers["connection"] == "close"
            assert refused.headers["x-content-type-options"] == "nosniff"
        wait_until(lambda: known(it) == 0)
        assert httpx.get(f"{it.url}/health").status_code == 200


def test_a_crowd_is_not_kept(scenes, monkeypatch):
    monkeypatch.setattr(protocol, "_MAX_REFUSED", 2)
    with running(scenes.index, limits=ServiceLimits(connections=3)) as it:
        with idle(it, 5):
            wait_until(lambda: known(it) == 5)
            with pytest.raises(httpx.TransportError):
                httpx.get(f"{it.url}/health")
            assert known(it) == 5
        wait_until(lambda: known(it) == 0)
        assert httpx.get(f"{it.url}/health").status_code == 200


def get_from(it, address):
    transport = httpx.HTTPTransport(local_address=address)
    with httpx.Client(transport=transport) as client:
        return client.get(f"{it.url}/health")


@pytest.fixture
def few(scenes):
    """A service that takes three connections of an address."""
    with running(scenes.index, limits=ServiceLimits(address_connections=3)) as it:
        yield it


def test_one_address_takes_no_more_than_its_share(few):
    with idle(few, 3, OTHER):
        wait_until(lambda: known(few) == 3)
        refused = get_from(few, OTHER)
        assert refused.status_code == 503
        assert refused.headers["retry-after"] == "5"
        assert "from this address" in refused.json()["error"]["message"]
        assert get_from(few, "127.0.0.1").status_code == 200
    wait_until(lambda: known(few) == 0)
    assert get_from(few, OTHER).status_code == 200


def test_a_crowd_of_one_address_is_not_kept(few, monkeypatch):
    monkeypatch.setattr(protocol, "_MAX_REFUSED", 2)
    with idle(few, 9, OTHER) as (_, made):
        for each in made[5:]:
            each.settimeout(60)
            with contextlib.suppress(ConnectionError):
                assert each.recv(1) == b""
        assert known(few) == 5
        with few.client() as client:
            assert len(client.by_text("beach", k=1)) == 1


def test_a_proxy_has_many_clients_each_with_a_share(scenes):
    limits = ServiceLimits(address_connections=2, body_seconds=60.0)
    proxies = {"proxies": "127.0.0.1"}
    head = "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9"
    statuses = {}
    with (
        running(scenes.index, limits=limits, server=proxies) as it,
        idle(it, 4) as (_, made),
    ):
        for each in made[:2]:  # requests that wait for their bodies
            each.sendall(f"{head}\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n".encode())

        def is_refused():
            for client in ("192.0.2.1", "192.0.2.2"):
                named = {"x-forwarded-for": client}
                reply = httpx.get(f"{it.url}/health", headers=named)
                statuses[client] = reply.status_code
            return statuses["192.0.2.1"] == 503

        wait_until(is_refused)
        assert statuses["192.0.2.2"] == 200


@pytest.mark.slow
def test_searches_go_on_beside_1200_slow_connections(scenes):
    with running(scenes.index, tokens=Tokens({READ: Right.READ})) as it:
        found = measure_crowd(it.port, 1200, seconds=15.0)
    assert found["sent"] > 0
    assert found["is_enough"], found


def test_a_process_without_files_left_does_not_say_that_pictures_are_gone(
    tmp_path, monkeypatch
):
    pictures = ItemPictures(tmp_path, ServiceLimits())
    item = SimpleNamespace(image=str(tmp_path / "a.png"))
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1, limits[1]))
    try:
        with pytest.raises(Problem) as caught:
            pictures.picture(item)  # type: ignore[arg-type]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert caught.value.status == 503


@pytest.fixture(scope="module")
def large():
    """A picture larger than what systems keep of a connection by themselves."""
    noise = np.random.default_rng(0).integers(0, 256, (1700, 1700, 3), dtype=np.uint8)
    out = io.BytesIO()
    Image.fromarray(noise).save(out, "PNG", compress_level=1)
    return out.getvalue()


@contextlib.contextmanager
def requesting(it):
    """Request the large picture, and read nothing."""
    with socket.create_connection(("127.0.0.1", it.port), 60) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**17)
        head = ("GET /v1/items/large/picture HTTP/1.1", "Host: localhost")
        lines = (*head, f"Authorization: Bearer {READ}", "Connection: close", "", "")
        connection.sendall("\r\n".join(lines).encode())
        wait_until(lambda: it.service.metrics.active._value.get() == 0 and is_sent(it))
        yield connection


def is_sent(it):
    """Return whether the service has begun to reply to its only client."""
    buffers = [
        each.transport.get_write_buffer_size()
        for each in it.server.server_state.connections
    ]
    return len(buffers) == 1 and buffers[0] > 0


@contextlib.contextmanager
def with_large(index, large, **limits):
    with running(index, tokens=TOKENS, limits=ServiceLimits(**limits)) as it:
        limited, it.service.limits = it.service.limits, ServiceLimits()
        with it.client(WRITE) as client:  # which may take its time
            client.put("large", image=large)
        wait_until(lambda: known(it) == 0)
        it.service.limits = limited
        yield it


def test_slow_clients_are_disconnected(own_index, large):
    # long enough for a look at the connection before it ends
    with with_large(own_index, large, read_seconds=3.0) as it, requesting(it):
        [one] = it.server.server_state.connections
        assert one.transport.get_write_buffer_size() < 4 * PART_BYTES
        wait_until(lambda: known(it) == 0)


def test_slow_readers_delay_no_stop(own_index, large):
    never = {"read_seconds": 600.0, "stop_seconds": 600}
    with with_large(own_index, large, **never) as it, requesting(it):
        it.stop()


def test_late_readers_get_all_of_a_large_picture(own_index, large):
    """The time that a request may take is over once its reply has begun."""
    with with_large(own_index, large, seconds=2.0) as it, requesting(it) as connection:
        time.sleep(3)
        received = b"".join(iter(lambda: connection.recv(65536), b""))
    assert received.partition(b"\r\n\r\n")[2] == large


def test_a_file_that_becomes_shorter_is_not_sent_on(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(b"x" * (PART_BYTES + 5))
    picture = OpenPicture(path)
    assert b"".join(picture.parts()) == path.read_bytes()
    path.write_bytes(b"x" * (PART_BYTES + 4))
    with pytest.raises(OSError, match="shorter"):
        list(picture.parts())


@pytest.mark.parametrize("declared", [True, False])
def test_clients_that_send_too_much_get_the_whole_reply(served, declared, monkeypatch):
    monkeypatch.setattr(protocol, "_LINGER_SECONDS", 60.0)  # a busy one sends slowly
    size = 20 * 2**20
    head = "POST /v1/search HTTP/1.1\r\nHost: localhost\r\n"
    if declared:
        content = f"{head}Content-Length: {size}\r\n\r\n".encode() + b" " * size
    else:
        head += f"Transfer-Encoding: chunked\r\n\r\n{size:x}\r\n"
        content = head.encode() + b" " * size
    with socket.create_connection(("127.0.0.1", served.port), 60) as connection:
        connection.sendall(content)
        received = b"".join(iter(lambda: connection.recv(65536), b""))
    assert received.startswith(b"HTTP/1.1 413 ")
    assert received.endswith(b"}}")


def test_endless_senders_are_disconnected(served):
    head = b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999"
    with socket.create_connection(("127.0.0.1", served.port), 60) as connection:
        connection.sendall(head + b"\r\n\r\n")
        with pytest.raises(ConnectionError):
            for _ in range(1000):
                connection.sendall(b" " * 2**20)
