"""Hash lookup: precision and recall of the items within each radius.

All queries are pooled (micro average): relevant items within the radius over all
items within it. Radii run from 0 to the number of bits, so recall always reaches 1.
Queries without relevant items take no part.
"""

from dataclasses import dataclass

import numpy as np

from fdch.errors import DataError, LabelError
from fdch.evaluation.documents import Share
from fdch.evaluation.histograms import Histograms


@dataclass(frozen=True)
class LookupCurve:
    """Precision and recall at each radius."""

    radius: tuple[int, ...]  # 0 up to the number of bits
    precision: tuple[Share | None, ...]  # None where no query retrieves anything
    recall: tuple[Share, ...]  # share of the relevant items within the radius
    average: str = "micro"  # queries are pooled

    def __post_init__(self) -> None:
        sizes = len(self.radius), len(self.precision), len(self.recall)
        if self.radius != tuple(range(sizes[0])) or len(set(sizes)) > 1:
            raise DataError(
                "a lookup curve must have radius 0, 1, 2, ... with one precision and "
                f"one recall each; got {sizes[0]}, {sizes[1]}, {sizes[2]}."
            )

    @property
    def chance(self) -> float | None:
        """Precision of random codes: that of the whole database, at the last radius."""
        return self.precision[-1] if self.precision else None


class LookupTotals:
    """Gathers a curve from blocks of queries, keeping sums alone."""

    def __init__(self) -> None:
        # by radius: items retrieved, relevant ones among them, and all relevant ones
        self._sums = np.zeros((3, 1))

    def add(self, counts: Histograms) -> None:
        """Add a block of queries."""
        valid = counts.relevant.sum(axis=1) > 0
        retrieved = np.cumsum(counts.items[valid], axis=1)
        relevant = np.cumsum(counts.relevant[valid], axis=1)
        answers = np.broadcast_to(relevant[:, -1:], relevant.shape)
        parts = retrieved, relevant, answers
        self._sums = self._sums + [part.sum(axis=0) for part in parts]

    def curve(self) -> LookupCurve:
        """Return the curve of everything added."""
        retrieved, relevant, answers = self._sums
        if not answers[-1]:
            raise LabelError("no query shares a label with the database.")
        precision = [
            float(a / b) if b else None
            for a, b in zip(relevant, retrieved, strict=True)
        ]
        recall = (relevant / answers).tolist()
        return LookupCurve(tuple(range(len(recall))), tuple(precision), tuple(recall))
