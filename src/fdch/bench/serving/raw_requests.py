"""Requests written byte by byte, so that they can be wrong in any way."""

import io
import json
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from http.client import HTTPException, HTTPResponse
from typing import NamedTuple

from PIL import Image

READ, WRITE = "a-token-for-reading", "a-token-for-writing"
BOUNDARY = "----fdch"
TIMEOUT = 60.0
Requests = dict[str, bytes]


class Received(NamedTuple):
    """A reply."""

    status: int  # 0 where the connection was closed without a reply
    body: bytes
    seconds: float  # from connecting to the last byte of the reply


def send(port: int, content: bytes) -> Received:
    """Send raw bytes to this machine and wait for the reply."""
    began = time.perf_counter()
    status, body = 0, b""
    with socket.create_connection(("127.0.0.1", port), TIMEOUT) as connection:
        # a server that refuses early may close before all was sent
        with suppress(ConnectionError):
            connection.sendall(content)
        with (
            suppress(ConnectionError, HTTPException),
            HTTPResponse(connection) as reply,
        ):
            reply.begin()
            status = reply.status
            body = reply.read()
    return Received(status, body, time.perf_counter() - began)


def request(
    method: str = "POST",
    path: str = "/v1/search",
    body: bytes = b"",
    kind: str = "application/json",
    token: str | None = READ,
    headers: Sequence[str | bytes] = (),
    length: bool = True,
) -> bytes:
    """Write a request by hand."""
    lines = [f"{method} {path} HTTP/1.1".encode(), b"Host: 127.0.0.1"]
    if token is not None:
        lines.append(f"Authorization: Bearer {token}".encode())
    if kind:
        lines.append(f"Content-Type: {kind}".encode())
    if length:
        lines.append(f"Content-Length: {len(body)}".encode())
    lines += [each if isinstance(each, bytes) else each.encode() for each in headers]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def get(path: str, *headers: str | bytes) -> bytes:
    """Write a request for a page."""
    return request("GET", path, headers=headers)


def put(path: str, body: bytes) -> bytes:
    """Write a request to store an item, with the right to do so."""
    return request("PUT", path, body, token=WRITE)


def search_with_headers(*headers: str, body: bytes = b"") -> bytes:
    """Write a search whose headers say how long the body is, rightly or not."""
    return request(length=False, headers=headers, body=body)


def search(**content: object) -> bytes:
    """Write a search."""
    return request(body=json.dumps(content).encode())


def raw_search(text: str | bytes) -> bytes:
    """Write a search with whatever for a body."""
    return request(body=text if isinstance(text, bytes) else text.encode())


def part(name: str, content: bytes, filename: str | None = None) -> bytes:
    """Write a part of a form."""
    shown = f'; filename="{filename}"' if filename is not None else ""
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"{shown}'
    return head.encode() + b"\r\n\r\n" + content + b"\r\n"


def form(*parts: bytes, end: bool = True) -> bytes:
    """Write a search whose body is a form."""
    body = b"".join(parts) + (f"--{BOUNDARY}--\r\n".encode() if end else b"")
    kind = f"multipart/form-data; boundary={BOUNDARY}"
    return request(path="/v1/search/image", body=body, kind=kind)


def image(content: bytes, **fields: bytes) -> bytes:
    """Write a search with a picture."""
    parts = [part(name, value) for name, value in fields.items()]
    return form(part("image", content, "a.png"), *parts)


def picture_bytes(
    colour: str = "red", size: tuple[int, int] = (40, 30), kind: str = "PNG"
) -> bytes:
    """Return a picture of one colour as a file's content."""
    out = io.BytesIO()
    Image.new("RGB", size, colour).save(out, kind)
    return out.getvalue()
