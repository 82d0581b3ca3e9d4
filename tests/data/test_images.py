"""Pictures: decoding under limits, and row containers."""

import hashlib
import io
import os
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from fdch.data.pictures.batches import check_pictures, decode_batches
from fdch.data.pictures.decoding import decode
from fdch.data.pictures.images import (
    ImageFeatures,
    PictureArray,
    PictureContents,
    PictureFiles,
    PictureLimits,
    thumbnail,
)
from fdch.data.rows import Digest
from fdch.errors import BrokenPicture, DataError, MissingPicture, SettingError
from fdch.progress import Update

RED = (255, 0, 0)


def encoded(picture, format="PNG", **options):
    out = io.BytesIO()
    picture.save(out, format, **options)
    return out.getvalue()


def noise(width=160, height=120, seed=0):
    rng = np.random.default_rng(seed)
    return Image.fromarray(rng.integers(0, 256, (height, width, 3), dtype=np.uint8))


def halves(left=RED, right=(0, 0, 255), size=(64, 32)):
    picture = Image.new("RGB", size, left)
    picture.paste(right, (size[0] // 2, 0, size[0], size[1]))
    return picture


def png_header(width, height):
    """A PNG that says how large it is, and holds next to nothing."""

    def chunk(kind, content):
        check = zlib.crc32(kind + content)
        return (
            struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    start = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
    return start + chunk(b"IDAT", zlib.compress(b"\0" * 10)) + chunk(b"IEND", b"")


@pytest.fixture
def files(tmp_path):
    paths = []
    for number in range(5):
        path = tmp_path / f"{number}.png"
        path.write_bytes(encoded(Image.new("RGB", (9, 7), (number * 40, 0, 0))))
        paths.append(path)
    return paths


@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF"])
def test_known_formats_decode_to_a_square(format):
    pixels = decode(encoded(Image.new("RGB", (40, 30), RED), format), 16)
    assert pixels.shape == (16, 16, 3) and pixels.dtype == np.uint8
    assert np.abs(pixels.astype(int) - RED).max() <= 3


def test_the_whole_picture_is_squashed_not_cropped():
    pixels = decode(encoded(halves()), 8)
    assert pixels[:, 0].tolist() == [list(RED)] * 8
    assert pixels[:, -1].tolist() == [[0, 0, 255]] * 8


def test_a_large_photo_reduced_early_is_nearly_the_plain_resize():
    photo = Image.linear_gradient("L").resize((1600, 1200)).convert("RGB")
    content = encoded(photo, "JPEG", quality=95)
    plain = photo.resize((64, 64), Image.Resampling.BICUBIC)
    gap = decode(content, 64).astype(int) - np.asarray(plain).astype(int)
    assert np.abs(gap).mean() < 2


@pytest.mark.parametrize(
    ("mode", "options"),
    [
        ("RGB", {}),
        ("RGB", {"progressive": True, "subsampling": 0}),
        ("L", {}),
        ("CMYK", {}),
        ("RGB", {"format": "PNG"}),
        ("RGB", {"format": "WEBP"}),
    ],
)
@pytest.mark.parametrize("side", [20, 64, 700])
def test_pixels_are_those_that_features_were_kept_for(mode, options, side):
    """Where they change, networks.features.REVISION has to be raised."""
    photo = noise(16, 9).resize((side, side * 3 // 4)).convert(mode)
    content = encoded(photo, **{"format": "JPEG", **options})
    with Image.open(io.BytesIO(content)) as picture:
        picture.draft("RGB", (128, 128))
        plain = picture.convert("RGB").resize(
            (64, 64), Image.Resampling.BICUBIC, reducing_gap=2.0
        )
    out = np.empty((64, 64, 3), dtype=np.uint8)
    assert decode(content, 64, out=out) is out
    assert np.array_equal(out, np.asarray(plain))
    assert np.array_equal(out, decode(content, 64))


def test_exif_orientation_is_applied():
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was turned: what is stored left belongs on top
    turned = decode(encoded(halves(), "PNG", exif=exif), 8)
    assert turned[0].tolist() == [list(RED)] * 8
    assert turned[-1].tolist() == [[0, 0, 255]] * 8


@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation_is_applied_as_pillow_does(orientation):
    from PIL import ImageOps

    exif = Image.Exif()
    exif[0x0112] = orientation
    content = encoded(noise(16, 16), "PNG", exif=exif)
    with Image.open(io.BytesIO(content)) as picture:
        expected = np.asarray(ImageOps.exif_transpose(picture).convert("RGB"))
    assert np.array_equal(decode(content, 16), expected)


def test_transparent_parts_become_white():
    clear = Image.new("RGBA", (8, 8), (0, 0, 0, 0))
    assert decode(encoded(clear), 4).min() == 255
    half = Image.new("RGBA", (8, 8), (0, 0, 0, 128))
    assert np.abs(decode(encoded(half), 4).astype(int) - 127).max() <= 1
    grey = Image.new("LA", (8, 8), (0, 0))
    assert decode(encoded(grey), 4).min() == 255


def test_a_palette_with_transparency_becomes_white():
    palette = Image.new("P", (8, 8), 0)
    palette.putpalette([0, 0, 0, 255, 0, 0])
    assert decode(encoded(palette, transparency=b"\x00\xff"), 4).min() == 255
    assert decode(encoded(palette, "GIF", transparency=0), 4).min() == 255
    assert decode(encoded(palette), 4).max() == 0


def test_cmyk_grey_and_single_bit_pictures_become_rgb():
    cmyk = Image.new("CMYK", (8, 8), (0, 255, 255, 0))
    assert np.abs(decode(encoded(cmyk, "JPEG"), 4).astype(int) - RED).max() <= 3
    assert (decode(encoded(Image.new("L", (8, 8), 77)), 4) == 77).all()
    assert (decode(encoded(Image.new("1", (8, 8), 1)), 4) == 255).all()


def test_sixteen_bits_are_scaled_to_eight():
    deep = Image.fromarray(np.full((8, 8), 0x8000, dtype=np.uint16))
    assert (decode(encoded(deep), 4) == 128).all()
    assert (decode(encoded(deep, "TIFF"), 4) == 128).all()


def test_real_values_and_wide_whole_numbers_are_brought_to_eight_bits():
    shares = Image.fromarray(np.full((8, 8), 0.5, dtype=np.float32))
    assert (decode(encoded(shares, "TIFF"), 4) == 127).all()
    wide = Image.fromarray(np.full((8, 8), 200, dtype=np.int32))
    assert (decode(encoded(wide, "TIFF"), 4) == 200).all()


def test_of_an_animation_the_first_frame_is_taken():
    frames = [Image.new("RGB", (8, 8), colour) for colour in ("red", "blue")]
    moving = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])
    assert decode(moving, 4)[0, 0].tolist() == list(RED)


@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF"])
@pytest.mark.parametrize("share", [0.02, 0.5, 0.9])
def test_a_truncated_file_is_broken_and_named(tmp_path, format, share):
    whole = encoded(noise(), format)
    path = tmp_path / "half.jpg"
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(BrokenPicture, match=r"half\.jpg"):
        PictureFiles([path]).decode(0, 16)


@pytest.mark.parametrize("side", [8_000, 12_000, 30_000])
def test_a_picture_of_too_many_pixels_is_refused_by_its_header(side):
    with pytest.raises(BrokenPicture, match="pixels; the limit is 50,000,000"):
        decode(png_header(side, side), 16)


def test_a_picture_just_over_the_limits_is_refused_and_at_them_is_not():
    content = encoded(Image.new("RGB", (10, 10)))
    decode(content, 4, PictureLimits(pixels=100, bytes=len(content)))
    with pytest.raises(BrokenPicture, match=r"10 x 10 pixels; the limit is 99"):
        decode(content, 4, PictureLimits(pixels=99))
    with pytest.raises(BrokenPicture, match="bytes; the limit"):
        decode(content, 4, PictureLimits(bytes=len(content) - 1))


def test_impossible_limits_are_refused():
    for bytes, pixels in ((0, 1), (1, 0), (1, 10**9)):
        with pytest.raises(SettingError, match="picture limits"):
            PictureLimits(bytes, pixels)


def test_other_formats_are_not_opened():
    for content in (encoded(noise(), "PPM"), b"", b"%PDF-1.7", b"<svg/>"):
        with pytest.raises(BrokenPicture, match="known format"):
            decode(content, 16)


def test_damaged_exif_does_not_matter():
    exif = b"Exif\0\0II*\0\x08\0\0\0\xff\xff\x12\x01\x03\0\xff\xff\xff\xff"
    assert decode(encoded(noise(), "JPEG", exif=exif), 16).shape == (16, 16, 3)


@given(
    st.sampled_from(["JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF"]),
    st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), max_size=8),
    st.integers(0, 10_000),
)
def test_any_damage_gives_a_picture_or_broken_picture(format, changes, cut):
    content = bytearray(encoded(noise(24, 24), format))
    for place, value in changes:
        content[place % len(content)] = value
    try:
        pixels = decode(bytes(content[: max(1, cut % (2 * len(content)))]), 8)
    except BrokenPicture:
        return
    assert pixels.shape == (8, 8, 3)


def test_pixels_in_an_array_are_resized_or_kept():
    pixels = np.asarray(halves())[None]
    pictures = PictureArray(pixels)
    assert pictures.decode(0, 8)[0, 0].tolist() == list(RED)
    square = np.random.default_rng(0).integers(0, 256, (1, 8, 8, 3)).astype(np.uint8)
    assert np.array_equal(PictureArray(square).decode(0, 8), square[0])


def test_an_array_is_read_row_by_row_in_the_chosen_order():
    read = []

    class OnDisk:
        shape = (3, 2, 2, 3)

        def __getitem__(self, row):
            read.append(row)
            return np.full((2, 2, 3), row, dtype=np.uint8)

    chosen = PictureArray(OnDisk())[[2, 0]]
    assert not read
    batch = next(decode_batches(chosen, 2, workers=1))
    assert batch[:, 0, 0, 0].tolist() == [2, 0] and read == [2, 0]


def test_arrays_that_are_no_pictures_are_refused():
    with pytest.raises(DataError, match=r"\(n, height, width, 3\)"):
        PictureArray(np.zeros((2, 3, 4)))
    with pytest.raises(BrokenPicture, match="float64; expected uint8"):
        PictureArray(np.zeros((1, 4, 4, 3))).decode(0, 2)
    with pytest.raises(DataError, match="rows of numbers"):
        ImageFeatures(np.zeros(3))


def test_rows_of_files_keep_paths_and_limits(files):
    limits = PictureLimits(pixels=62)
    pictures = PictureFiles([files[0], None, files[2]], limits)
    assert pictures.present.tolist() == [True, False, True]
    some = pictures[[2, 1]]
    assert some.paths.tolist() == [files[2], None] and some.limits == limits
    with pytest.raises(BrokenPicture, match="62"):
        some.decode(0, 4)
    with pytest.raises(DataError, match="row 1 has no picture"):
        some.decode(1, 4)


def test_a_file_that_went_missing_or_grew_is_broken(files):
    small = PictureFiles(files, PictureLimits(bytes=20))
    with pytest.raises(BrokenPicture, match=r"0\.png.*20 bytes"):
        small.content(0)
    files[1].unlink()
    with pytest.raises(MissingPicture, match=r"1\.png': there is no such file in '/"):
        PictureFiles(files).content(1)
    with pytest.raises(BrokenPicture, match=r"1\.png"):
        PictureFiles(files).add_to(Digest())


def test_a_file_is_read_whole_however_its_size_is_given(files):
    """A pipe has no size, and a file may grow while it is read."""
    content = files[0].read_bytes()
    ends = os.pipe()
    os.write(ends[1], content)
    os.close(ends[1])
    pipe = PictureFiles([Path(f"/dev/fd/{ends[0]}")])
    assert pipe.content(0) == content
    os.close(ends[0])
    with pytest.raises(BrokenPicture, match="more than 20 bytes"):
        PictureFiles(files, PictureLimits(bytes=20)).content(0)
    exact = PictureFiles(files, PictureLimits(bytes=len(content)))
    assert exact.content(0) == content


def test_what_is_no_file_is_reported_with_what_is_there_instead(files):
    folder = files[0].parent
    wrong = [folder, folder / "gone" / "a.png", files[0] / "a.png"]
    for row, reason in enumerate(
        (
            r"it is a folder; name one picture, as \.jpg",
            "there is no folder '.*gone'; check the path",
            r"there is no folder '.*0\.png'; check the path",
        )
    ):
        with pytest.raises(BrokenPicture, match=reason) as caught:
            PictureFiles(wrong).content(row)
        assert isinstance(caught.value, MissingPicture) == (row == 1)


def test_a_digest_is_of_the_content_alone(files):
    pictures = PictureFiles(files)
    expected = hashlib.blake2b(files[1].read_bytes(), digest_size=16).digest()
    assert pictures.digest(1) == expected != pictures.digest(2)
    pixels = np.zeros((2, 4, 4, 3), np.uint8)
    assert PictureArray(pixels).digest(0) == PictureArray(pixels).digest(1)


def test_checking_names_every_broken_picture_and_passes_over_missing(files):
    files[1].write_bytes(files[1].read_bytes()[:40])
    files[4].write_bytes(b"")
    pictures = PictureFiles([files[0], None, files[1], files[4]])
    seen: list[Update] = []
    found = check_pictures(pictures, seen.append)
    assert [row for row, _ in found] == [2, 3]
    assert "1.png" in str(found[0][1]) and "4.png" in str(found[1][1])
    assert [(update.done, update.total) for update in seen] == [(1, 3), (2, 3), (3, 3)]
    assert [row for row, _ in check_pictures(pictures, first=True)] == [2]


def test_a_thumbnail_keeps_the_proportions_and_the_orientation(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    path = tmp_path / "turned.png"
    path.write_bytes(encoded(halves(size=(64, 32)), exif=exif))
    with Image.open(io.BytesIO(thumbnail(PictureFiles([path]), 0, 16))) as small:
        assert small.format == "JPEG" and small.size == (8, 16)
    tiny = PictureArray(np.zeros((1, 4, 6, 3), np.uint8))
    with Image.open(io.BytesIO(thumbnail(tiny, 0, 16))) as small:
        assert small.size == (6, 4)


@given(st.lists(st.integers(-6, 5), max_size=8))
def test_features_choose_rows_as_numpy_does(rows):
    values = np.arange(12, dtype=np.float32).reshape(6, 2)
    chosen = ImageFeatures(values)[np.array(rows, dtype=int)]
    assert np.array_equal(chosen.values, values[rows] if rows else values[:0])
    assert chosen.present.all() and len(chosen) == len(rows)


def test_contents_in_memory_decode_as_their_files(tmp_path):
    path = tmp_path / "a.png"
    Image.new("RGB", (9, 7), (10, 20, 30)).save(path)
    pictures = PictureContents([path.read_bytes(), b"no picture"])
    assert pictures[[0]].decode(0, 4).tolist() == [[[10, 20, 30]] * 4] * 4
    assert pictures.digest(0) == PictureFiles([path]).digest(0)
    with pytest.raises(BrokenPicture, match="the picture"):
        pictures.decode(1, 4)
    with pytest.raises(BrokenPicture, match="more than 4 bytes, the limit"):
        PictureContents([b"12345"], PictureLimits(bytes=4)).content(0)


def test_pictures_become_an_array_at_a_size_alone():
    pictures = PictureArray(np.zeros((2, 8, 8, 3), np.uint8))
    with pytest.raises(DataError, match=r"decode\(0, 224\)"):
        np.asarray(pictures[0])
