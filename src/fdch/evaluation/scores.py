"""Scores by gallery and direction, with the protocol that made them.

A score is only as good as what is known of its making, so the two are one
object, one JSON document and one printed table.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fdch.errors import DataError, count_noun
from fdch.evaluation.comparing.resampling import CONFIDENCE
from fdch.evaluation.documents import (
    Ends,
    Positive,
    Share,
    from_plain,
    read_value,
    to_plain,
)
from fdch.evaluation.hash_lookup import LookupCurve
from fdch.evaluation.health import CodeHealth
from fdch.evaluation.measures import (
    DIRECTIONS,
    GALLERIES,
    MAIN,
    MEASURES,
    MEDIAN_RANK,
    PARTNER,
    flatten,
)
from fdch.evaluation.partner import PartnerScores
from fdch.evaluation.protocol import Protocol
from fdch.evaluation.tables import Cell, Table

Key = tuple[str, str, str]  # gallery, direction, measure
Values = NDArray[np.float32]
_Part = TypeVar("_Part")
MAPS = ("map", "map_stable", "map_best", "map_worst")


@dataclass(frozen=True, repr=False)
class DirectionScores:
    """Scores of one direction against one gallery, means over valid queries."""

    map: Share  # mean average precision, expected over the orders of tied items
    map_stable: Share  # the same with tied items in database order
    map_best: Share  # the same in the best order of tied items
    map_worst: Share  # the same in the worst order
    precision_at: Mapping[int, Share]  # expected precision among the first k, by k
    chance: Share  # what `map` is for random codes, with the same cut-off
    queries: Positive  # valid queries, which have a relevant item in the database
    skipped: int  # queries left out because they have none
    lookup: LookupCurve
    # expected NDCG of the first k, graded by shared labels, by k
    ndcg_at: Mapping[int, Share] = field(default_factory=dict)

    intervals: Mapping[str, Ends] = field(default_factory=dict)  # by measure

    def means(self) -> dict[str, float]:
        """Return every mean over queries, by the name of its measure."""
        return {
            **{name: getattr(self, name) for name in MAPS},
            **{f"precision_at_{k}": share for k, share in self.precision_at.items()},
            **{f"ndcg_at_{k}": share for k, share in self.ndcg_at.items()},
        }

    def table(self) -> Table:
        """Lay out the means over queries."""
        titles, rows = _means([self])
        skipped = f"; {self.skipped:,} without an answer left out"
        counted = f"{self.queries:,} queries" + (skipped if self.skipped else "")
        return Table(titles, tuple(rows), (f"{counted}; chance {self.chance:.4f}",))

    def __str__(self) -> str:
        return str(self.table())

    def __repr__(self) -> str:
        means = f"mAP {self.map:.4f}, chance {self.chance:.4f}"
        queries = count_noun(self.queries, "query", "queries")
        return f"DirectionScores({means}, {queries})"

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


@dataclass(frozen=True, repr=False)
class Scores:
    """All scores of a method's codes, by gallery and direction."""

    method: str
    bits: Positive
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
    def chance(self) -> float:
        """The mAP of random codes, mean over all directions."""
        parts = flatten(self.scores)
        return sum(part.chance for *_, part in parts) / len(parts)

    @property
    def skipped_queries(self) -> int:
        """Queries without a relevant item, in the direction that has the most."""
        return max(part.skipped for *_, part in flatten(self.scores))

    def means(self) -> dict[Key, float]:
        """Return every mean over queries, by gallery, direction and measure."""
        return self._collect(lambda part: part.means())

    def measures(self) -> dict[Key, float]:
        """Return every mean over queries, and the median ranks, by the same names."""
        ranks = {
            (gallery, direction, MEDIAN_RANK): part.median_rank
            for gallery, direction, part in flatten(self.partner)
        }
        return self.means() | ranks

    def intervals(self) -> dict[Key, tuple[float, float]]:
        """Return the interval of each mean that has one, by the same names."""
        return self._collect(lambda part: part.intervals)

    def chance_of(self, gallery: str, direction: str, measure: str) -> float | None:
        """Return what random codes score by a measure, where that is known."""
        part = self.scores.get(gallery, {}).get(direction)
        if part is None:
            return None
        if measure.startswith("map"):
            return part.chance
        if measure.startswith("precision_at_"):
            return part.lookup.chance
        if measure.startswith(PARTNER) and direction in self.partner.get(gallery, {}):
            queries = self.partner[gallery][direction].queries
            if measure == MEDIAN_RANK:
                return (queries + 1) / 2
            return min(1.0, int(measure.rpartition("_")[2]) / queries)
        return None

    def to_json(self) -> dict[str, Any]:
        """Return the document that `fdch evaluate --json` writes."""
        document = to_plain(replace(self, queries=None))
        lookup: dict[str, dict[str, Any]] = {}
        for gallery, direction, part in flatten(document["scores"]):
            lookup.setdefault(gallery, {})[direction] = part.pop("lookup")
        return {
            "method": self.method,
            "bits": self.bits,
            "protocol": document["protocol"],
            "chance": self.chance,
            "skipped_queries": self.skipped_queries,
            "scores": document["scores"],
            "partner": document["partner"],
            "intervals": {"confidence": CONFIDENCE, "over": "queries"},
            "lookup": lookup,
            "health": {name: health.to_json() for name, health in self.health.items()},
        }

    @classmethod
    def from_json(cls, document: object) -> "Scores":
        """Read what `to_json` wrote; wrong values are named."""
        given = read_value(dict[str, Any], document, "scores")
        parts, curves = (
            read_value(dict[str, dict[str, Any]], given.get(name), f"scores.{name}")
            for name in ("scores", "lookup")
        )
        for gallery, direction, part in flatten(parts):
            members = read_value(dict[str, Any], part, f"scores.scores.{gallery}")
            lookup = curves.get(gallery, {}).get(direction)
            parts[gallery][direction] = {**members, "lookup": lookup}
        own = ("method", "bits", "protocol", "health", "partner")
        kept = {name: given[name] for name in own if name in given}
        return from_plain(cls, {**kept, "scores": parts}, "scores")

    def tables(self) -> list[Table]:
        """Lay out means, partner recall and intervals, where there are any."""
        tables = [_means_table(self)]
        if any(self.partner.values()):
            tables.append(_partner_table(self))
        if self.intervals():
            tables.append(_interval_table(self))
        return tables

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.tables()))

    def __repr__(self) -> str:
        maps = ", ".join(
            f"{gallery} {name} {part.map:.4f}"
            for gallery, name, part in flatten(self.scores)
        )
        return f"Scores('{self.method}', {self.bits} bits, mAP: {maps})"

    def _repr_html_(self) -> str:
        return "".join(table._repr_html_() for table in self.tables())

    def _collect(
        self, take: Callable[[DirectionScores | PartnerScores], Mapping[str, _Part]]
    ) -> dict[Key, _Part]:
        """Gather what all parts have by measure; partners' measures have a prefix."""
        found = {}
        every: dict[str, Mapping[str, Mapping[str, DirectionScores | PartnerScores]]]
        every = {"": self.scores, PARTNER: self.partner}
        for prefix, parts in every.items():
            for gallery, direction, part in flatten(parts):
                for measure, value in take(part).items():
                    found[gallery, direction, prefix + measure] = value
        return found


