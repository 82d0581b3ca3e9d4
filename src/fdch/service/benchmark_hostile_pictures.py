"""Pictures that are none, are broken, or would be too large or too slow to decode."""

import struct
import zlib
from collections.abc import Iterable

from fdch.service.benchmark_requests import (
    BOUNDARY,
    Requests,
    form,
    image,
    part,
    picture_bytes,
    request,
)


def png(width: int, height: int, rows: bytes = b"") -> bytes:
    """Give a PNG of any size in its header, with whatever in it."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + png_chunks(chunks)


def png_chunks(chunks: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Give chunks as they stand in a PNG."""
    return b"".join(
        struct.pack(">I", len(content))
        + kind
        + content
        + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in chunks
    )


def gif_bomb() -> bytes:
    """Give a GIF that says it is huge."""
    return b"GIF89a" + struct.pack("<HH", 65535, 65535) + b"\xf0\0\0" + b"\0" * 6 + b";"


def tiff_bomb() -> bytes:
    """Give a TIFF that says it is huge."""
    entries = [(256, 4, 60000), (257, 4, 60000), (258, 3, 8), (259, 3, 1), (262, 3, 1)]
    body = struct.pack("<H", len(entries))
    for tag, kind, value in entries:
        body += struct.pack("<HHII", tag, kind, 1, value)
    return b"II*\0" + struct.pack("<I", 8) + body + b"\0" * 4


JPEG = picture_bytes("red", (300, 200), "JPEG")
PNG = picture_bytes()
PICTURES: Requests = {
    "no picture": (form(part("k", b"5")), 422),
    "an empty form": (form(), 422),
    "an empty picture": (image(b""), 422),
    "a text for a picture": (image(b"hello"), 422),
    "a page for a picture": (image(b"<html><script>1</script>"), 422),
    "a script for a picture": (image(b"<svg onload=alert(1)>"), 422),
    "a program for a picture": (image(b"\x7fELF" + b"\0" * 100), 422),
    "an archive for a picture": (image(b"PK\x03\x04" + b"\0" * 100), 422),
    "postscript for a picture": (image(b"%!PS-Adobe-3.0 EPSF-3.0\n"), 422),
    "a cut jpeg": (image(JPEG[: len(JPEG) // 2]), 422),
    "a jpeg's head": (image(JPEG[:20]), 422),
    "a cut png": (image(PNG[:50]), 422),
    "a png of nothing": (image(png(100, 100)), 422),
    "a png bomb": (image(png(30_000, 30_000, b"\0" * 10**6)), 422),
    "a png of huge sides": (image(png(2**31 - 1, 2**31 - 1)), 422),
    "a png of no sides": (image(png(0, 0)), 422),
    "a gif bomb": (image(gif_bomb()), 422),
    "a tiff bomb": (image(tiff_bomb()), 422),
    "a zipped bomb": (image(zlib.compress(b"\0" * 50_000_000)), 422),
    "picture as a field": (form(part("image", PNG)), 422),
    "two pictures": (form(part("image", PNG, "a"), part("image", PNG, "b")), 422),
    "a file for a field": (
        form(part("image", PNG, "a"), part("k", b"5", "k.txt")),
        422,
    ),
    "doubled field": (
        form(part("image", PNG, "a"), part("k", b"5"), part("k", b"6")),
        422,
    ),
    "unknown field": (image(PNG, path=b"/etc/passwd"), 422),
    "url of a picture": (image(PNG, url=b"http://169.254.169.254/"), 422),
    "field of letters": (image(PNG, k=b"many"), 422),
    "field not a number": (image(PNG, min_probability=b"nan"), 422),
    "field of bytes": (image(PNG, k=b"\xff\xfe\0"), 422),
    "many parts": (form(*[part("where", b"label=x")] * 500), 400),
    "no boundary": (
        request(path="/v1/search/image", body=b"x", kind="multipart/form-data"),
        400,
    ),
    "a boundary that never comes": (
        request(
            path="/v1/search/image",
            body=b"x" * 1000,
            kind="multipart/form-data; boundary=y",
        ),
        400,
    ),
    "a form without an end": (
        form(part("image", PNG[:40], "a"), end=False),
        400,
    ),
    "a part without a name": (
        form(f"--{BOUNDARY}\r\n\r\nx\r\n".encode()),
        400,
    ),
    "json for a form": (request(path="/v1/search/image", body=b"{}"), 415),
}
