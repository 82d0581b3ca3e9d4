"""Several scores in one table, never with different protocols unsaid."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product

from fdch.errors import DataError, ProtocolMismatch, SettingError, suggestion
from fdch.evaluation.measures import DIRECTIONS, GALLERIES, MEASURES, PARTNER
from fdch.evaluation.scores import Scores
from fdch.evaluation.tables import Cell, Spread, Table, mean_known

# What differs between repetitions of one experiment by its nature.
OF_A_SEED = ("seed", "split")


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
    if measure not in MEASURES:
        hint = suggestion(measure, MEASURES)
        raise SettingError(f"unknown measure {measure!r}{hint}.")
    if not allow_mixed:
        _check_protocols(scores, OF_A_SEED if over_seeds else ())
    galleries = ("modality",) if measure.startswith(PARTNER) else GALLERIES
    rows = _rows(scores, galleries, over_seeds, allow_mixed)
    _check_once(rows)
    if over_seeds and not allow_mixed:
        _check_seeds(rows)
    columns = list(product(DIRECTIONS, sorted({part.bits for part in scores})))
    notes = [MEASURES[measure].meaning]
    unknown = [run for row in rows for run in row.runs() if not row.knows(run, measure)]
    if unknown:
        notes.append(
            f"-: {unknown[0].method} at {unknown[0].bits} bits was scored without "
            f"{MEASURES[measure].title}; score it again with 'fdch evaluate'"
        )
    if over_seeds:
        notes.append(_spread(scores))
    if not allow_mixed:
        notes.append(scores[0].protocol.describe(of_a_seed=not over_seeds))
    return Table(
        (
            "method",
            "gallery",
            *(f"{DIRECTIONS[direction]} {bits}" for direction, bits in columns),
            "chance",
            *(["protocol"] if allow_mixed else []),
        ),
        tuple(
            (
                row.method,
                row.gallery,
                *(row.cell(*column, measure, over_seeds) for column in columns),
                row.chance(measure),
                *([row.described(over_seeds)] if allow_mixed else []),
            )
            for row in rows
        ),
        tuple(notes),
    )


@dataclass
class _Row:
    """The runs of a method against a gallery, by code length."""

    method: str
    gallery: str
    protocol: str
    by_bits: dict[int, list[Scores]] = field(default_factory=dict)

    def runs(self) -> list[Scores]:
        return [run for runs in self.by_bits.values() for run in runs]

    def described(self, over_seeds: bool) -> str:
        seeds = f"; seeds {_seeds(self.runs())}" if over_seeds else ""
        return self.protocol + seeds

    def knows(self, run: Scores, measure: str) -> bool:
        known = run.means()
        return any((self.gallery, way, measure) in known for way in DIRECTIONS)

    def chance(self, measure: str) -> float | None:
        return mean_known(
            run.chance_of(self.gallery, direction, measure)
            for run in self.runs()
            for direction in run.scores[self.gallery]
        )

    def cell(self, direction: str, bits: int, measure: str, over_seeds: bool) -> Cell:
        means = [
            run.means().get((self.gallery, direction, measure))
            for run in self.by_bits.get(bits, [])
        ]
        values = [mean for mean in means if mean is not None]
        if not values or len(values) < len(means):  # a mean of some is of other seeds
            return None
        return Spread.of(values) if over_seeds else values[0]


def _rows(
    scores: Sequence[Scores],
    galleries: Sequence[str],
    over_seeds: bool,
    allow_mixed: bool,
) -> list[_Row]:
    """Sort the runs into rows: by gallery, then in the order they were given."""
    rows: dict[tuple[str, str, str], _Row] = {}
    for gallery in galleries:
        for run in scores:
            if gallery not in run.scores:
                continue
            shown = run.protocol.describe(of_a_seed=not over_seeds)
            key = run.method, gallery, shown if allow_mixed else ""
            row = rows.setdefault(key, _Row(*key))
            row.by_bits.setdefault(run.bits, []).append(run)
    return list(rows.values())


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


def _check_once(rows: Sequence[_Row]) -> None:
    for row in rows:
        for bits, runs in row.by_bits.items():
            if len(set(_draws(runs))) < len(runs):
                raise DataError(
                    f"there are {len(runs)} scores of {row.method} at {bits} bits, "
                    "some with the same seed and split; give each run once."
                )


def _check_seeds(rows: Sequence[_Row]) -> None:
    cells = [(row, bits) for row in rows for bits in row.by_bits]
    first, length = cells[0]
    for row, bits in cells:
        ours, theirs = first.by_bits[length], row.by_bits[bits]
        if _draws(ours) != _draws(theirs):
            raise ProtocolMismatch(
                f"{first.method} at {length} bits has seeds {_seeds(ours)}, "
                f"{row.method} at {bits} bits {_seeds(theirs)}, or their splits "
                "differ; such means are not comparable. Run both with the same "
                "seeds, or pass allow_mixed=True."
            )


def _draws(runs: Iterable[Scores]) -> list[tuple[int, str]]:
    return sorted((run.protocol.seed, run.protocol.split) for run in runs)


def _spread(scores: Sequence[Scores]) -> str:
    seeds = _seeds(scores)
    if "," not in seeds:
        return f"seed {seeds} alone, so without a spread"
    return f"mean ± standard deviation over seeds {seeds}"


def _seeds(runs: Iterable[Scores]) -> str:
    return ", ".join(map(str, sorted({run.protocol.seed for run in runs})))
