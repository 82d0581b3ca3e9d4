"""Hash lookup: precision and recall of the items within each radius.

The micro average pools all queries: relevant items within the radius over all
items within it. The macro average is the mean over queries, where an empty ball
counts as precision 0 or is skipped. Radii run from 0 to the number of bits, so
recall always reaches 1. Queries without relevant items take no part.
"""

from dataclasses import asdict, dataclass
from typing import Any, Literal, cast

import numpy as np

from fdch.errors import DataError, LabelError, SettingError
from fdch.evaluation.fields import Fields
from fdch.evaluation.histograms import MAX_BITS, Histograms

Average = Literal["micro", "macro"]
Empty = Literal["zero", "skip"]


@dataclass(frozen=True)
class LookupCurve:
    """Precision and recall at each radius."""

    radius: tuple[int, ...]  # 0 up to the number of bits
    precision: tuple[float | None, ...]  # None where no query retrieves anything
    recall: tuple[float, ...]  # share of the relevant items within the radius
    average: Average = "micro"  # "micro" pools the queries, "macro" is their mean
    empty: Empty = "zero"  # what an empty ball adds to a macro precision

    @property
    def chance(self) -> float | None:
        """Precision of random codes: that of the whole database, at the last radius."""
        return self.precision[-1] if self.precision else None

    def to_json(self) -> dict[str, Any]:
        """Give lists of numbers; a point without a precision is null."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
        }

    @classmethod
    def from_json(cls, given: Fields) -> "LookupCurve":
        """Read what `to_json` wrote; wrong values are named."""
        precision, recall = given.numbers_or_null("precision"), given.numbers("recall")
        radius = given.numbers("radius", most=MAX_BITS)
        expected = tuple(range(len(radius)))
        if radius != list(expected) or not len(radius) == len(precision) == len(recall):
            raise DataError(
                f"{given.place} must have radius 0, 1, 2, ... with one precision and "
                f"one recall each; got {len(radius)}, {len(precision)}, {len(recall)}."
            )
        average = cast(Average, given.choice("average", "micro", "macro"))
        empty = cast(Empty, given.choice("empty", "zero", "skip"))
        return cls(expected, tuple(precision), tuple(recall), average, empty)


class LookupTotals:
    """Gathers a curve from blocks of queries, keeping sums alone."""

    def __init__(self, average: Average = "micro", empty: Empty = "zero") -> None:
        if average not in ("micro", "macro") or empty not in ("zero", "skip"):
            raise SettingError(
                f"a lookup curve is micro or macro, empty balls zero or skip; "
                f"got {average!r} and {empty!r}."
            )
        self.average: Average = average
        self.empty: Empty = empty
        self._precision = np.zeros((2, 1))  # numerators and denominators by radius
        self._recall = np.zeros((2, 1))

    def add(self, counts: Histograms) -> None:
        """Add a block of queries."""
        valid = counts.relevant.sum(axis=1) > 0
        retrieved = np.cumsum(counts.items[valid], axis=1)
        relevant = np.cumsum(counts.relevant[valid], axis=1)
        answers = np.broadcast_to(relevant[:, -1:], relevant.shape)
        if self.average == "micro":
            precision, recall = (relevant, retrieved), (relevant, answers)
        else:
            counted = (retrieved > 0) | (self.empty == "zero")
            precision = relevant / np.maximum(retrieved, 1), counted
            recall = relevant / answers, answers > 0
        self._precision = self._precision + [part.sum(axis=0) for part in precision]
        self._recall = self._recall + [part.sum(axis=0) for part in recall]

    def curve(self) -> LookupCurve:
        """Give the curve of everything added."""
        if not self._recall[1, -1]:
            raise LabelError("no query shares a label with the database.")
        found, retrieved = self._precision
        precision = [
            float(a / b) if b else None for a, b in zip(found, retrieved, strict=True)
        ]
        recall = self._recall[0] / self._recall[1]
        radius, recalls = tuple(range(found.size)), tuple(recall.tolist())
        return LookupCurve(radius, tuple(precision), recalls, self.average, self.empty)
