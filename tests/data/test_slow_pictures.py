"""Pictures made to take long are refused where that is requested; photos are not."""

import io
import random
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from fdch.data.pictures.decoding import PictureLimits, decode, picture_format
from fdch.errors import BrokenPicture

QUICK = PictureLimits(quick=True)
TABLES, SCAN = b"\xff\xc4", b"\xff\xda"


def saved(kind, size=(64, 48), mode="RGB", **options):
    width, height = size
    noise = np.random.default_rng(0).integers(0, 256, (height, width, len(mode)))
    out = io.BytesIO()
    Image.fromarray(noise.astype(np.uint8).squeeze(), mode).save(out, kind, **options)
    return out.getvalue()


def with_scans(scans, size=(64, 64)):
    """A grey JPEG whose last scan, which says nothing, comes so often again."""
    out = io.BytesIO()
    Image.new("L", size, 128).save(out, "JPEG", progressive=True)
    content = out.getvalue()
    last = content[content.rindex(TABLES) : -2]
    return content[:-2] + last * scans + content[-2:]


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF"])
def test_plain_pictures_are_decoded_as_ever(kind):
    content = saved(kind)
    assert np.array_equal(decode(content, 32, QUICK), decode(content, 32))


@pytest.mark.parametrize("mode", ["L", "RGB", "CMYK"])
def test_progressive_photos_are_decoded(mode):
    assert decode(saved("JPEG", mode=mode, progressive=True), 16, QUICK).any()


def test_what_follows_a_photo_is_not_looked_at():
    """Phones append films, in which anything may look like a marker."""
    film = random.Random(0).randbytes(2**16) + SCAN * 10_000
    assert picture_format(saved("JPEG") + film, QUICK) == "JPEG"


def test_many_scans_of_a_large_picture_are_refused():
    content = with_scans(200, (3000, 3000))
    with pytest.raises(BrokenPicture, match="206 scans are too many"):
        picture_format(content, QUICK)
    assert picture_format(content) == "JPEG"


def test_few_scans_of_it_or_many_of_a_small_one_are_not():
    assert picture_format(with_scans(10, (3000, 3000)), QUICK) == "JPEG"
    assert picture_format(with_scans(200), QUICK) == "JPEG"


def test_an_end_inside_a_comment_hides_no_scans():
    content = with_scans(200, (3000, 3000))
    place = content.rindex(TABLES)
    comment = b"\xff\xfe\0\x04\xff\xd9"
    with pytest.raises(BrokenPicture, match="scans"):
        picture_format(content[:place] + comment + content[place:], QUICK)


def pieces_of_png():
    start = 33
    chunk = b"\0\0\0\0abCd" + struct.pack(">I", zlib.crc32(b"abCd"))
    content = saved("PNG")
    return content[:start] + chunk * 50_000 + content[start:]


def pieces_of_jpeg(piece, count):
    content = saved("JPEG")
    return content[:2] + piece * count + content[2:]


def pieces_of_tiff(order="<", version=42):
    entries = [(256, 4, 1, 4), (257, 4, 1, 70_000), (273, 4, 70_000, 8)]
    listed = [struct.pack(f"{order}HHII", *entry) for entry in entries]
    mark = b"II" if order == "<" else b"MM"
    start = mark + struct.pack(f"{order}HIH", version, 8, len(entries))
    return start + b"".join(listed) + b"\0" * 300_000


@pytest.mark.parametrize(
    "content",
    [
        pieces_of_png(),
        pieces_of_jpeg(b"\xff\xfe\0\x02", 600),
        pieces_of_jpeg(b"\xff", 200_000),
        pieces_of_tiff(),
        pieces_of_tiff(">"),
        pieces_of_tiff(version=43),
    ],
    ids=["png", "jpeg", "padding", "tiff", "other tiff", "big tiff"],
)
def test_too_many_pieces_are_refused(content):
    with pytest.raises(BrokenPicture, match="too many pieces"):
        decode(content, 16, QUICK, "the picture")


def test_a_cut_tiff_is_broken_as_ever():
    for length in (3, 9, 30):
        with pytest.raises(BrokenPicture):
            decode(saved("TIFF")[:length], 16, QUICK)


def test_what_is_decoded_whole_may_have_fewer_pixels():
    limits = PictureLimits(pixels=10_000, quick=True)
    assert decode(saved("JPEG", (100, 100)), 16, limits).any()
    assert decode(saved("PNG", (100, 35)), 16, limits).any()
    with pytest.raises(BrokenPicture, match="the limit is 3,500 in all"):
        decode(saved("PNG", (100, 36)), 16, limits)
    assert decode(saved("PNG", (100, 100)), 16, PictureLimits(pixels=10_000)).any()
