"""What a generated scene shows: place, time of day, things, colours.

A plan is drawn from the row's number alone, so row 42 is the same scene
however many rows are drawn.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

Option = TypeVar("Option")

PLACES: Mapping[str, float] = {
    "beach": 0.26,
    "meadow": 0.20,
    "city": 0.17,
    "lake": 0.12,
    "mountains": 0.10,
    "snow": 0.08,
    "desert": 0.07,
}
TIMES: Mapping[str, float] = {"day": 0.68, "sunset": 0.17, "night": 0.15}
KINDS: Mapping[str, float] = {
    "tree": 0.24,
    "house": 0.19,
    "ball": 0.17,
    "car": 0.13,
    "tent": 0.11,
    "kite": 0.09,
    "boat": 0.07,
}
# How much likelier (or less likely) a thing is in a place; 1 where unsaid.
FITS: Mapping[tuple[str, str], float] = {
    ("boat", "beach"): 3.5,
    ("boat", "lake"): 5.0,
    ("boat", "meadow"): 0.0,
    ("boat", "city"): 0.0,
    ("boat", "mountains"): 0.0,
    ("boat", "snow"): 0.0,
    ("boat", "desert"): 0.0,
    ("car", "city"): 2.5,
    ("car", "lake"): 0.3,
    ("tent", "city"): 0.2,
    ("house", "city"): 0.4,
    ("tree", "beach"): 0.5,
    ("tree", "desert"): 0.4,
    ("ball", "beach"): 1.6,
    ("kite", "snow"): 0.5,
}
COLOURS: Mapping[str, float] = {
    "red": 0.22,
    "blue": 0.16,
    "yellow": 0.16,
    "green": 0.12,
    "white": 0.12,
    "purple": 0.12,
    "orange": 0.10,
}
TREE_COLOURS: Mapping[str, float] = {"green": 0.62, "orange": 0.25, "yellow": 0.13}
THINGS: Mapping[int, float] = {1: 0.62, 2: 0.28, 3: 0.10}
COUNTS: Mapping[int, float] = {1: 0.74, 2: 0.18, 3: 0.08}

LABELS: tuple[str, ...] = (*PLACES, "night", "sunset", *KINDS)


class Dice:
    """Random draws that stay the same on every machine and Python version.

    Only ``random()`` of an integer-seeded generator is used: the one stream
    that Python promises never to change.
    """

    def __init__(self, seed: int) -> None:
        self._next = random.Random(seed).random

    def chance(self, probability: float) -> bool:
        """Return True with this probability."""
        return self._next() < probability

    def between(self, low: float, high: float) -> float:
        """Draw evenly from low to high."""
        return low + (high - low) * self._next()

    def one_of(self, options: Sequence[Option]) -> Option:
        """Draw one of the options, all alike."""
        return options[int(self._next() * len(options))]

    def draw(self, weights: Mapping[Option, float]) -> Option:
        """Draw a key with probability proportional to its weight."""
        left = self._next() * sum(weights.values())
        for option, weight in weights.items():
            left -= weight
            if left < 0:
                return option
        return option


@dataclass(frozen=True)
class Thing:
    """One kind of thing in a scene, once or several times in one colour."""

    kind: str
    colour: str
    count: int
    size: float  # 0.7 small ... 1.4 large


@dataclass(frozen=True)
class Plan:
    """All that a picture and its caption are made from."""

    row: int
    place: str
    time: str
    things: tuple[Thing, ...]

    def labels(self) -> frozenset[str]:
        """Name what the scene truly holds, named in the caption or not."""
        named = {self.place, self.time, *(thing.kind for thing in self.things)}
        return frozenset(named - {"day"})


def plan_scene(row: int) -> Plan:
    """Draw the plan of one row."""
    dice = Dice(3 * row)
    place = dice.draw(PLACES)
    time = dice.draw(TIMES)
    weights = {
        kind: weight * FITS.get((kind, place), 1.0) for kind, weight in KINDS.items()
    }
    things = []
    for _ in range(dice.draw(THINGS)):
        kind = dice.draw(weights)
        weights[kind] = 0.0
        colours = TREE_COLOURS if kind == "tree" else COLOURS
        things.append(
            Thing(
                kind,
                dice.draw(colours),
                dice.draw(COUNTS),
                dice.between(0.7, 1.4),
            )
        )
    return Plan(row, place, time, tuple(things))
