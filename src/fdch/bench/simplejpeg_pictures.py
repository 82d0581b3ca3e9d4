"""Pictures whose JPEG files simplejpeg decodes: the peer of our decoding."""

import io
from typing import Any, Self

import numpy as np
import simplejpeg
from numpy.typing import NDArray
from PIL import Image

from fdch.data.pictures.decoding import FORMATS
from fdch.data.pictures.images import Pictures
from fdch.data.rows import Digest

SCALES = (8, 4, 2)
GAP = 2.0  # decoded this many times larger than needed, as ours


class SimplejpegPictures(Pictures):
    """The same rows; headers, scales and resizing as ours, without any refusals."""

    def __init__(self, pictures: Pictures) -> None:
        self.pictures, self.limits = pictures, pictures.limits

    def __len__(self) -> int:
        return len(self.pictures)

    def __getitem__(self, rows: Any) -> Self:
        return type(self)(self.pictures[rows])

    def add_to(self, digest: Digest) -> None:
        """Add what the pictures are."""
        self.pictures.add_to(digest)

    def content(self, row: int) -> bytes | NDArray[np.uint8]:
        """Give one row's file content, or its pixels."""
        return self.pictures.content(row)

    def name(self, row: int) -> str:
        """Say what an error calls this row's picture."""
        return self.pictures.name(row)

    def decode(
        self, row: int, size: int, out: NDArray[np.uint8] | None = None
    ) -> NDArray[np.uint8]:
        """Decode one row; what is no JPEG file of three colours as ever."""
        content = self.content(row)
        if isinstance(content, np.ndarray) or not content.startswith(b"\xff\xd8"):
            return self.pictures.decode(row, size, out)
        with Image.open(io.BytesIO(content), formats=FORMATS) as header:
            (width, height), colours = header.size, header.mode
            header.getexif()
        if colours != "RGB":
            return self.pictures.decode(row, size, out)
        fits = min(width, height) // round(size * GAP)
        scale = next((each for each in SCALES if each <= fits), 1)
        pixels = simplejpeg.decode_jpeg(
            content,
            "RGB",
            min_factor=scale,
            min_height=-(-height // scale),
            min_width=-(-width // scale),
        )
        square = Image.fromarray(pixels).resize(
            (size, size), Image.Resampling.BICUBIC, reducing_gap=GAP
        )
        made = np.empty((size, size, 3), dtype=np.uint8) if out is None else out
        made[...] = np.asarray(square)
        return made
