"""The entries of a table: means, deviations, intervals and bests, by place."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fdch.evaluation import DIRECTIONS, MEASURES, Scores, comparison
from fdch.evaluation.resampling import mean_intervals
from fdch.evaluation.scores import without_nan
from fdch.evaluation.tables import Spread

SHOWN_PLACES = 4


@dataclass(frozen=True)
class Entry:
    """One score of a table, over all seeds."""

    # mean and deviation by measure, such as "map" and "map_best"
    measures: Mapping[str, Spread]
    # measures by which no other method is better in this column and gallery
    best: frozenset[str]
    # bootstrap intervals over the queries of all seeds, by measure
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def map(self) -> Spread:
        """The paper's score: expected over the orders of tied items."""
        return self.measures["map"]


# method, gallery, direction, bits
Place = tuple[str, str, str, int]


def entries_of(scores: list[Scores]) -> dict[Place, Entry]:
    """Take means and deviations as `comparison` gives them, and mark the best."""
    found: dict[Place, dict[str, Spread]] = {}
    lengths = sorted({run.bits for run in scores})
    columns = [(direction, bits) for direction in DIRECTIONS for bits in lengths]
    for measure in MEASURES if scores else ():
        for row in comparison(scores, over_seeds=True, measure=measure).rows:
            method, gallery, cells = str(row[0]), str(row[1]), row[2:]
            for column, cell in zip(columns, cells, strict=False):
                if isinstance(cell, Spread):
                    found.setdefault((method, gallery, *column), {})[measure] = cell
    best = _best(found)
    intervals = _intervals(scores)
    return {
        place: Entry(
            spreads,
            frozenset(
                measure
                for measure, spread in spreads.items()
                if _round(spread) == best[*place[1:], measure]
            ),
            {m: intervals[*place, m] for m in spreads if (*place, m) in intervals},
        )
        for place, spreads in found.items()
    }


def _best(
    found: Mapping[Place, Mapping[str, Spread]],
) -> dict[tuple[str, str, int, str], float]:
    """Give the largest mean of each gallery, column and measure."""
    best: dict[tuple[str, str, int, str], float] = {}
    for (_, gallery, direction, bits), spreads in found.items():
        for measure, spread in spreads.items():
            column = gallery, direction, bits, measure
            best[column] = max(_round(spread), best.get(column, 0.0))
    return best


def _round(spread: Spread) -> float:
    return round(spread.mean, SHOWN_PLACES)


def _intervals(
    scores: list[Scores],
) -> dict[tuple[str, str, str, int, str], tuple[float, float]]:
    """Give intervals over the queries of all seeds, pooled."""
    pooled: dict[tuple[str, str, str, int, str], list[NDArray[np.float32]]] = {}
    for run in scores:
        for (gallery, direction, measure), values in (run.queries or {}).items():
            place = run.method, gallery, direction, run.bits, measure
            if measure in MEASURES:
                pooled.setdefault(place, []).append(without_nan(values))
    return mean_intervals({k: np.concatenate(lists) for k, lists in pooled.items()})
