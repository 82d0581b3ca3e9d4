"""Scene plans drawn as 64 x 64 pictures, with jitter, shadow and noise."""

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np
from numpy.typing import NDArray

from fdch.data.scenes.backgrounds import Ground, paint_place
from fdch.data.scenes.canvas import Canvas, Colour, shade
from fdch.data.scenes.plans import Dice, Plan, Thing

SIDE = 64
PAINT: Mapping[str, Colour] = {
    "red": (206, 40, 44),
    "blue": (44, 84, 200),
    "yellow": (240, 200, 40),
    "green": (48, 140, 62),
    "white": (240, 240, 236),
    "purple": (140, 62, 168),
    "orange": (236, 126, 36),
}
FRAMES = 61  # patterns of noise; each picture takes one, shifted


def draw_scene(plan: Plan) -> NDArray[np.uint8]:
    """Draw one plan, (64, 64, 3)."""
    dice = Dice(3 * plan.row + 1)
    canvas, ground = paint_place(plan.place, plan.time, dice)
    placed: list[tuple[float, float, Thing]] = []
    for thing in plan.things:
        for _ in range(thing.count):
            x = _free_place([other for other, _, _ in placed], dice)
            placed.append((x, _foot(thing.kind, ground, dice), thing))
    # far things first, so that near ones stand in front
    for x, y, thing in sorted(placed, key=lambda spot: spot[1]):
        nearness = 0.75 + 0.5 * max(0.0, y - ground.horizon)
        colour = _vary(PAINT[thing.colour], dice)
        DRAWERS[thing.kind](canvas, x, y, 0.26 * thing.size * nearness, colour)
    small = canvas.image.reduce(2)
    return _add_weather(np.asarray(small, dtype=np.int16), dice)


def _free_place(taken: list[float], dice: Dice) -> float:
    """Choose a place across the picture, of three the one with most room."""
    tries = [dice.between(0.1, 0.9) for _ in range(3)]
    return max(tries, key=lambda x: min((abs(x - t) for t in taken), default=0.0))


def _foot(kind: str, ground: Ground, dice: Dice) -> float:
    """Choose how low a thing is: kites fly, boats float, the rest stands."""
    low, high = ground.land
    if kind == "kite":
        low, high = 0.16, ground.horizon - 0.04
    elif kind == "boat" and ground.water is not None:
        low, high = ground.water
    return dice.between(low, high)


def _vary(colour: Colour, dice: Dice) -> Colour:
    brightness = dice.between(0.88, 1.06)
    red, green, blue = (
        max(0, min(255, int(part * brightness + dice.between(-12, 12))))
        for part in colour
    )
    return red, green, blue


def _add_weather(pixels: NDArray[np.int16], dice: Dice) -> NDArray[np.uint8]:
    """Change the exposure and add the grain of a cheap camera."""
    gain, lift = dice.between(0.88, 1.12), dice.between(-10, 10)
    frame = _grain()[dice.one_of(range(FRAMES))]
    shifted = np.roll(frame, dice.one_of(range(SIDE)), axis=0)
    strength = dice.between(0.4, 1.4)
    noisy = (
        pixels * np.float32(gain) + np.float32(lift) + shifted * np.float32(strength)
    )
    if dice.chance(0.5):
        noisy = noisy[:, ::-1]
    return np.clip(noisy, 0, 255).astype(np.uint8)


@cache
def _grain() -> NDArray[np.float32]:
    """Make noise of about one standard deviation of six grey levels.

    Sums of raw bytes: numpy promises the raw stream for all versions, but not
    the stream of its normal distribution.
    """
    count = FRAMES * SIDE * SIDE * 3
    raw = np.random.PCG64(20_190).random_raw(count).astype("<u8").view(np.uint8)
    sums = raw.reshape(count, 8)[:, :4].astype(np.float32).sum(axis=1)
    return ((sums - 510.0) / 24.6).reshape(FRAMES, SIDE, SIDE, 3)


def _shadow(canvas: Canvas, x: float, y: float, width: float) -> None:
    canvas.oval(x, y, width, width * 0.16, (70, 70, 72))


def _ball(canvas: Canvas, x: float, y: float, size: float, colour: Colour) -> None:
    side = size * 0.8
    _shadow(canvas, x + 0.02, y, side)
    canvas.oval(x, y - side / 2, side, side, shade(colour, 0.82))
    canvas.oval(x - side * 0.05, y - side * 0.55, side * 0.84, side * 0.84, colour)
    shine = x - side * 0.2, y - side * 0.72
    canvas.oval(*shine, side * 0.2, side * 0.16, (250, 250, 250))


