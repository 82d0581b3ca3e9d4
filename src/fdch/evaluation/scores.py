"""Scores by gallery and direction, with the protocol that made them.

A score is only as good as what is known of its making, so the two are one
object, one JSON document and one printed table.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from fdch.errors import DataError
from fdch.evaluation.fields import Fields
from fdch.evaluation.health import CodeHealth
from fdch.evaluation.lookup import LookupCurve
from fdch.evaluation.protocol import Protocol
from fdch.evaluation.tables import Cell, Table

DIRECTIONS = {"image_to_text": "image → text", "text_to_image": "text → image"}
GALLERIES = ("modality", "unified")


@dataclass(frozen=True)
class DirectionScores:
    """Scores of one direction against one gallery, means over valid queries.

    Args:
        map: Mean average precision, expected over the orders of tied items.
        map_stable: The same with tied items in database order.
        map_best: The same in the best order of tied items.
        map_worst: The same in the worst order.
        precision_at: Expected precision among the first k, by k.
        chance: What `map` is for random codes, with the same cut-off.
        queries: Valid queries, which have a relevant item in the database.
        skipped: Queries left out because they have none.
        lookup: Precision and recall by radius.
    """

    map: float
    map_stable: float
    map_best: float
    map_worst: float
    precision_at: Mapping[int, float]
    chance: float
    queries: int
    skipped: int
    lookup: LookupCurve

    def to_json(self) -> dict[str, Any]:
        """Give plain numbers, the lookup curve left apart."""
        given = {
            item.name: getattr(self, item.name)
            for item in fields(self)
            if item.name != "lookup"
        }
        return given | {
            "precision_at": {str(k): v for k, v in self.precision_at.items()}
        }

    @classmethod
    def from_json(cls, scores: Fields, lookup: Fields) -> "DirectionScores":
        """Read what `to_json` wrote, with the curve that goes with it."""
        precision = scores.inner("precision_at")
        return cls(
            **{
                name: scores.number(name)
                for name in ("map", "map_stable", "map_best", "map_worst", "chance")
            },
            precision_at={_rank(k): precision.number(k) for k in precision.document},
            queries=scores.whole("queries", 1),
            skipped=scores.whole("skipped"),
            lookup=LookupCurve.from_json(lookup),
        )


@dataclass(frozen=True)
class Scores:
    """All scores of a method's codes, by gallery and direction.

    Args:
        method: The method's name.
        bits: Length of its codes.
        protocol: How the scores were made.
        scores: By gallery ("modality", "unified") and direction
            ("image_to_text", "text_to_image").
        health: How the codes use their bits, by the name of the set of codes.
    """

    method: str
    bits: int
    protocol: Protocol
    scores: Mapping[str, Mapping[str, DirectionScores]]
    health: Mapping[str, CodeHealth] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not any(self.scores.values()):
            raise DataError("scores need at least one gallery and one direction.")
        strange = [
            name
            for gallery, directions in self.scores.items()
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
        return {
            gallery: {name: part.lookup for name, part in directions.items()}
            for gallery, directions in self.scores.items()
        }

    @property
    def chance(self) -> float:
        """The mAP of random codes, mean over all directions."""
        return sum(part.chance for part in self._parts()) / len(self._parts())

    @property
    def skipped_queries(self) -> int:
        """Queries without a relevant item, in the direction that has the most."""
        return max(part.skipped for part in self._parts())

    def to_json(self) -> dict[str, Any]:
        """Give the document that `fdch evaluate --json` writes."""
        return {
            "method": self.method,
            "bits": self.bits,
            "protocol": self.protocol.to_json(),
            "chance": self.chance,
            "skipped_queries": self.skipped_queries,
            "scores": {
                gallery: {name: part.to_json() for name, part in directions.items()}
                for gallery, directions in self.scores.items()
            },
            "lookup": {
                gallery: {name: curve.to_json() for name, curve in curves.items()}
                for gallery, curves in self.lookup.items()
            },
            "health": {name: health.to_json() for name, health in self.health.items()},
        }

    @classmethod
    def from_json(cls, document: object) -> "Scores":
        """Read what `to_json` wrote; wrong values are named."""
        given = Fields(document)
        scores, lookup = given.inner("scores"), given.inner("lookup")
        health = given.inner("health") if given.has("health") else Fields({})
        return cls(
            method=given.text("method"),
            bits=given.whole("bits", 1),
            protocol=Protocol.from_json(given.inner("protocol").document),
            scores={
                gallery: {
                    name: DirectionScores.from_json(
                        scores.inner(gallery).inner(name),
                        lookup.inner(gallery).inner(name),
                    )
                    for name in scores.inner(gallery).document
                }
                for gallery in scores.document
            },
            health={
                name: CodeHealth.from_json(health.inner(name))
                for name in health.document
            },
        )

    def table(self) -> Table:
        """Lay the scores out, a row to each gallery and direction."""
        ranks = sorted({k for part in self._parts() for k in part.precision_at})
        rows: list[tuple[Cell, ...]] = [
            (
                gallery,
                DIRECTIONS[name],
                part.map,
                part.map_stable,
                part.map_best,
                part.map_worst,
                *(part.precision_at.get(k) for k in ranks),
            )
            for gallery, directions in self.scores.items()
            for name, part in directions.items()
        ]
        header = ("gallery", "direction", "mAP", "stable", "best", "worst")
        skipped = f"; {self.skipped_queries} queries without an answer left out"
        return Table(
            (*header, *(f"P@{k}" for k in ranks)),
            tuple(rows),
            (
                f"{self.method}, {self.bits} bits; chance {self.chance:.4f}"
                + (skipped if self.skipped_queries else ""),
                str(self.protocol),
            ),
        )

    def __str__(self) -> str:
        return str(self.table())

    def _parts(self) -> list[DirectionScores]:
        return [part for parts in self.scores.values() for part in parts.values()]


def _rank(text: str) -> int:
    if not text.isdecimal() or len(text) > 12 or int(text) < 1:
        raise DataError(f"precision is given at ranks of 1 or more; got {text[:20]!r}.")
    return int(text)
