"""A small canvas in unit coordinates whose paint takes the light of the hour."""

from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw

Colour = tuple[int, int, int]
Point = tuple[float, float]

PIXELS = 128  # twice the picture's side: shrinking it smooths the edges
LIGHT = {
    "day": (1.0, 1.0, 1.0),
    "sunset": (0.95, 0.78, 0.7),
    "night": (0.5, 0.53, 0.7),
}


class Canvas:
    """Shapes placed from 0 to 1, left to right and top to bottom."""

    def __init__(self, top: Colour, bottom: Colour, time: str) -> None:
        self._light = LIGHT[time]
        fall = np.linspace(0.0, 1.0, PIXELS, dtype=np.float32)[:, None, None]
        shades = np.array(top) * (1 - fall) + np.array(bottom) * fall
        pixels = np.broadcast_to(shades.astype(np.uint8), (PIXELS, PIXELS, 3))
        self.image = Image.fromarray(np.ascontiguousarray(pixels))
        self._draw = ImageDraw.Draw(self.image)

    def _lit(self, colour: Colour, glows: bool) -> Colour:
        if glows:
            return colour
        red, green, blue = self._light
        return int(colour[0] * red), int(colour[1] * green), int(colour[2] * blue)

    def polygon(
        self, points: Sequence[Point], colour: Colour, *, glows: bool = False
    ) -> None:
        """Fill a polygon."""
        scaled = [(x * PIXELS, y * PIXELS) for x, y in points]
        self._draw.polygon(scaled, fill=self._lit(colour, glows))

    def box(
        self, left: float, top: float, width: float, height: float, colour: Colour,
        *, glows: bool = False,
    ) -> None:  # fmt: skip
        """Fill an upright rectangle."""
        right, bottom = left + width, top + height
        corners = [(left, top), (right, top), (right, bottom), (left, bottom)]
        self.polygon(corners, colour, glows=glows)

    def oval(
        self, x: float, y: float, width: float, height: float, colour: Colour,
        *, glows: bool = False,
    ) -> None:  # fmt: skip
        """Fill an ellipse around (x, y)."""
        left, top = (x - width / 2) * PIXELS, (y - height / 2) * PIXELS
        right, bottom = (x + width / 2) * PIXELS, (y + height / 2) * PIXELS
        self._draw.ellipse((left, top, right, bottom), fill=self._lit(colour, glows))

    def line(self, points: Sequence[Point], colour: Colour, width: float) -> None:
        """Stroke a line through the points."""
        scaled = [(x * PIXELS, y * PIXELS) for x, y in points]
        self._draw.line(scaled, self._lit(colour, False), max(1, int(width * PIXELS)))


def shade(colour: Colour, factor: float) -> Colour:
    """Make a colour darker (below 1) or lighter (above 1)."""
    red, green, blue = (min(255, int(part * factor)) for part in colour)
    return red, green, blue
