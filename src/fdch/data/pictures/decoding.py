"""One picture's bytes to pixels, under limits; whatever is wrong is named.

Every file is assumed to be hostile: its header is read first, and nothing is
decoded that is over the limits or in a format that is not accepted.
"""

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from fdch.data.pictures.slow import (
    WHOLE_SHARE,
    CountedReads,
    require_few_pieces,
    require_few_scans,
)
from fdch.errors import BrokenPicture, MissingExtra, SettingError

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF")
_FORMAT_NAMES = ", ".join((*FORMATS, "AVIF", "HEIC"))
ENDINGS = (
    *(".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff"),
    *(".avif", ".heic", ".heif"),
)

# Pillow itself refuses pictures above this, whatever we allow
_MAX_PIXELS = 178_000_000
# decode this many times larger than needed before the fine resize
_REDUCING_GAP = 2.0
_ORIENTATION_TAG = 0x0112
# warnings about odd files
_QUIET = ("ignore", None, Warning, re.compile(r"PIL\.|pillow_heif"), 0)
# else Pillow returns a picture's memory to the system, and paging it in again for
# the next takes a tenth to a fifth of a small photo's time; at most 64 MiB are kept
with suppress(AttributeError):  # no public names, so they may go
    Image.core.set_block_size(2**20)  # type: ignore[attr-defined]
    Image.core.set_blocks_max(64)  # type: ignore[attr-defined]
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


@dataclass(frozen=True)
class PictureLimits:
    """The largest picture that is read: bytes of the file, pixels decoded.

    Where it is to be `quick`, as of a stranger's file, what takes long to decode
    is refused: too many pieces or scans, and what is no JPEG at 0.35 of the pixels.

    >>> PictureLimits(pixels=1_000_000).bytes
    67108864
    """

    bytes: int = 64 * 2**20
    pixels: int = 50_000_000
    quick: bool = False

    def __post_init__(self) -> None:
        if self.bytes < 1 or not 1 <= self.pixels <= _MAX_PIXELS:
            raise SettingError(
                f"picture limits of {self.bytes} bytes and {self.pixels} pixels; "
                f"give at least 1 of each and at most {_MAX_PIXELS:,} pixels."
            )


USUAL_LIMITS = PictureLimits()


def decode(
    content: bytes | NDArray[np.uint8],
    size: int,
    limits: PictureLimits = USUAL_LIMITS,
    name: str = "picture",
    out: NDArray[np.uint8] | None = None,
) -> NDArray[np.uint8]:
    """Decode a file's bytes, or RGB pixels, and squash all of it into a square.

    Transparent parts become white, the EXIF orientation is applied, and of
    an animation the first frame is taken. An error calls the picture by its name.

    Returns:
        RGB values 0 to 255, shape (size, size, 3); `out` where it is given.

    Raises:
        BrokenPicture: It is truncated, over the limits or not a picture.
    """
    pixels = np.empty((size, size, 3), dtype=np.uint8) if out is None else out
    if isinstance(content, np.ndarray):
        is_ready = content.shape == pixels.shape
        pixels[...] = (
            content
            if is_ready
            else np.asarray(_resize(Image.fromarray(content), (size, size)))
        )
        return pixels
    with _refusing_broken(name, limits):
        picture, turn = _load(content, size, limits, name)
        square = _resize(picture, (size, size))
        # turning the small square costs less than turning the photo
        pixels[...] = np.asarray(square if turn is None else square.transpose(turn))
    return pixels


def shrink(
    content: bytes | NDArray[np.uint8],
    size: int,
    limits: PictureLimits = USUAL_LIMITS,
    name: str = "picture",
) -> bytes:
    """Make a JPEG that fits a square of this size, sides in proportion."""
    if isinstance(content, np.ndarray):
        picture, turn = Image.fromarray(content), None
    else:
        with _refusing_broken(name, limits):
            picture, turn = _load(content, size, limits, name)
    scale = min(1.0, size / max(picture.size))
    width, height = (max(1, round(side * scale)) for side in picture.size)
    small = _resize(picture, (width, height))
    out = io.BytesIO()
    (small if turn is None else small.transpose(turn)).save(out, "JPEG", quality=85)
    return out.getvalue()


def picture_format(
    content: bytes, limits: PictureLimits = USUAL_LIMITS, name: str = "picture"
) -> str:
    """Return a picture's format from its header, by Pillow's name, such as "JPEG"."""
    with _refusing_broken(name, limits), _open(content, limits, name) as picture:
        return str(picture.format)


def picture_size(
    content: bytes, limits: PictureLimits = USUAL_LIMITS, name: str = "picture"
) -> tuple[int, int]:
    """Return a picture's width and height by its header."""
    with _refusing_broken(name, limits), _open(content, limits, name) as picture:
        return picture.size


