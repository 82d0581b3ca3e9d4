"""Paired differences: two methods on the same queries, query by query.

Queries differ in how hard they are, and both methods meet the same ones; so their
differences vary less than the scores themselves. Runs of several seeds are pooled:
the queries of all their splits together.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fdch.evaluation.comparing.resampling import (
    CONFIDENCE,
    bootstrap_intervals,
    sign_flip_p,
)
from fdch.evaluation.measures import DIRECTIONS, GALLERIES, MEASURES, require_measure
from fdch.evaluation.scores import Key, Scores
from fdch.evaluation.tables import Table

# what makes the queries of two runs, and what is right for them, the same
OF_QUERIES = ("data", "split", "queries", "database", "relevance", "ties", "cutoff")


@dataclass(frozen=True)
class PairedDifference:
    """How much better one method is than another on the same queries."""

    method: str
    bits: int
    reference: str
    reference_bits: int
    gallery: str
    direction: str
    difference: float  # mean of the method's score less the reference's
    low: float  # lower end of the difference's bootstrap interval over queries
    high: float
    p: float  # two-sided p-value of random sign flips, for this comparison alone
    queries: int  # queries that both have a score for

    def to_json(self) -> dict[str, Any]:
        """Return plain values by name."""
        given = asdict(self)
        return given | {"interval": [given.pop("low"), given.pop("high")]}


def paired_difference(
    scores: NDArray[np.floating], reference: NDArray[np.floating]
) -> tuple[float, float, float, float]:
    """Compare two lists of scores of the same queries.

    Returns the mean difference, both ends of its interval, and the p-value.

    >>> better = np.linspace(0.2, 0.9, 50)
    >>> mean, low, high, p = paired_difference(better, better - 0.1)
    >>> round(mean, 3), round(low, 3), round(high, 3), p < 0.001
    (0.1, 0.1, 0.1, True)
    """
    differences = scores.astype(np.float64) - reference
    low, high = bootstrap_intervals(differences[:, None])[0].tolist()
    return float(differences.mean()), low, high, sign_flip_p(differences)


def paired_differences(
    scores: Sequence[Scores], measure: str = "map"
) -> tuple[list[PairedDifference], list[str]]:
    """Compare each method with the first, query by query, by one of `MEASURES`.

    A method is compared with the first one at its own code length, or with the first
    of all where there is none. Returns the differences, and why others are missing.
    """
    require_measure(measure)
    groups: dict[tuple[str, int], list[Scores]] = {}
    for run in scores:
        groups.setdefault((run.method, run.bits), []).append(run)
    found: list[PairedDifference] = []
    reasons: list[str] = []
    if MEASURES[measure].is_rank and len(groups) > 1:
        return [], [f"{measure}: a median has no per-query differences"]
    first = next(iter(groups), ("", 0))
    for key in list(groups)[1:]:
        alike = first[0], key[1]
        reference = alike if alike in groups and alike != key else first
        sides = _sort(groups[key]), _sort(groups[reference])
        reason = _obstacle(*sides)
        if reason:
            reasons.append(f"{_name(key)} and {_name(reference)}: {reason}")
        else:
            found += _compare(*sides, measure)
    return found, reasons


def paired_table(found: Sequence[PairedDifference], reasons: Sequence[str]) -> Table:
    """Lay out differences, and say what could not be compared."""
    rows = tuple(
        (
            _name((each.method, each.bits)),
            f"less {_name((each.reference, each.reference_bits))}",
            each.gallery,
            DIRECTIONS[each.direction],
            f"{each.difference:+.4f}",
            f"{each.low:+.4f} to {each.high:+.4f}",
            f"{each.p:.4f}",
            each.queries,
        )
        for each in found
    )
    interval = f"{CONFIDENCE:.0%} interval"
    notes = [f"no paired test of {reason}" for reason in reasons]
    if found:
        notes.insert(0, "paired over queries: bootstrap interval, sign-flip p-value")
    header = ("method", "", "gallery", "direction", "difference", interval, "p")
    return Table((*header, "queries"), rows, tuple(notes))


def _name(key: tuple[str, int]) -> str:
    return f"{key[0]} {key[1]}"


def _sort(runs: Sequence[Scores]) -> list[Scores]:
    return sorted(runs, key=lambda run: (run.protocol.split, run.protocol.seed))


def _obstacle(runs: Sequence[Scores], others: Sequence[Scores]) -> str:
    """Return why two groups of runs cannot be paired; empty if they can."""
    for run in (*runs, *others):
        if run.queries is None:
            return (
                f"no scores of single queries are kept for {run.method} (seed "
                f"{run.protocol.seed}); score it again with 'fdch evaluate'"
            )
    if len(runs) != len(others):
        return f"they have {len(runs)} and {len(others)} runs"
    for run, other in zip(runs, others, strict=True):
        differing = run.protocol.differences(other.protocol)
        wrong = [name for name in OF_QUERIES if name in differing]
        if wrong:
            return f"they were scored on different queries ({', '.join(wrong)})"
    return ""


def _compare(
    runs: Sequence[Scores], others: Sequence[Scores], measure: str
) -> Iterator[PairedDifference]:
    named = runs[0].method, runs[0].bits, others[0].method, others[0].bits
    for gallery, direction in product(GALLERIES, DIRECTIONS):
        key = gallery, direction, measure
        values, other_values = _pool(runs, key), _pool(others, key)
        if len(values) != len(other_values):
            continue  # one of them was scored before there was this measure
        both = np.isfinite(values) & np.isfinite(other_values)
        if both.any():
            found = paired_difference(values[both], other_values[both])
            yield PairedDifference(
                *named, gallery, direction, *found, queries=int(both.sum())
            )


def _pool(runs: Sequence[Scores], key: Key) -> NDArray[np.float32]:
    """Join the lists of several runs; those of a measure that is unknown are empty."""
    none = np.empty(0, dtype=np.float32)
    return np.concatenate([(run.queries or {}).get(key, none) for run in runs])
