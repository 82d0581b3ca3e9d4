"""Hostile requests: each gets its right refusal, and the service goes on serving."""

import contextlib
import io
import json
import re
import socket
import struct
import zlib

import pytest
from PIL import Image
from tests.service.running import (
    READ,
    TOKENS,
    WRITE,
    picture_bytes,
    running,
)

from fdch.service.limits import ServiceLimits

PATIENCE = 60
LIMITS = ServiceLimits(
    body_bytes=2**20,
    picture_pixels=4_000_000,
    body_seconds=0.5,
    head_seconds=1.0,
)
BOUNDARY = "----fdch"


@pytest.fixture(scope="module")
def target(scenes, tmp_path_factory):
    import shutil

    index = tmp_path_factory.mktemp("hostile") / "index"
    shutil.copytree(scenes.index, index)
    with running(index, tokens=TOKENS, limits=LIMITS) as it:
        yield it


def send(target, content, *pieces, end=False):
    """Send raw bytes, perhaps some more, and give the status and the rest."""
    with socket.create_connection(("127.0.0.1", target.port), PATIENCE) as connection:
        # a server that refuses early may close before all was sent
        with contextlib.suppress(ConnectionError):
            connection.sendall(content)
            for piece in pieces:
                connection.sendall(piece)
            if end:
                connection.shutdown(socket.SHUT_WR)
        received = b""
        with contextlib.suppress(ConnectionError):
            while part := connection.recv(65536):
                received += part
                if is_whole(received):
                    break
    if not received:
        return 0, b""
    head, _, body = received.partition(b"\r\n\r\n")
    return int(head.split()[1]), body


def is_whole(received):
    head, found, body = received.partition(b"\r\n\r\n")
    lengths = [
        int(line.split(b":")[1])
        for line in head.split(b"\r\n")
        if line.lower().startswith(b"content-length")
    ]
    return bool(found) and (not lengths or len(body) >= lengths[0])


def request(
    method="POST",
    path="/v1/search",
    body=b"",
    kind="application/json",
    token=READ,
    headers=(),
    length=True,
):
    """Write a request by hand."""
    lines = [f"{method} {path} HTTP/1.1".encode(), b"Host: 127.0.0.1"]
    if token is not None:
        lines.append(f"Authorization: Bearer {token}".encode())
    if kind:
        lines.append(f"Content-Type: {kind}".encode())
    if length:
        lines.append(f"Content-Length: {len(body)}".encode())
    lines += [h if isinstance(h, bytes) else h.encode() for h in headers]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def search(**content):
    return request(body=json.dumps(content).encode())


def raw_search(text):
    return request(body=text if isinstance(text, bytes) else text.encode())


def part(name, content, filename=None):
    shown = f'; filename="{filename}"' if filename is not None else ""
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"{shown}'
    return head.encode() + b"\r\n\r\n" + content + b"\r\n"


def form(*parts, path="/v1/search/image", end=True, **more):
    body = b"".join(parts) + (f"--{BOUNDARY}--\r\n".encode() if end else b"")
    kind = f"multipart/form-data; boundary={BOUNDARY}"
    return request(path=path, body=body, kind=kind, **more)


def image(content, **fields):
    parts = [part(name, value) for name, value in fields.items()]
    return form(part("image", content, "a.png"), *parts)