def choose_formats(content: bytes, limits: PictureLimits, name: str) -> tuple[str, ...]:
    """Return the formats a file may have, if what reads them is installed.

    AVIF and HEIC state a size that their decoders do not rely on: what they decode may
    be larger. They are refused where it is to be quick.
    """
    if content[4:8] != b"ftyp":
        return FORMATS
    is_avif = any(brand in content[8:64] for brand in (b"avif", b"avis"))
    kind = "AVIF" if is_avif else "HEIC"
    if limits.quick:
        raise BrokenPicture(f"{name}: {kind} is not supported here. Send it as JPEG.")
    if is_avif:
        if find_spec("PIL._avif") is None:
            raise BrokenPicture(f"{name}: this Pillow reads no AVIF. Update it.")
        return ("AVIF",)
    if find_spec("pillow_heif") is None:
        missing = MissingExtra("reading HEIC", "heif")
        raise BrokenPicture(f"{name}: {missing}, or save it as JPEG.")
    _register_heif()
    return ("HEIF",)


@lru_cache(maxsize=1)
def _register_heif() -> None:
    import pillow_heif

    # a thumbnail in the file may show something else
    pillow_heif.register_heif_opener(thumbnails=False)


def _open(content: bytes, limits: PictureLimits, name: str) -> Image.Image:
    """Read a picture's header, under the limits."""
    if len(content) > limits.bytes:
        raise BrokenPicture(
            f"{name}: {len(content):,} bytes; the limit is {limits.bytes:,}."
        )
    formats = choose_formats(content, limits, name)
    if limits.quick:
        require_few_pieces(content, name)
        picture = Image.open(CountedReads(content, name), formats=formats)
    else:
        picture = Image.open(io.BytesIO(content), formats=formats)
    width, height = picture.size
    most, is_jpeg = limits.pixels, picture.format in ("JPEG", "MPO")
    if limits.quick and not is_jpeg:
        most = int(most * WHOLE_SHARE)
    if width * height > most:
        raise BrokenPicture(
            f"{name}: {width} x {height} pixels; the limit is {most:,} in all."
        )
    if limits.quick and is_jpeg:
        require_few_scans(content, width * height, name)
    return picture


def _load(
    content: bytes, size: int, limits: PictureLimits, name: str
) -> tuple[Image.Image, Image.Transpose | None]:
    """Decode to RGB, perhaps reduced but larger than size; return the turn due."""
    with _open(content, limits, name) as picture:
        turn = _TURNS.get(_orientation(picture))
        reduced = round(size * _REDUCING_GAP)
        picture.draft("RGB", (reduced, reduced))  # only JPEG can; others ignore it
        picture.load()
        return _rgb(picture), turn


def _orientation(picture: Image.Image) -> Any:
    # EXIF is written by anyone with anything in it; the pixels may be fine
    try:
        return picture.getexif().get(_ORIENTATION_TAG)
    except Exception:
        return None


def _rgb(picture: Image.Image) -> Image.Image:
    if picture.mode == "RGB" and "transparency" not in picture.info:
        return picture
    if picture.mode.startswith("I") or picture.mode == "F":
        return Image.fromarray(_eight_bits(np.asarray(picture))).convert("RGB")
    if picture.has_transparency_data:
        clear = picture.convert("RGBA")
        white = Image.new("RGBA", clear.size, "white")
        return Image.alpha_composite(white, clear).convert("RGB")
    return picture.convert("RGB")


def _eight_bits(values: NDArray[Any]) -> NDArray[np.uint8]:
    """Bring grey values of 16 or 32 bits, or real ones, to 0 to 255."""
    if values.dtype.kind == "f":
        finite = np.nan_to_num(values, posinf=255.0, neginf=0.0)
        scale = 255.0 if finite.max() <= 1.0 else 1.0
        return np.clip(finite * scale, 0, 255).astype(np.uint8)
    wide = values.dtype.itemsize == 2 or values.max() > 255
    return np.clip(values // 256 if wide else values, 0, 255).astype(np.uint8)


def _resize(picture: Image.Image, size: tuple[int, int]) -> Image.Image:
    if picture.size == size:
        return picture
    return picture.resize(size, Image.Resampling.BICUBIC, reducing_gap=_REDUCING_GAP)


@contextmanager
def _refusing_broken(name: str, limits: PictureLimits) -> Iterator[None]:
    """Turn anything a decoder raises on hostile bytes into BrokenPicture."""
    # never removed: warnings.catch_warnings must not be used by several threads
    if _QUIET not in warnings.filters:
        warnings.filters.insert(0, _QUIET)  # type: ignore[attr-defined]
    try:
        yield
    except BrokenPicture:
        raise
    except Image.DecompressionBombError:
        many = f"more than {_MAX_PIXELS:,} pixels; the limit is {limits.pixels:,}"
        raise BrokenPicture(f"{name}: {many} in all.") from None
    except UnidentifiedImageError:
        what = f"not a picture of a known format. Save it as one of {_FORMAT_NAMES}."
        raise BrokenPicture(f"{name}: {what}") from None
    except Exception as error:
        raise BrokenPicture(f"{name}: cannot be decoded ({error}).") from error