def without_nan(values: Values) -> Values:
    """Leave out queries without a score."""
    return values[~np.isnan(values)]


def _means(
    parts: Sequence[DirectionScores],
) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
    """Return the titles of all means, and a row of them for each direction."""
    precisions = sorted({k for part in parts for k in part.precision_at})
    gains = sorted({k for part in parts for k in part.ndcg_at})
    rows: list[tuple[Cell, ...]] = [
        (
            *(getattr(part, each) for each in MAPS),
            *(part.precision_at.get(k) for k in precisions),
            *(part.ndcg_at.get(k) for k in gains),
        )
        for part in parts
    ]
    ranked = (*(f"P@{k}" for k in precisions), *(f"NDCG@{k}" for k in gains))
    return ("mAP", "stable", "best", "worst", *ranked), rows


def _means_table(scores: Scores) -> Table:
    """Lay out the means, a row to each gallery and direction, and the protocol."""
    parts = flatten(scores.scores)
    titles, rows = _means([part for *_, part in parts])
    skipped = f"; {scores.skipped_queries} queries without an answer left out"
    return Table(
        ("gallery", "direction", *titles),
        tuple(
            (gallery, DIRECTIONS[name], *row)
            for (gallery, name, _), row in zip(parts, rows, strict=True)
        ),
        (
            f"{scores.method}, {scores.bits} bits; chance {scores.chance:.4f}"
            + (skipped if scores.skipped_queries else ""),
            str(scores.protocol),
        ),
    )


def _partner_table(scores: Scores) -> Table:
    """Lay out how often an item's own other half is found, and where."""
    parts = flatten(scores.partner)
    ranks = sorted({k for *_, part in parts for k in part.recall_at})
    rows: list[tuple[Cell, ...]] = [
        (
            gallery,
            DIRECTIONS[name],
            *(part.recall_at.get(k) for k in ranks),
            f"{part.median_rank:,.1f}",
        )
        for gallery, name, part in parts
    ]
    pairs = max(part.queries for *_, part in parts)
    return Table(
        ("gallery", "own partner", *(f"first {k}" for k in ranks), "median rank"),
        tuple(rows),
        (f"each query's own other half among those of {pairs:,} query pairs",),
    )


def _interval_table(scores: Scores) -> Table:
    """Lay out the intervals of the main measures."""
    ends = scores.intervals()

    def show(key: Key) -> str:
        return "–".join(f"{end:.4f}" for end in ends.get(key, ())) or "-"  # noqa: RUF001

    rows = tuple(
        (gallery, DIRECTIONS[name], *(show((gallery, name, each)) for each in MAIN))
        for gallery, name, _ in flatten(scores.scores)
    )
    titles = (MEASURES[measure].title for measure in MAIN)
    return Table(
        ("gallery", "interval", *titles),
        rows,
        (f"{CONFIDENCE:.0%} of the means of resampled queries (bootstrap)",),
    )
