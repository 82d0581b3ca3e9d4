"""Scores by gallery and direction, with the protocol that made them.

A score is only as good as what is known of its making, so the two are one
object, one JSON document and one printed table.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fdch.errors import DataError
from fdch.evaluation.comparing.resampling import CONFIDENCE
from fdch.evaluation.fields import Fields
from fdch.evaluation.hash_lookup import LookupCurve
from fdch.evaluation.health import CodeHealth
from fdch.evaluation.measures import DIRECTIONS, GALLERIES, PARTNER, flatten
from fdch.evaluation.partner import PartnerScores
from fdch.evaluation.protocol import Protocol
from fdch.evaluation.score_tables import score_tables

Key = tuple[str, str, str]  # gallery, direction, measure
Values = NDArray[np.float32]
_Part = TypeVar("_Part")
_Made = TypeVar("_Made")
MAPS = ("map", "map_stable", "map_best", "map_worst")


@dataclass(frozen=True)
class DirectionScores:
    """Scores of one direction against one gallery, means over valid queries."""

    map: float  # mean average precision, expected over the orders of tied items
    map_stable: float  # the same with tied items in database order
    map_best: float  # the same in the best order of tied items
    map_worst: float  # the same in the worst order
    precision_at: Mapping[int, float]  # expected precision among the first k, by k
    chance: float  # what `map` is for random codes, with the same cut-off
    queries: int  # valid queries, which have a relevant item in the database
    skipped: int  # queries left out because they have none
    lookup: LookupCurve
    # expected NDCG of the first k, graded by shared labels, by k
    ndcg_at: Mapping[int, float] = field(default_factory=dict)

    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def means(self) -> dict[str, float]:
        """Give every mean over queries, by the name of its measure."""
        return {
            **{name: getattr(self, name) for name in MAPS},
            **{f"precision_at_{k}": share for k, share in self.precision_at.items()},
            **{f"ndcg_at_{k}": share for k, share in self.ndcg_at.items()},
        }

    def to_json(self) -> dict[str, Any]:
        """Give plain numbers, the lookup curve left apart."""
        return {
            **{name: getattr(self, name) for name in MAPS},
            "precision_at": {str(k): v for k, v in self.precision_at.items()},
            "ndcg_at": {str(k): v for k, v in self.ndcg_at.items()},
            "intervals": {name: list(ends) for name, ends in self.intervals.items()},
            "chance": self.chance,
            "queries": self.queries,
            "skipped": self.skipped,
        }

    @classmethod
    def from_json(cls, scores: Fields, lookup: Fields) -> "DirectionScores":
        """Read what `to_json` wrote, with the curve that goes with it."""
        return cls(
            **{name: scores.number(name) for name in (*MAPS, "chance")},
            precision_at=scores.by_rank("precision_at"),
            queries=scores.whole("queries", 1),
            skipped=scores.whole("skipped"),
            lookup=LookupCurve.from_json(lookup),
            ndcg_at=scores.by_rank("ndcg_at"),
            intervals=scores.intervals(),
        )


@dataclass(frozen=True, repr=False)
class Scores:
    """All scores of a method's codes, by gallery and direction."""

    method: str
    bits: int
    protocol: Protocol
    # by gallery, of GALLERIES, and direction, of DIRECTIONS
    scores: Mapping[str, Mapping[str, DirectionScores]]
    # how the codes use their bits, by the name of the set of codes
    health: Mapping[str, CodeHealth] = field(default_factory=dict)
    # how well items find their own other halves, by gallery and direction
    partner: Mapping[str, Mapping[str, PartnerScores]] = field(default_factory=dict)
    # every query's own scores, in the order of the queries; NaN where it has none
    queries: Mapping[Key, Values] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not any(self.scores.values()):
            raise DataError("scores need at least one gallery and one direction.")
        strange = [
            name
            for part in (self.scores, self.partner)
            for gallery, directions in part.items()
            for name in (gallery, *directions)
            if name not in (*GALLERIES, *DIRECTIONS)
        ]
        if strange:
            raise DataError(
                f"unknown gallery or direction {strange[0]!r}; galleries are "
                f"{', '.join(GALLERIES)}, directions {', '.join(DIRECTIONS)}."
            )

    @property
    def lookup(self) -> dict[str, dict[str, LookupCurve]]:
        """Precision and recall by radius, by gallery and direction."""
        return _convert(self.scores, lambda part: part.lookup)

    @property
    def chance(self) -> float:
        """The mAP of random codes, mean over all directions."""
        return sum(part.chance for part in self._parts()) / len(self._parts())

    @property
    def skipped_queries(self) -> int:
        """Queries without a relevant item, in the direction that has the most."""
        return max(part.skipped for part in self._parts())

    def means(self) -> dict[Key, float]:
        """Give every mean over queries, by gallery, direction and measure."""
        return self._collect(lambda part: part.means())

    def intervals(self) -> dict[Key, tuple[float, float]]:
        """Give the interval of each mean that has one, by the same names."""
        return self._collect(lambda part: part.intervals)

    def chance_of(self, gallery: str, direction: str, measure: str) -> float | None:
        """Give what random codes score by a measure, where that is known."""
        part = self.scores.get(gallery, {}).get(direction)
        if part is None:
            return None
        if measure.startswith("map"):
            return part.chance
        if measure.startswith("precision_at_"):
            return part.lookup.chance
        if measure.startswith(PARTNER) and direction in self.partner.get(gallery, {}):
            k = int(measure.rpartition("_")[2])
            return min(1.0, k / self.partner[gallery][direction].queries)
        return None

    def with_intervals(self, ends: Mapping[Key, tuple[float, float]]) -> "Scores":
        """Give the same scores with an interval beside each mean."""

        def fill(parts: Mapping[str, Mapping[str, Any]], prefix: str) -> dict[str, Any]:
            return {
                gallery: {
                    direction: replace(
                        part,
                        intervals={
                            measure: ends[gallery, direction, prefix + measure]
                            for measure in part.means()
                        },
                    )
                    for direction, part in directions.items()
                }
                for gallery, directions in parts.items()
            }

        scores, partner = fill(self.scores, ""), fill(self.partner, PARTNER)
        return replace(self, scores=scores, partner=partner)

    def to_json(self) -> dict[str, Any]:
        """Give the document that `fdch evaluate --json` writes."""
        return {
            "method": self.method,
            "bits": self.bits,
            "protocol": self.protocol.to_json(),
            "chance": self.chance,
            "skipped_queries": self.skipped_queries,
            "scores": _convert(self.scores, DirectionScores.to_json),
            "partner": _convert(self.partner, PartnerScores.to_json),
            "intervals": {"confidence": CONFIDENCE, "over": "queries"},
            "lookup": _convert(self.lookup, LookupCurve.to_json),
            "health": {name: health.to_json() for name, health in self.health.items()},
        }

    @classmethod
    def from_json(cls, document: object) -> "Scores":
        """Read what `to_json` wrote; wrong values are named."""
        given = Fields(document)
        lookup = given.inner("lookup")
        return cls(
            method=given.text("method"),
            bits=given.whole("bits", 1),
            protocol=Protocol.from_json(given.inner("protocol").document),
            scores={
                gallery: {
                    name: DirectionScores.from_json(
                        part, lookup.inner(gallery).inner(name)
                    )
                    for name, part in directions.members()
                }
                for gallery, directions in given.inner("scores").members()
            },
            health={
                name: CodeHealth.from_json(part)
                for name, part in given.optional("health").members()
            },
            partner={
                gallery: {
                    name: PartnerScores.from_json(part)
                    for name, part in directions.members()
                }
                for gallery, directions in given.optional("partner").members()
            },
        )

    def __str__(self) -> str:
        return "\n\n".join(map(str, score_tables(self)))

    def __repr__(self) -> str:
        maps = ", ".join(
            f"{gallery} {name} {part.map:.4f}"
            for gallery, name, part in flatten(self.scores)
        )
        return f"Scores('{self.method}', {self.bits} bits, mAP: {maps})"

    def _repr_html_(self) -> str:
        return "".join(table._repr_html_() for table in score_tables(self))

    def _parts(self) -> list[DirectionScores]:
        return [part for _, _, part in flatten(self.scores)]

    def _collect(
        self, take: Callable[[DirectionScores | PartnerScores], Mapping[str, _Part]]
    ) -> dict[Key, _Part]:
        """Gather what all parts have by measure; partners' measures have a prefix."""
        found = {}
        for gallery, direction, part in flatten(self.scores):
            for measure, value in take(part).items():
                found[gallery, direction, measure] = value
        for gallery, direction, partners in flatten(self.partner):
            for measure, value in take(partners).items():
                found[gallery, direction, PARTNER + measure] = value
        return found


def without_nan(values: Values) -> Values:
    """Leave out queries without a score."""
    return values[~np.isnan(values)]


def _convert(
    parts: Mapping[str, Mapping[str, _Part]], convert: Callable[[_Part], _Made]
) -> dict[str, dict[str, _Made]]:
    """Convert every part, by gallery and direction."""
    return {
        gallery: {name: convert(part) for name, part in directions.items()}
        for gallery, directions in parts.items()
    }
