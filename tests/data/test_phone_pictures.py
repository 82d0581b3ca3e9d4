"""AVIF and HEIC: the same pixels, limits and refusals as other formats."""

import io
from contextlib import suppress
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from fdch.data.pairs import PairedSet
from fdch.data.pictures import decoding
from fdch.data.pictures.decoding import PictureLimits, decode, picture_size, shrink
from fdch.errors import BrokenPicture

KINDS = ["AVIF", "HEIF"]


def encoded(kind, size=(64, 32)):
    if find_spec("PIL._avif" if kind == "AVIF" else "pillow_heif") is None:
        pytest.skip(f"{kind} is not installed")
    if kind == "HEIF":
        decoding._register_heif()
    picture = Image.new("RGB", size, (200, 30, 30))
    picture.paste((30, 30, 200), (size[0] // 2, 0, *size))
    content = io.BytesIO()
    picture.save(content, kind)
    return content.getvalue()


@pytest.mark.parametrize("kind", KINDS)
def test_a_picture_decodes_to_its_pixels(kind):
    content = encoded(kind)
    pixels = decode(content, 8).astype(int)
    assert np.abs(pixels[:, 1] - (200, 30, 30)).max() < 30
    assert np.abs(pixels[:, -2] - (30, 30, 200)).max() < 30
    assert picture_size(content) == (64, 32)
    with Image.open(io.BytesIO(shrink(content, 16))) as small:
        assert (small.format, small.size) == ("JPEG", (16, 8))


@pytest.mark.parametrize("kind", KINDS)
def test_limits_are_those_of_other_formats(kind):
    content = encoded(kind)
    with pytest.raises(BrokenPicture, match="64 x 32 pixels; the limit is 2,000"):
        decode(content, 8, PictureLimits(pixels=2000))
    with pytest.raises(BrokenPicture, match="bytes; the limit is 100"):
        decode(content, 8, PictureLimits(bytes=100))
    with pytest.raises(BrokenPicture, match=r"is not supported here\. Send it as JPEG"):
        decode(content, 8, PictureLimits(quick=True))


@pytest.mark.parametrize("kind", KINDS)
def test_a_cut_picture_is_broken(kind):
    content = encoded(kind)
    for share in (0.1, 0.5, 0.9):
        with pytest.raises(BrokenPicture):
            decode(content[: int(len(content) * share)], 8)


@pytest.mark.parametrize("kind", KINDS)
@given(changes=st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255))))
def test_any_damage_gives_a_picture_or_broken_picture(kind, changes):
    content = bytearray(encoded(kind))
    for place, value in changes:
        content[place % len(content)] = value
    with suppress(BrokenPicture):
        assert decode(bytes(content), 8).shape == (8, 8, 3)


def test_what_is_not_installed_is_named(monkeypatch):
    monkeypatch.setattr(decoding, "find_spec", lambda name: None)
    for brand, message in ((b"heic", r"pip install 'fdch\[heif\]'"), (b"avif", "AVIF")):
        with pytest.raises(BrokenPicture, match=message):
            decode(b"\0\0\0\x18ftyp" + brand + bytes(100), 8)


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_of_them_is_read(kind, tmp_path):
    ending = {"AVIF": "avif", "HEIF": "HEIC"}[kind]
    (tmp_path / "beach").mkdir()
    (tmp_path / "beach" / f"1.{ending}").write_bytes(encoded(kind))
    pairs = PairedSet.read(tmp_path).without_broken_pictures()
    assert pairs.label_names == ("beach",) and pairs.images.present.all()


def test_the_current_folder_has_its_own_name(tmp_path, monkeypatch):
    folder = tmp_path / "holiday"
    (folder / "beach").mkdir(parents=True)
    (folder / "beach" / "1.avif").write_bytes(encoded("AVIF"))
    monkeypatch.chdir(folder)
    assert PairedSet.read(".").name == "holiday"
