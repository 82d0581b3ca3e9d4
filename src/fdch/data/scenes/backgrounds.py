"""The backgrounds of generated scenes: a sky for each hour, a ground for each place."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fdch.data.scenes.canvas import Canvas, Colour, shade
from fdch.data.scenes.plans import Dice

SKIES: Mapping[str, tuple[tuple[Colour, Colour], ...]] = {
    "day": (
        ((96, 164, 230), (206, 230, 246)),
        ((132, 186, 232), (232, 238, 240)),
        ((160, 180, 200), (218, 224, 228)),
    ),
    "sunset": (
        ((92, 70, 140), (255, 168, 96)),
        ((150, 82, 120), (255, 190, 110)),
        ((196, 92, 88), (252, 206, 130)),
    ),
    "night": (
        ((10, 14, 42), (40, 48, 92)),
        ((18, 12, 48), (62, 52, 104)),
    ),
}
CLOUD: Colour = (244, 246, 248)


@dataclass(frozen=True)
class Ground:
    """Where things may stand: the horizon, dry ground and water, as heights."""

    horizon: float
    land: tuple[float, float]
    water: tuple[float, float] | None = None


def paint_place(place: str, time: str, dice: Dice) -> tuple[Canvas, Ground]:
    """Paint sky and ground; return where things may stand."""
    top, bottom = dice.one_of(SKIES[time])
    canvas = Canvas(shade(top, dice.between(0.9, 1.1)), bottom, time)
    horizon = dice.between(0.42, 0.58)
    _paint_sky(canvas, time, horizon, dice)
    return canvas, PAINTERS[place](canvas, horizon, dice)


def _paint_sky(canvas: Canvas, time: str, horizon: float, dice: Dice) -> None:
    x = dice.between(0.1, 0.9)
    if time == "night":
        for _ in range(14):
            spot = dice.between(0.012, 0.028)
            star = dice.between(0, 1), dice.between(0, horizon)
            canvas.oval(*star, spot, spot, (236, 236, 214), glows=True)
        moon = x, dice.between(0.08, 0.24)
        canvas.oval(*moon, 0.15, 0.15, (240, 238, 214), glows=True)
        return
    if time == "sunset":
        size = dice.between(0.2, 0.3)
        canvas.oval(x, horizon - 0.03, size, size, (255, 226, 140), glows=True)
    elif dice.chance(0.4):
        canvas.oval(x, dice.between(0.06, 0.18), 0.15, 0.15, (255, 238, 150))
    for _ in range(dice.one_of((0, 1, 2))):
        left, height = dice.between(0, 0.9), dice.between(0.05, 0.26)
        canvas.oval(left, height, 0.26, 0.07, CLOUD)
        canvas.oval(left + 0.05, height - 0.03, 0.14, 0.08, CLOUD)


def _hills(
    canvas: Canvas, horizon: float, height: float, colour: Colour, dice: Dice
) -> None:
    for _ in range(3):
        x, width = dice.between(0, 1), dice.between(0.6, 0.9)
        canvas.oval(x, horizon + 0.02, width, dice.between(height, 2 * height), colour)


def _beach(canvas: Canvas, horizon: float, dice: Dice) -> Ground:
    shore = horizon + dice.between(0.16, 0.24)
    sea = dice.one_of(((38, 128, 176), (44, 148, 168), (34, 104, 160)))
    canvas.box(0, horizon, 1, 1, sea)
    for _ in range(5):
        x, y = dice.between(0, 0.8), dice.between(horizon + 0.02, shore - 0.02)
        canvas.line([(x, y), (x + 0.16, y)], shade(sea, 1.35), 0.012)
    tilt = dice.between(-0.05, 0.05)
    foam = [(0, shore - tilt), (1, shore + tilt), (1, 1), (0, 1)]
    canvas.polygon(foam, (240, 244, 240))
    sand = dice.one_of(((232, 208, 152), (222, 194, 140)))
    canvas.polygon([(x, y + 0.025 * (y < 1)) for x, y in foam], sand)
    return Ground(horizon, (shore + 0.14, 0.95), (horizon + 0.08, shore + 0.01))


def _lake(canvas: Canvas, horizon: float, dice: Dice) -> Ground:
    bank = dice.between(0.78, 0.84)
    _hills(canvas, horizon, 0.2, dice.one_of(((74, 118, 84), (92, 124, 96))), dice)
    water = dice.one_of(((92, 146, 168), (80, 130, 160)))
    canvas.box(0, horizon, 1, 1, water)
    for _ in range(7):
        x, y = dice.between(0, 0.7), dice.between(horizon + 0.03, bank)
        canvas.line([(x, y), (x + 0.3, y)], shade(water, 1.18), 0.012)
    grass = dice.one_of(((84, 142, 64), (104, 146, 70)))
    canvas.oval(dice.between(0.3, 0.7), 1.05, 1.7, 2.1 - 2 * bank, grass)
    for _ in range(6):
        x = dice.between(0, 1)
        reed = [(x, 0.97), (x + dice.between(-0.02, 0.02), bank - 0.04)]
        canvas.line(reed, (70, 104, 48), 0.014)
    return Ground(horizon, (bank + 0.08, 0.96), (horizon + 0.1, bank - 0.04))


def _meadow(canvas: Canvas, horizon: float, dice: Dice) -> Ground:
    grass = dice.one_of(((110, 176, 72), (128, 180, 80), (96, 160, 74)))
    _hills(canvas, horizon, 0.14, shade(grass, 0.82), dice)
    canvas.box(0, horizon, 1, 1, grass)
    petal = dice.one_of(((250, 240, 120), (246, 246, 246), (240, 140, 170)))
    for _ in range(16):
        x, y = dice.between(0, 1), dice.between(horizon + 0.06, 1)
        canvas.oval(x, y, 0.022, 0.022, petal)
    return Ground(horizon, (horizon + 0.14, 0.95))


def _city(canvas: Canvas, horizon: float, dice: Dice) -> Ground:
    street = horizon + 0.12
    left = dice.between(-0.15, 0)
    while left < 1:
        width, top = dice.between(0.13, 0.22), horizon - dice.between(0.06, 0.36)
        wall = dice.one_of(((120, 124, 136), (150, 140, 136), (104, 112, 130)))
        canvas.box(left, top, width - 0.012, street - top, wall)
        _windows(canvas, left, top, width, street, dice)
        left += width
    road = (98, 98, 104)
    canvas.box(0, street, 1, 1, road)
    canvas.box(0, street, 1, 0.04, (168, 166, 160))
    middle = dice.between(0.84, 0.9)
    for dash in range(5):
        canvas.box(0.06 + dash * 0.22, middle, 0.11, 0.02, (230, 226, 200))
    return Ground(horizon, (street + 0.1, 0.95))


def _windows(
    canvas: Canvas, left: float, top: float, width: float, street: float, dice: Dice
) -> None:
    lit = (250, 226, 140)
    for column in (0.2, 0.6):
        y = top + 0.04
        while y < street - 0.07:
            glows = dice.chance(0.5)
            pane = lit if glows else (70, 80, 100)
            canvas.box(left + column * width, y, 0.035, 0.035, pane, glows=glows)
            y += 0.085


def _mountains(canvas: Canvas, horizon: float, dice: Dice) -> Ground:
    rock = dice.one_of(((112, 112, 128), (128, 116, 112), (96, 108, 124)))
    for place in (0.1, 0.85, 0.5):
        x = place + dice.between(-0.1, 0.1)
        height, half = dice.between(0.22, 0.38), dice.between(0.26, 0.36)
        foot, peak = horizon + 0.03, horizon + 0.03 - height
        canvas.polygon([(x - half, foot), (x, peak), (x + half, foot)], rock)
        canvas.polygon([(x, peak), (x + half, foot), (x, foot)], shade(rock, 0.8))
        side, low = half * 0.32, peak + height * 0.32
        cap = [(x - side, low), (x, peak), (x + side, low), (x, low - 0.03)]
        canvas.polygon(cap, (242, 244, 248))
    canvas.box(0, horizon, 1, 1, dice.one_of(((120, 132, 92), (132, 124, 98))))
    for _ in range(6):
        stone = dice.between(0, 1), dice.between(horizon + 0.1, 1)
        canvas.oval(*stone, dice.between(0.03, 0.07), 0.03, (150, 148, 144))
    return Ground(horizon, (horizon + 0.14, 0.95))


def _snow(canvas: Canvas, horizon: float, dice: Dice) -> Ground:
    white = dice.one_of(((236, 240, 246), (228, 234, 244)))
    _hills(canvas, horizon, 0.16, shade(white, 0.9), dice)
    canvas.box(0, horizon, 1, 1, white)
    canvas.oval(dice.between(0, 1), 1.0, 0.9, 0.36, shade(white, 0.95))
    for _ in range(22):
        flake = dice.between(0.014, 0.03)
        canvas.oval(dice.between(0, 1), dice.between(0, 1), flake, flake, (255,) * 3)
    return Ground(horizon, (horizon + 0.14, 0.95))


def _desert(canvas: Canvas, horizon: float, dice: Dice) -> Ground:
    sand = dice.one_of(((226, 168, 96), (216, 156, 92), (232, 180, 110)))
    _hills(canvas, horizon, 0.16, shade(sand, 0.86), dice)
    canvas.box(0, horizon, 1, 1, sand)
    for _ in range(3):
        x, y = dice.between(0, 1), dice.between(horizon + 0.14, 1)
        canvas.oval(x, y, dice.between(0.5, 0.8), 0.08, shade(sand, 1.07))
    for _ in range(dice.one_of((1, 2))):
        _cactus(canvas, dice.between(0.05, 0.95), horizon + dice.between(0.06, 0.14))
    return Ground(horizon, (horizon + 0.16, 0.95))


def _cactus(canvas: Canvas, x: float, foot: float) -> None:
    green = (74, 120, 66)
    canvas.line([(x, foot), (x, foot - 0.17)], green, 0.034)
    canvas.line([(x, foot - 0.06), (x + 0.055, foot - 0.06)], green, 0.024)
    canvas.line([(x + 0.05, foot - 0.055), (x + 0.05, foot - 0.13)], green, 0.024)


PAINTERS: Mapping[str, Callable[[Canvas, float, Dice], Ground]] = {
    "beach": _beach,
    "meadow": _meadow,
    "city": _city,
    "lake": _lake,
    "mountains": _mountains,
    "snow": _snow,
    "desert": _desert,
}