def png(width, height, rows=b""):
    """A PNG of any size in its header, with whatever in it."""

    def chunk(kind, content):
        check = zlib.crc32(kind + content)
        return (
            struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    packed = zlib.compress(rows)
    ends = chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", packed) + ends


def gif_bomb():
    return b"GIF89a" + struct.pack("<HH", 65535, 65535) + b"\xf0\0\0" + b"\0" * 6 + b";"


def tiff_bomb():
    entries = [(256, 4, 60000), (257, 4, 60000), (258, 3, 8), (259, 3, 1), (262, 3, 1)]
    body = struct.pack("<H", len(entries))
    for tag, kind, value in entries:
        body += struct.pack("<HHII", tag, kind, 1, value)
    return b"II*\0" + struct.pack("<I", 8) + body + b"\0" * 4


JPEG = picture_bytes("red", (300, 200), "JPEG")
PNG = picture_bytes()
DEEP = "[" * 50_000 + "]" * 50_000
JSON_TYPE = "application/json"

HOSTILE = {
    # texts and options of the wrong kind
    "no body": (raw_search(b""), {422}),
    "no json": (raw_search("text=beach"), {422}),
    "half a document": (raw_search('{"text": "beach"'), {422}),
    "a list": (raw_search('["beach"]'), {422}),
    "a number": (raw_search("5"), {422}),
    "null": (raw_search("null"), {422}),
    "nothing asked": (search(), {422}),
    "two things asked": (search(text="beach", id="scene1"), {422}),
    "text is a number": (search(text=5), {422}),
    "text is a list": (search(text=["beach"]), {422}),
    "text is empty": (search(text=""), {422}),
    "text is spaces": (search(text="   "), {422}),
    "text is long": (search(text="beach " * 2000), {422}),
    "text of nulls": (search(text="\0\0\0"), {422}),
    "text of odd unicode": (search(text="\u202e\u0000\uffff\U000e0041"), {422}),
    "half of a character": (raw_search(b'{"text": "\\ud800"}'), {422}),
    "bytes that are no utf-8": (raw_search(b'{"text": "\xff\xfe"}'), {400, 422}),
    "utf-16": (raw_search('{"text": 5}'.encode("utf-16")), {400, 422}),
    "unknown words": (search(text="zzzz qqqq"), {422}),
    "unknown option": (search(text="beach", shell="ls"), {422}),
    "k is zero": (search(text="beach", k=0), {422}),
    "k is negative": (search(text="beach", k=-5), {422}),
    "k is huge": (search(text="beach", k=10**9), {422}),
    "k has 400 digits": (raw_search(f'{{"text": "beach", "k": {"9" * 400}}}'), {422}),
    "k has 9000 digits": (
        raw_search(f'{{"text": "beach", "k": {"9" * 9000}}}'),
        {400, 422},
    ),
    "k is a text": (search(text="beach", k="5"), {422}),
    "k is true": (search(text="beach", k=True), {422}),
    "k is a fraction": (search(text="beach", k=1.5), {422}),
    "radius is negative": (search(text="beach", radius=-1), {422}),
    "radius is huge": (search(text="beach", radius=10**30), {422}),
    "probability is nan": (
        raw_search('{"text": "beach", "min_probability": NaN}'),
        {422},
    ),
    "probability is infinite": (
        raw_search('{"text": "beach", "min_probability": Infinity}'),
        {422},
    ),
    "probability over one": (search(text="beach", min_probability=1.01), {422}),
    "too many texts": (search(texts=["beach"] * 257), {422}),
    "too many results": (search(texts=["beach"] * 256, k=1000), {422}),
    "no texts": (search(texts=[]), {422}),
    "too many conditions": (search(text="beach", where=["label=x"] * 17), {422}),
    "a condition of no kind": (search(text="beach", where=["DROP TABLE"]), {422}),
    "sql in a column": (search(text="beach", where=["x' OR 1=1 --=2"]), {422}),
    "a long condition": (search(text="beach", where=["label=" + "x" * 2000]), {422}),
    "a deep condition": (search(text="beach", where=["label in " + "[" * 900]), {422}),
    "conditions are a text": (search(text="beach", where="label=x"), {422}),
    "id is unknown": (search(id="nobody"), {404}),
    "id is a path": (search(id="../../etc/passwd"), {404}),
    "id is long": (search(id="x" * 2000), {422}),
    "id re-ranked": (search(id="scene1", rerank=True), {422, 404}),
    "deep json": (raw_search(DEEP), {400, 422}),
    "deep json in a field": (raw_search('{"text": ' + DEEP + "}"), {400, 422}),
    "many keys": (raw_search(json.dumps({f"k{i}": i for i in range(20_000)})), {422}),
    "doubled key": (raw_search('{"text": "beach", "text": 5}'), {422}),
    "encode nothing": (request(path="/v1/encode", body=b"{}"), {422}),
    # pictures
    "no picture": (form(part("k", b"5")), {422}),
    "an empty form": (form(), {400, 422}),
    "an empty picture": (image(b""), {422}),
    "a text for a picture": (image(b"hello"), {422}),
    "a page for a picture": (image(b"<html><script>1</script>"), {422}),
    "a script for a picture": (image(b"<svg onload=alert(1)>"), {422}),
    "a program for a picture": (image(b"\x7fELF" + b"\0" * 100), {422}),
    "an archive for a picture": (image(b"PK\x03\x04" + b"\0" * 100), {422}),
    "postscript for a picture": (image(b"%!PS-Adobe-3.0 EPSF-3.0\n"), {422}),
    "a cut jpeg": (image(JPEG[: len(JPEG) // 2]), {422}),
    "a jpeg's head": (image(JPEG[:20]), {422}),
    "a cut png": (image(PNG[:50]), {422}),
    "a png of nothing": (image(png(100, 100)), {422}),
    "a png bomb": (image(png(30_000, 30_000, b"\0" * 10**6)), {422}),
    "a png of huge sides": (image(png(2**31 - 1, 2**31 - 1)), {422}),
    "a png of no sides": (image(png(0, 0)), {422}),
    "a gif bomb": (image(gif_bomb()), {422}),
    "a tiff bomb": (image(tiff_bomb()), {422}),
    "a zipped bomb": (image(zlib.compress(b"\0" * 50_000_000)), {422}),
    "picture as a field": (form(part("image", PNG)), {422}),
    "two pictures": (form(part("image", PNG, "a"), part("image", PNG, "b")), {422}),
    "a file for a field": (
        form(part("image", PNG, "a"), part("k", b"5", "k.txt")),
        {400, 422},
    ),
    "doubled field": (
        form(part("image", PNG, "a"), part("k", b"5"), part("k", b"6")),
        {422},
    ),
    "unknown field": (image(PNG, path=b"/etc/passwd"), {422}),
    "url of a picture": (image(PNG, url=b"http://169.254.169.254/"), {422}),
    "field of letters": (image(PNG, k=b"many"), {422}),
    "field not a number": (image(PNG, min_probability=b"nan"), {422}),
    "field of bytes": (image(PNG, k=b"\xff\xfe\0"), {400, 422}),
    "many parts": (form(*[part("where", b"label=x")] * 500), {400}),
    "no boundary": (
        request(path="/v1/search/image", body=b"x", kind="multipart/form-data"),
        {400},
    ),
    "a boundary that never comes": (
        request(
            path="/v1/search/image",
            body=b"x" * 1000,
            kind="multipart/form-data; boundary=y",
        ),
        {400, 422},
    ),
    "a form without an end": (
        form(part("image", PNG[:40], "a"), end=False),
        {400, 422},
    ),
    "a part without a name": (
        form(f"--{BOUNDARY}\r\n\r\nx\r\n".encode()),
        {400, 422},
    ),
    "json for a form": (request(path="/v1/search/image", body=b"{}"), {415}),
    # addresses
    "up the path": (request("GET", "/static/../../../etc/passwd"), {404}),
    "up the encoded path": (request("GET", "/static/%2e%2e%2f%2e%2e%2fapp.py"), {404}),
    "up the item path": (request("GET", "/v1/items/../../etc/passwd"), {404}),
    "up the encoded item": (
        request("GET", "/v1/items/..%2f..%2fetc%2fpasswd/picture"),
        {404},
    ),
    "an absolute item": (request("GET", "/v1/items/%2Fetc%2Fpasswd/picture"), {404}),
    "a file's url": (request("GET", "/v1/items/file%3A%2F%2F%2Fetc%2Fpasswd"), {404}),
    "a null in an id": (request("GET", "/v1/items/a%00b"), {404}),
    "an id of bytes": (request("GET", "/v1/items/%ff%fe"), {400}),
    "an id of too many letters": (request("GET", "/v1/items/" + "x" * 2000), {400}),
    "an empty id": (request("GET", "/v1/items/"), {404}),
    "a half escape": (request("GET", "/v1/items/%4/picture"), {404}),
    "a backslash": (request("GET", "/static/..\\..\\app.py"), {404}),
    "thumbnail of size 0": (request("GET", "/v1/items/x/thumbnail?size=0"), {422}),
    "thumbnail of size 1e9": (
        request("GET", "/v1/items/x/thumbnail?size=1000000000"),
        {422},
    ),
    "thumbnail of size nan": (request("GET", "/v1/items/x/thumbnail?size=nan"), {422}),
    "nowhere": (request("GET", "/admin"), {404}),
    "a doubled slash": (request("GET", "//v1/index"), {404}),
    "a proxied address": (request("GET", "http://example.com/"), {400, 404}),
    # methods and tokens
    "wrong method": (request("GET", "/v1/search", kind=""), {405}),
    "trace": (request("TRACE", "/v1/index", kind=""), {405}),
    "connect": (request("CONNECT", "example.com:443", kind=""), {400, 404, 405}),
    "an invented method": (request("FROB", "/v1/index", kind=""), {405}),
    "patch without a right": (request("PATCH", "/v1/items/x", b"{}"), {403}),
    "no token": (request(body=b'{"text": "beach"}', token=None), {401}),
    "a wrong token": (request(body=b"{}", token="x" * 40), {401}),
    "a token of bytes": (
        request(token=None, headers=[b"Authorization: Bearer \xff\xfe\xfd"]),
        {401},
    ),
    "a token of another scheme": (
        request(token=None, headers=[f"Authorization: Basic {READ}"]),
        {401},
    ),
    "two tokens": (request(headers=[f"Authorization: Bearer {WRITE}"]), {400}),
    "writing with a reading token": (request("PUT", "/v1/items/x", b"{}"), {403}),
    "removing with a reading token": (request("DELETE", "/v1/items/x", kind=""), {403}),
    "method in a header": (
        request(headers=["X-HTTP-Method-Override: DELETE"], body=b"{}"),
        {422},
    ),
    "put of dots": (request("PUT", "/v1/items/%2e%2e", b"{}", token=WRITE), {400}),
    "put of a line": (request("PUT", "/v1/items/a%0ab", b"{}", token=WRITE), {400}),
    "put of nothing": (request("PUT", "/v1/items/x", b"{}", token=WRITE), {422}),
    "put of a path": (
        request("PUT", "/v1/items/x", b'{"image": "/etc/passwd"}', token=WRITE),
        {422},
    ),
    "put of no type": (request("PUT", "/v1/items/x", b"{}", "", token=WRITE), {415}),
    "put of deep json": (
        request("PUT", "/v1/items/x", DEEP.encode(), token=WRITE),
        {422},
    ),
    # heads and lengths
    "a body too large": (raw_search(b" " * (2**20 + 1)), {413}),
    "a length too large": (
        request(length=False, headers=["Content-Length: 99999999999"]),
        {413},
    ),
    "a length of 30 digits": (
        request(length=False, headers=["Content-Length: " + "9" * 30]),
        {400, 413},
    ),
    "a negative length": (request(length=False, headers=["Content-Length: -1"]), {400}),
    "two lengths": (
        request(length=False, headers=["Content-Length: 5", "Content-Length: 6"]),
        {400},
    ),
    "length and chunks": (
        request(
            length=False,
            headers=["Content-Length: 4", "Transfer-Encoding: chunked"],
            body=b"0\r\n\r\n",
        ),
        {400},
    ),
    "an unknown coding": (
        request(length=False, headers=["Transfer-Encoding: gzip"]),
        {400, 501},
    ),
    "two codings": (
        request(length=False, headers=["Transfer-Encoding: chunked, chunked"]),
        {400, 501},
    ),
    "a chunk of no length": (
        request(length=False, headers=["Transfer-Encoding: chunked"], body=b"zz\r\n"),
        {400},
    ),
    "a packed body": (
        request(body=zlib.compress(b"{}"), headers=["Content-Encoding: gzip"]),
        {415},
    ),
    "a body to GET": (request("GET", "/v1/index", b"{}"), {400}),
    "a giant header": (
        request("GET", "/v1/index", headers=["X: " + "x" * 10**6]),
        {400, 431},
    ),
    "many headers": (
        request("GET", "/v1/index", headers=[f"X{i}: y" for i in range(20_000)]),
        {400, 431},
    ),
    "a giant address": (request("GET", "/v1/index?" + "x" * 10**6), {400, 414}),
    "a folded header": (
        request("GET", "/v1/nothing", headers=["X: a", " b"]),
        {400, 404},
    ),
    "a header without a name": (request("GET", "/v1/index", headers=[": x"]), {400}),
    "a space in a header": (request("GET", "/v1/index", headers=["X y: z"]), {400}),
    "a null in a header": (request("GET", "/v1/index", headers=[b"X: a\0b"]), {400}),
    "no host": (b"GET /v1/index HTTP/1.1\r\n\r\n", {400}),
    "two hosts": (request("GET", "/v1/index", headers=["Host: evil"]), {400}),
    "no http": (b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03" + b"\0" * 100, {400}),
    "another protocol": (b"SSH-2.0-OpenSSH_9.0\r\n\r\n", {400}),
    "http/3": (b"GET / HTTP/3.0\r\nHost: x\r\n\r\n", {400}),
    "http/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", {400}),
    "a line feed alone": (b"GET /nowhere HTTP/1.1\nHost: a\nX\n\n", {400}),
    "a websocket": (
        request(
            "GET",
            "/v1/nothing",
            kind="",
            headers=["Connection: Upgrade", "Upgrade: websocket"],
        ),
        {400, 404},
    ),
    "another's address": (
        request("GET", "/v1/index", token=None, headers=["X-Forwarded-For: 127.0.0.1"]),
        {401},
    ),
}


def test_the_list_is_long_enough():
    assert len(HOSTILE) >= 60


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_request_is_refused(target, name):
    content, allowed = HOSTILE[name]
    status, body = send(target, content)
    assert status in allowed, (status, body[:500])
    if body and name != "trace":
        told = json.loads(body)["error"]
        assert told["code"]
        assert told["message"]
        assert "/scenes" not in told["message"]
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
    import httpx

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


def test_a_slow_body_is_not_waited_for(target):
    head = request(length=False, headers=["Content-Length: 1000"])
    status, body = send(target, head + b"{")
    assert status == 408
    assert json.loads(body)["error"]["code"] == "slow_body"


def test_a_slow_chunked_body_is_not_waited_for(target):
    head = request(length=False, headers=["Transfer-Encoding: chunked"])
    assert send(target, head + b"5\r\n{")[0] == 408


def test_a_chunked_body_is_counted_while_it_comes(target):
    head = request(length=False, headers=["Transfer-Encoding: chunked"])
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    assert send(target, head, *[chunk] * 17)[0] == 413


def test_a_head_that_never_ends_is_cut_off(target):
    assert send(target, b"GET / HTTP/1.1\r\nHost: a\r\nX: ") == (0, b"")


def test_a_connection_that_says_nothing_is_cut_off(target):
    assert send(target, b"") == (0, b"")


def test_a_client_that_leaves_does_no_harm(target):
    for content in (b"GET", request(body=b'{"te')[:-2], search(text="beach")):
        with socket.create_connection(("127.0.0.1", target.port)) as connection:
            connection.sendall(content)


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
    status, body = send(target, content)
    assert status == 400
    assert b"alive" not in body


def test_large_pictures_within_the_limits_are_searched_with(target):
    out = io.BytesIO()
    Image.new("RGB", (1900, 1900), "red").save(out, "PNG")
    assert len(out.getvalue()) < LIMITS.body_bytes
    with target.client(READ) as client:
        assert client.by_image(out.getvalue(), k=1).ids
