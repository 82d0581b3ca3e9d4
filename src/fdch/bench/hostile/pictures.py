"""Broken pictures, and pictures made to be too large or too slow to decode."""

import io
import struct
import zlib
from collections.abc import Iterable

from PIL import Image

from fdch.bench.serving.raw_requests import (
    BOUNDARY,
    Requests,
    form,
    image,
    part,
    picture_bytes,
    request,
)

SIGNATURE = b"\x89PNG\r\n\x1a\n"
JPEG = picture_bytes("red", (300, 200), "JPEG")
PNG = picture_bytes()
GIF_BOMB = b"GIF89a" + b"\xff" * 4 + b"\xf0\0\0" + b"\0" * 6 + b";"  # 65,535 squared
# 36 bytes that declare 7070 x 7070 pixels of one colour
WEBP_BOMB = bytes.fromhex(
    "524946461c000000574542505650384c0f0000002f9d5be7160710fd8f920522a2ff0100"
)


def png(
    width: int, height: int, packed: bytes, depth: int = 8, colour: int = 2
) -> bytes:
    """Return a PNG of any size in its header, with whatever packed into it."""
    head = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return SIGNATURE + b"".join(
        [png_chunk(b"IHDR", head), png_chunk(b"IDAT", packed), png_chunk(b"IEND", b"")]
    )


def png_chunk(kind: bytes, content: bytes) -> bytes:
    """Return a chunk of a PNG."""
    checksum = struct.pack(">I", zlib.crc32(kind + content))
    return struct.pack(">I", len(content)) + kind + content + checksum


def pack_zeros(length: int) -> bytes:
    """Compress a number of MiB of zeros."""
    packer, zeros = zlib.compressobj(1), bytes(2**20)
    return b"".join(packer.compress(zeros) for _ in range(length)) + packer.flush()


def png_of_pieces() -> bytes:
    """Return a small PNG with many chunks that say nothing."""
    start = len(SIGNATURE) + 25
    return PNG[:start] + png_chunk(b"abCd", b"") * 800_000 + PNG[start:]


def jpeg_of_scans() -> bytes:
    """Return a JPEG whose last scan comes four thousand times."""
    out = io.BytesIO()
    Image.new("L", (2000, 2000), 128).save(out, "JPEG", progressive=True)
    content, end = out.getvalue()[:-2], out.getvalue()[-2:]
    return content + content[content.rindex(b"\xff\xc4") :] * 4000 + end


def tiff(entries: Iterable[tuple[int, int, int, int]], rest: bytes = b"") -> bytes:
    """Return a TIFF of these tags, types, counts and values, and what they point to."""
    listed = [struct.pack("<HHII", *entry) for entry in entries]
    start = b"II*\0" + struct.pack("<IH", 8, len(listed))
    return start + b"".join(listed) + b"\0" * 4 + rest


def tiff_bomb() -> bytes:
    """Return a TIFF that says it is huge."""
    sides = ((256, 4, 1, 60000), (257, 4, 1, 60000))
    return tiff((*sides, (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1)))


def tiff_of_strips(strips: int = 10**6) -> bytes:
    """Return a TIFF with a strip for every row."""
    kinds = ((256, 4, 1, 4), (257, 4, 1, strips), (258, 3, 1, 8), (259, 3, 1, 1))
    rest = 8 + 2 + 8 * 12 + 4
    places = ((273, 4, strips, rest), (279, 4, strips, rest + 4 * strips))
    entries = (*kinds, (262, 3, 1, 1), places[0], (278, 4, 1, 1), places[1])
    return tiff(entries, struct.pack("<I", 8) * strips + struct.pack("<I", 4) * strips)


INVALID_PICTURES: Requests = {
    "no picture": form(part("k", b"5")),
    "an empty form": form(),
    "an empty picture": image(b""),
    "a text for a picture": image(b"hello"),
    "a page for a picture": image(b"<html><script>1</script>"),
    "a script for a picture": image(b"<svg onload=alert(1)>"),
    "a program for a picture": image(b"\x7fELF" + b"\0" * 100),
    "an archive for a picture": image(b"PK\x03\x04" + b"\0" * 100),
    "postscript for a picture": image(b"%!PS-Adobe-3.0 EPSF-3.0\n"),
    "a cut jpeg": image(JPEG[: len(JPEG) // 2]),
    "a jpeg's head": image(JPEG[:20]),
    "a cut png": image(PNG[:50]),
    "a png of nothing": image(png(100, 100, b"")),
    "a png bomb": image(png(30_000, 30_000, pack_zeros(1))),
    "a png of huge sides": image(png(2**31 - 1, 2**31 - 1, b"")),
    "a png of no sides": image(png(0, 0, b"")),
    "a gif bomb": image(GIF_BOMB),
    "a tiff bomb": image(tiff_bomb()),
    "a webp bomb": image(WEBP_BOMB),
    # at the service's limit of pixels, each of 8 bytes, but for the end
    "a cut large png": image(png(4096, 4096, pack_zeros(127), 16, 6)),
    "a png of many pieces": image(png_of_pieces()),
    "a jpeg of many pieces": image(JPEG[:2] + b"\xff\xfe\0\x02" * 2_400_000 + JPEG[2:]),
    "a jpeg of padding": image(JPEG[:2] + b"\xff" * 9_000_000 + JPEG[2:]),
    "a jpeg of many scans": image(jpeg_of_scans()),
    "a tiff of many strips": image(tiff_of_strips()),
    "a zipped bomb": image(zlib.compress(b"\0" * 50_000_000)),
    "picture as a field": form(part("image", PNG)),
    "two pictures": form(part("image", PNG, "a"), part("image", PNG, "b")),
    "a file for a field": form(part("image", PNG, "a"), part("k", b"5", "k.txt")),
    "doubled field": form(part("image", PNG, "a"), part("k", b"5"), part("k", b"6")),
    "unknown field": image(PNG, path=b"/etc/passwd"),
    "url of a picture": image(PNG, url=b"http://169.254.169.254/"),
    "field of letters": image(PNG, k=b"many"),
    "field not a number": image(PNG, min_probability=b"nan"),
    "field of bytes": image(PNG, k=b"\xff\xfe\0"),
}
MALFORMED_FORMS: Requests = {
    "many parts": form(*[part("where", b"label=x")] * 500),
    "no boundary": request(
        path="/v1/search/image", body=b"x", kind="multipart/form-data"
    ),
    "a boundary that never comes": request(
        path="/v1/search/image",
        body=b"x" * 1000,
        kind="multipart/form-data; boundary=y",
    ),
    "a form without an end": form(part("image", PNG[:40], "a"), end=False),
    "a part without a name": form(f"--{BOUNDARY}\r\n\r\nx\r\n".encode()),
}