def _tree(canvas: Canvas, x: float, y: float, size: float, colour: Colour) -> None:
    _shadow(canvas, x, y, size * 0.7)
    canvas.box(
        x - size * 0.07, y - size * 0.35, size * 0.14, size * 0.35, (104, 72, 46)
    )
    if colour[1] > 2 * colour[0]:  # green ones are firs, the others broad-leaved
        for step, width in ((0.25, 0.9), (0.6, 0.7), (0.92, 0.5)):
            low, half = y - size * step, size * width / 2
            tip = (x, low - size * 0.6)
            canvas.polygon([(x - half, low), tip, (x + half, low)], colour)
            dark = shade(colour, 0.78)
            canvas.polygon([(x, low), tip, (x + half, low)], dark)
    else:
        canvas.oval(x, y - size * 0.8, size * 1.0, size * 1.05, shade(colour, 0.8))
        canvas.oval(x - size * 0.1, y - size * 0.88, size * 0.7, size * 0.75, colour)


def _house(canvas: Canvas, x: float, y: float, size: float, colour: Colour) -> None:
    wall, eaves = size * 0.5, y - size * 0.62
    _shadow(canvas, x, y, size * 1.2)
    canvas.box(x - wall, eaves, size, size * 0.62, colour)
    roof = [(x - size * 0.62, eaves), (x, eaves - size * 0.5), (x + size * 0.62, eaves)]
    canvas.polygon(roof, (122, 66, 52))
    canvas.box(x - size * 0.1, y - size * 0.36, size * 0.22, size * 0.36, (84, 58, 44))
    for side in (-0.36, 0.2):
        left, top = x + side * size, y - size * 0.5
        canvas.box(left, top, size * 0.18, size * 0.18, (250, 232, 160), glows=True)


def _tent(canvas: Canvas, x: float, y: float, size: float, colour: Colour) -> None:
    tip, half = (x, y - size * 0.75), size * 0.7
    _shadow(canvas, x, y, size * 1.5)
    canvas.polygon([(x - half, y), tip, (x + half, y)], colour)
    canvas.polygon([tip, (x + half, y), (x + half * 0.3, y)], shade(colour, 0.72))
    canvas.polygon([tip, (x - half * 0.25, y), (x + half * 0.2, y)], (58, 48, 46))


def _car(canvas: Canvas, x: float, y: float, size: float, colour: Colour) -> None:
    _shadow(canvas, x, y, size * 1.4)
    top = y - size * 0.68
    cabin = [(-0.42, 0.32), (-0.26, 0.0), (0.2, 0.0), (0.4, 0.32)]
    canvas.polygon([(x + a * size, top + b * size) for a, b in cabin], colour)
    glass = [(-0.3, 0.3), (-0.2, 0.07), (0.15, 0.07), (0.28, 0.3)]
    canvas.polygon([(x + a * size, top + b * size) for a, b in glass], (186, 214, 228))
    canvas.box(x - size * 0.66, y - size * 0.4, size * 1.32, size * 0.27, colour)
    canvas.box(
        x - size * 0.66, y - size * 0.2, size * 1.32, size * 0.07, shade(colour, 0.7)
    )
    for wheel in (-0.36, 0.36):
        hub = x + wheel * size, y - size * 0.1
        canvas.oval(*hub, size * 0.3, size * 0.3, (36, 36, 40))
        canvas.oval(*hub, size * 0.12, size * 0.12, (180, 180, 184))


def _kite(canvas: Canvas, x: float, y: float, size: float, colour: Colour) -> None:
    wide, high, low = size * 0.36, size * 0.42, size * 0.56
    top, right, bottom, left = (x, y - high), (x + wide, y), (x, y + low), (x - wide, y)
    bends = ((0, 0), (0.16, 0.16), (-0.06, 0.34), (0.12, 0.54))
    tail = [(bottom[0] + dx * size, bottom[1] + dy * size) for dx, dy in bends]
    canvas.line(tail, (70, 60, 60), 0.012)
    canvas.polygon([top, right, bottom, left], colour)
    canvas.polygon([top, right, bottom], shade(colour, 0.76))
    canvas.line([left, right], (60, 50, 50), 0.01)


def _boat(canvas: Canvas, x: float, y: float, size: float, colour: Colour) -> None:
    deck = y - size * 0.22
    hull = [(-0.6, 0.0), (0.6, 0.0), (0.36, 0.26), (-0.4, 0.26)]
    canvas.oval(x, y + size * 0.04, size * 1.1, size * 0.12, (214, 230, 236))
    canvas.polygon([(x + a * size, deck + b * size) for a, b in hull], colour)
    canvas.line([(x, deck), (x, deck - size * 0.95)], (84, 60, 44), 0.02)
    sail = [(x + size * 0.05, deck - size * 0.92), (x + size * 0.5, deck - size * 0.1)]
    canvas.polygon([*sail, (x + size * 0.05, deck - size * 0.1)], (244, 240, 228))
    jib = [(x - size * 0.06, deck - size * 0.8), (x - size * 0.4, deck - size * 0.1)]
    canvas.polygon([*jib, (x - size * 0.06, deck - size * 0.1)], shade(colour, 1.15))


DRAWERS: Mapping[str, Callable[[Canvas, float, float, float, Colour], None]] = {
    "ball": _ball,
    "tree": _tree,
    "house": _house,
    "tent": _tent,
    "car": _car,
    "kite": _kite,
    "boat": _boat,
}
