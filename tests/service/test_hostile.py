"""Hostile requests: each gets its right refusal, and the service goes on serving."""

import io
import json
import re
import shutil
import socket

import httpx
import pytest
from PIL import Image
from tests.service.running import READ, TOKENS, WRITE, running

from fdch.bench.hostile.pictures import JPEG, PNG
from fdch.bench.hostile.requests import HOSTILE
from fdch.bench.serving.raw_requests import request, search, send
from fdch.service.http.limits import ServiceLimits

PATIENCE = 60
# on a busy machine the largest bodies take a second to arrive
LIMITS = ServiceLimits(body_seconds=3.0, head_seconds=3.0)


@pytest.fixture(scope="module")
def target(scenes, tmp_path_factory):
    index = tmp_path_factory.mktemp("hostile") / "index"
    shutil.copytree(scenes.index, index)
    with running(index, tokens=TOKENS, limits=LIMITS) as it:
        yield it


def test_the_list_is_long_enough():
    assert len(HOSTILE) >= 60


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_request_is_refused(target, name):
    content, due = HOSTILE[name]
    received = send(target.port, content)
    body = received.body
    assert received.status == due, (received.status, body[:500])
    if body and name != "trace":
        error = json.loads(body)["error"]
        assert error["code"]
        assert error["message"]
        assert "/scenes" not in error["message"]
        assert "Traceback" not in body.decode()


@pytest.fixture(autouse=True, scope="module")
def goes_on(target):
    """Whatever came, the service answers as before at the end."""
    yield
    with target.client(READ) as client:
        assert client.by_text("beach", k=3).ids
        assert client.by_image(PNG, k=3).ids
    text = target.service.metrics.text().decode()
    assert 'status="500"' not in text


def test_a_polyglot_is_a_picture_and_nothing_else(target):
    """A file that is a picture and a page is searched with and served as a picture."""
    page = b"<html><script>alert(1)</script></html>"
    polyglot = JPEG + page
    with target.client(WRITE) as client:
        assert client.by_image(polyglot, k=1).ids
        client.put("polyglot", image=polyglot)
    served = httpx.get(
        f"{target.url}/v1/items/polyglot/picture",
        headers={"authorization": f"Bearer {READ}"},
    )
    assert served.headers["content-type"] == "image/jpeg"
    assert served.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'self'" in served.headers["content-security-policy"]


def test_a_head_that_never_ends_is_cut_off(target):
    assert send(target.port, b"GET / HTTP/1.1\r\nHost: a\r\nX: ").status == 0


def test_a_connection_that_says_nothing_is_cut_off(target):
    assert send(target.port, b"").status == 0


def test_a_client_that_leaves_does_no_harm(target):
    for content in (b"GET", request(body=b'{"te')[:-2], search(text="beach")):
        with socket.create_connection(("127.0.0.1", target.port)) as connection:
            connection.sendall(content)
    assert send(target.port, search(text="beach")).status == 200


def test_pipelined_requests_are_answered_in_order(target):
    one = request("GET", "/health", kind="")
    other = request("GET", "/nowhere", kind="")
    with socket.create_connection(("127.0.0.1", target.port), PATIENCE) as connection:
        connection.sendall(one + other + one)
        received = b""
        while received.count(b'"alive"') < 2:
            received += connection.recv(65536)
    statuses = re.findall(rb"HTTP/1\.1 (\d+)", received)
    assert statuses == [b"200", b"404", b"200"]


def test_smuggled_requests_are_not_answered(target):
    """What follows a body is a request of its own, never part of another's."""
    hidden = request("GET", "/health", kind="")
    content = request(
        length=False,
        headers=[f"Content-Length: {len(hidden)}", "Transfer-Encoding: chunked"],
        body=b"0\r\n\r\n" + hidden,
    )
    received = send(target.port, content)
    assert received.status == 400
    assert b"alive" not in received.body


def test_large_pictures_within_the_limits_are_searched_with(target):
    out = io.BytesIO()
    Image.new("RGB", (1900, 1900), "red").save(out, "PNG")
    assert len(out.getvalue()) < LIMITS.body_bytes
    with target.client(READ) as client:
        assert client.by_image(out.getvalue(), k=1).ids
