"""The order that pages are cut from: the same, however many results are requested."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.intp]


@dataclass(frozen=True)
class Stages:
    """How many of the nearest candidates each result is chosen from.

    The first `results` are the best of the nearest `candidates`. Up to twice as many
    results come from twice as many candidates, and so on. So a result's place does not
    depend on how many results are requested.

    Args:
        results: Of the first stage.
        candidates: Of the first stage.
        extra: Items that will be left out, which are added to both.
        most: Candidates of a stage that has fewer results.
        joins_ties: Whether, where the last candidate of a stage is as near as its last
            result by codes, all candidates as near belong to it.
    """

    results: int
    candidates: int
    extra: int = 0
    most: int = 100_000
    joins_ties: bool = False

    def stage(self, number: int) -> tuple[int, int]:
        """Return how many results all stages up to this one give, of how many."""
        results = (self.results << number) + self.extra
        candidates = min((self.candidates << number) + self.extra, self.most)
        return results, max(results, candidates)

    def cover(self, wanted: int) -> tuple[int, int]:
        """Return the same for the first stage up to which there are enough results.

        >>> Stages(25, 500).cover(10), Stages(25, 500).cover(60)
        ((25, 500), (100, 2000))
        """
        number = 0
        while self.stage(number)[0] < wanted:
            number += 1
        return self.stage(number)

    def order(
        self, distances: NDArray[Any], rate: Callable[[int], NDArray[Any]]
    ) -> Places:
        """Return the places of candidates, the best first.

        Args:
            distances: Of the candidates, nearest first.
            rate: Gives what so many of the nearest are ordered by, the smallest first.

        >>> distances, far = np.array([0, 1, 1, 2, 3]), np.array([3, 2, 4, 1, 0])
        >>> Stages(1, 2).order(distances, lambda count: far[:count]).tolist()
        [1, 3, 4, 0, 2]
        """
        count, found = len(distances), np.empty(0, np.intp)
        number = end = 0
        while end < count:
            results, end = self.stage(number)
            if end < count and self.is_tied(distances, results, end):
                end = int(np.searchsorted(distances, distances[end - 1], "right"))
            best = np.argsort(rate(min(end, count)), kind="stable")
            best = best[~np.isin(best, found)]
            more = best if end >= count else best[: results - len(found)]
            found, number = np.concatenate([found, more]), number + 1
        return found

    def is_tied(self, distances: NDArray[Any], results: int, candidates: int) -> bool:
        """Say whether others as near as the last candidate of a stage belong to it."""
        return self.joins_ties and bool(
            distances[candidates - 1] == distances[results - 1]
        )
