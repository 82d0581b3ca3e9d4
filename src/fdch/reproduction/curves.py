"""Lookup curves of a figure: a panel to each code length and task."""

import statistics
from dataclasses import dataclass
from itertools import product

from fdch.evaluation import DIRECTIONS, LookupCurve
from fdch.evaluation.tables import mean_known
from fdch.reproduction.grid import usual_gallery
from fdch.reproduction.recipe import Recipe
from fdch.reproduction.reproduce import Reproduction

Point = tuple[float, float]


@dataclass(frozen=True)
class Panel:
    """The curves of all methods at one length, for one task."""

    bits: int
    direction: str  # the task, such as "image_to_text"
    curves: dict[str, tuple[Point, ...]]  # by method; means over seeds
    chance: float | None  # precision of random codes

    @property
    def title(self) -> str:
        """What stands over the panel."""
        return f"{DIRECTIONS[self.direction]}, {self.bits} bits"


def panels_of(
    recipe: Recipe, found: Reproduction, gallery: str | None = None
) -> list[Panel]:
    """Gather the curves of a figure; without a gallery, of that the authors search."""
    panels = []
    for bits, direction in product(recipe.bits, DIRECTIONS):
        lookups = {}
        for method in recipe.methods:
            searched = gallery or usual_gallery(method)
            runs = [run.scores[searched] for run in found.scores(method, bits)]
            lookups[method] = [run[direction].lookup for run in runs]
        curves = {name: mean_curve(each) for name, each in lookups.items() if each}
        chance = mean_known(curve.chance for each in lookups.values() for curve in each)
        panels.append(Panel(bits, direction, curves, chance))
    return panels


def mean_curve(curves: list[LookupCurve]) -> tuple[Point, ...]:
    """Average curves radius by radius; a radius that fetches nothing has no point."""
    points = []
    for radius in curves[0].radius:
        precisions = [
            precision
            for curve in curves
            if (precision := curve.precision[radius]) is not None
        ]
        if precisions:
            recall = statistics.fmean(curve.recall[radius] for curve in curves)
            points.append((recall, statistics.fmean(precisions)))
    return tuple(points)
