"""Several scores in one table, never with different protocols unsaid."""

from collections.abc import Iterable, Sequence
from itertools import product

from fdch.errors import DataError, ProtocolMismatch
from fdch.evaluation.measures import (
    DIRECTIONS,
    GALLERIES,
    MEASURES,
    PARTNER,
    require_measure,
)
from fdch.evaluation.scores import Key, Scores
from fdch.evaluation.tables import Cell, Spread, Table, mean_known

# What differs between repetitions of one experiment by its nature.
OF_A_SEED = ("seed", "split")
Row = tuple[str, str, str]  # method, gallery and, where they may differ, protocol
Rows = dict[Row, dict[int, list[Scores]]]


def comparison(
    scores: Sequence[Scores],
    *,
    over_seeds: bool = False,
    allow_mixed: bool = False,
    measure: str = "map",
) -> Table:
    """Put scores side by side: methods down, directions and code lengths across.

    Args:
        scores: What to compare, in the order of the rows.
        over_seeds: Average runs that differ in seed and split alone, and give
            mean and standard deviation. Every cell must have the same seeds.
        allow_mixed: Accept different protocols; each row then shows its own.
        measure: One of `MEASURES`, such as "map" or "ndcg_at_10".

    >>> from fdch.codes import binarize
    >>> from fdch.evaluation import Coded, CodedPairs, Protocol, score_galleries
    >>> both = Coded(binarize([[1, 1], [-1, -1]]), [[1, 0], [0, 1]])
    >>> pairs, protocol = CodedPairs(both, both), Protocol("data", "split", 2, 2, 0)
    >>> runs = [score_galleries(name, pairs, pairs, protocol) for name in ("a", "b")]
    >>> comparison(runs).rows[1]
    ('b', 'modality', 1.0, 1.0, 0.75)
    """
    if not scores:
        raise DataError("there are no scores to compare; give at least one.")
    require_measure(measure)
    if not allow_mixed:
        _check_protocols(scores, OF_A_SEED if over_seeds else ())
    galleries = ("modality",) if measure.startswith(PARTNER) else GALLERIES
    rows: Rows = {}
    for gallery, run in product(galleries, scores):
        if gallery in run.scores:
            protocol = run.protocol.describe(of_a_seed=not over_seeds)
            key = run.method, gallery, protocol if allow_mixed else ""
            rows.setdefault(key, {}).setdefault(run.bits, []).append(run)
    _check_seeds(rows, is_same=over_seeds and not allow_mixed)
    columns = list(product(DIRECTIONS, sorted({part.bits for part in scores})))
    lines: list[tuple[Cell, ...]] = []
    for (method, gallery, protocol), by_bits in rows.items():
        runs = [run for each in by_bits.values() for run in each]
        cells = [
            _cell(by_bits.get(bits, []), (gallery, direction, measure), over_seeds)
            for direction, bits in columns
        ]
        chances = (
            run.chance_of(gallery, direction, measure)
            for run in runs
            for direction in run.scores[gallery]
        )
        seeds = f"; seeds {_seeds(runs)}" if over_seeds else ""
        shown = [protocol + seeds] if allow_mixed else []
        lines.append((method, gallery, *cells, mean_known(chances), *shown))
    notes = [MEASURES[measure].meaning]
    if over_seeds:
        seeds = _seeds(scores)
        alone = f"seed {seeds} alone, so without a spread"
        means = f"mean ± standard deviation over seeds {seeds}"
        notes.append(means if "," in seeds else alone)
    if not allow_mixed:
        notes.append(scores[0].protocol.describe(of_a_seed=not over_seeds))
    named = (f"{DIRECTIONS[direction]} {bits}" for direction, bits in columns)
    last = ("chance", "protocol") if allow_mixed else ("chance",)
    header = "method", "gallery", *named, *last
    return Table(header, tuple(lines), tuple(notes), MEASURES[measure].places)


def _cell(runs: Sequence[Scores], key: Key, over_seeds: bool) -> Cell:
    found = [run.measures().get(key) for run in runs]
    values = [value for value in found if value is not None]
    if not values or len(values) < len(found):  # a mean of some is of other seeds
        return None
    return Spread.of(values) if over_seeds else values[0]


def _check_protocols(scores: Sequence[Scores], besides: tuple[str, ...]) -> None:
    # one that knows what it was trained on finds every difference
    first = next((part for part in scores if part.protocol.trained_on), scores[0])
    for other in scores:
        differing = first.protocol.differences(other.protocol, besides=besides)
        if not differing:
            continue
        listed = "; ".join(
            f"{name} {a!r} and {b!r}" for name, (a, b) in differing.items()
        )
        is_of_a_seed = set(differing) <= set(OF_A_SEED)
        advice = "average them with over_seeds=True, or " if is_of_a_seed else "or "
        raise ProtocolMismatch(
            f"{first.method} at {first.bits} bits and {other.method} at {other.bits} "
            f"bits were scored under different protocols: {listed}. Score both "
            f"alike, {advice}pass allow_mixed=True to show each row's protocol."
        )


def _check_seeds(rows: Rows, is_same: bool) -> None:
    """Refuse runs that occur twice and, if so wanted, cells of different seeds."""
    cells = [
        (method, bits, runs)
        for (method, *_), by_bits in rows.items()
        for bits, runs in by_bits.items()
    ]
    first, length, reference = cells[0]
    for method, bits, runs in cells:
        if len(set(_draws(runs))) < len(runs):
            raise DataError(
                f"there are {len(runs)} scores of {method} at {bits} bits, some with "
                "the same seed and split; give each run once."
            )
        if is_same and _draws(reference) != _draws(runs):
            raise ProtocolMismatch(
                f"{first} at {length} bits has seeds {_seeds(reference)}, {method} at "
                f"{bits} bits {_seeds(runs)}, or their splits differ; such means are "
                "not comparable. Run both with the same seeds, or pass "
                "allow_mixed=True."
            )


def _draws(runs: Iterable[Scores]) -> list[tuple[int, str]]:
    return sorted((run.protocol.seed, run.protocol.split) for run in runs)


def _seeds(runs: Iterable[Scores]) -> str:
    return ", ".join(map(str, sorted({run.protocol.seed for run in runs})))
