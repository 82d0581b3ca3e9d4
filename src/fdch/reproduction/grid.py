"""The scores of a table: methods down, tasks and code lengths across."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from fdch import methods
from fdch.evaluation import DIRECTIONS, MEASURES, Scores, comparison
from fdch.evaluation.comparing.resampling import mean_intervals
from fdch.evaluation.scores import Values, without_nan
from fdch.evaluation.tables import Spread, mean_known
from fdch.reproduction.recipe import Published, Recipe, label
from fdch.reproduction.reproduce import Reproduction
from fdch.reproduction.study import Cell

SHOWN_PLACES = 4
# unified codes first: they are what most of the compared papers report
SECTIONS = {
    "unified": "Unified gallery: codes of whole pairs are searched",
    "modality": "Modality gallery: codes of the other side alone are searched",
}
Place = tuple[str, str, str, int]  # method, gallery, direction, bits
Column = tuple[str, int]  # direction, bits
Chances = dict[str, tuple[float | None, ...]]


@dataclass(frozen=True)
class Entry:
    """One score of a table, over all seeds."""

    measures: Mapping[str, Spread]
    best: frozenset[str]  # measures by which no other method is better here
    # bootstrap intervals over the queries of all seeds, by measure
    intervals: Mapping[str, tuple[float, float]]


@dataclass(frozen=True)
class Line:
    """A method against one gallery; an entry is None where a cell has failed."""

    method: str
    is_usual: bool  # whether its authors search this gallery
    entries: tuple[Entry | None, ...]  # a score to each column
    failures: tuple[int | None, ...]  # number of the note that says why, to each column
    published: tuple[float | None, ...]  # what the paper prints, to each column

    @property
    def label(self) -> str:
        """The method's name as its paper writes it."""
        return label(self.method)

    @property
    def has_published(self) -> bool:
        """Whether the paper prints anything for this line."""
        return any(value is not None for value in self.published)


@dataclass(frozen=True)
class Grid:
    """A table of the paper, made again."""

    recipe: Recipe
    columns: tuple[Column, ...]
    sections: Mapping[str, tuple[Line, ...]]  # lines by gallery
    # what random codes score, by gallery and measure, to each column, where known
    chance: Mapping[str, Chances]
    failures: tuple[str, ...]  # why cells have no score; notes are numbered from 1
    notes: tuple[str, ...]  # how the scores were made
    seeds: tuple[int, ...]
    data: str  # what it was made on: its name, and the sizes of its parts

    @property
    def has_published(self) -> bool:
        """Whether the paper prints anything for this data."""
        return any(line.has_published for _, line in self.lines())

    def galleries(self, measure: str) -> list[str]:
        """List the galleries that have a measure; for mAP, all, failures included."""
        return [
            gallery
            for gallery, lines in self.sections.items()
            if measure == "map"
            or any(e and measure in e.measures for line in lines for e in line.entries)
        ]

    def lines(self) -> Iterator[tuple[str, Line]]:
        """Yield all lines, each with its gallery."""
        for gallery, lines in self.sections.items():
            for line in lines:
                yield gallery, line


def usual_gallery(method: str) -> str:
    """Return the gallery that a method's authors search: unified where it can be.

    >>> usual_gallery("fdch"), usual_gallery("scm_seq")
    ('unified', 'modality')
    """
    return "unified" if methods.load(method).about.unified else "modality"


def build_grid(recipe: Recipe, found: Reproduction) -> Grid:
    """Put the scores of a recipe into rows and columns."""
    columns = tuple(product(DIRECTIONS, recipe.bits))
    scores = [
        run
        for method, bits in product(recipe.methods, recipe.bits)
        for run in found.scores(method, bits)
    ]
    published = Published.beside(found.pairs)
    entries = _entries(scores)
    failures = _failures(recipe, found)
    numbers = {text: i for i, text in enumerate(dict.fromkeys(failures.values()), 1)}

    def line(method: str, gallery: str) -> Line:
        is_usual = gallery == usual_gallery(method)
        values = published.values if is_usual else {}
        return Line(
            method,
            is_usual,
            tuple(entries.get((method, gallery, *column)) for column in columns),
            tuple(numbers.get(failures.get((method, bits), "")) for _, bits in columns),
            tuple(values.get((method, *column)) for column in columns),
        )

    sections = {
        gallery: tuple(
            line(method, gallery)
            for method in recipe.methods
            if gallery in ("modality", usual_gallery(method))
        )
        for gallery in SECTIONS
    }
    return Grid(
        recipe,
        columns,
        {gallery: lines for gallery, lines in sections.items() if lines},
        {gallery: _chances(scores, gallery, columns) for gallery in sections},
        tuple(numbers),
        _notes(scores, recipe, published),
        found.seeds,
        _describe_data(found, scores),
    )


def _describe_data(found: Reproduction, scores: Sequence[Scores]) -> str:
    if not scores:
        return found.pairs.name
    made = scores[0].protocol
    return (
        f"{found.pairs.name} ({made.queries:,} queries, {made.database:,} in the "
        f"database, {made.train:,} for training, {made.validation:,} for validation)"
    )


def _entries(scores: Sequence[Scores]) -> dict[Place, Entry]:
    """Take means and deviations as `comparison` gives them, and mark the best."""
    found: dict[Place, dict[str, Spread]] = {}
    best: dict[tuple[str, str, int, str], float] = {}
    columns = list(product(DIRECTIONS, sorted({run.bits for run in scores})))
    for measure in MEASURES if scores else ():
        for method, gallery, *cells in comparison(
            scores, over_seeds=True, measure=measure
        ).rows:
            for column, cell in zip(columns, cells, strict=False):
                if isinstance(cell, Spread):
                    place = str(method), str(gallery), *column
                    found.setdefault(place, {})[measure] = cell
                    key = *place[1:], measure
                    best[key] = max(_round(cell), best.get(key, 0.0))
    intervals = _intervals(scores)
    return {
        place: Entry(
            spreads,
            frozenset(m for m in spreads if _round(spreads[m]) == best[*place[1:], m]),
            {m: intervals[*place, m] for m in spreads if (*place, m) in intervals},
        )
        for place, spreads in found.items()
    }


def _round(spread: Spread) -> float:
    return round(spread.mean, SHOWN_PLACES)


def _intervals(
    scores: Sequence[Scores],
) -> dict[tuple[str, str, str, int, str], tuple[float, float]]:
    """Return intervals over the queries of all seeds, pooled."""
    pooled: dict[tuple[str, str, str, int, str], list[Values]] = {}
    for run in scores:
        for (gallery, direction, measure), values in (run.queries or {}).items():
            place = run.method, gallery, direction, run.bits, measure
            if measure in MEASURES:
                pooled.setdefault(place, []).append(without_nan(values))
    return mean_intervals({k: np.concatenate(lists) for k, lists in pooled.items()})


def _chances(
    scores: Sequence[Scores], gallery: str, columns: Sequence[Column]
) -> Chances:
    """Return what random codes score; it follows from labels and split alone."""

    def chance(direction: str, measure: str) -> float | None:
        by_seed = {
            run.protocol.seed: run.chance_of(gallery, direction, measure)
            for run in scores
            if gallery in run.scores
        }
        return mean_known(by_seed.values())

    return {
        measure: tuple(chance(direction, measure) for direction, _ in columns)
        for measure in MEASURES
    }


def _failures(recipe: Recipe, found: Reproduction) -> dict[tuple[str, int], str]:
    """Say why methods at some length have no score."""
    texts = {}
    failed = found.failures()
    for method, bits in product(recipe.methods, recipe.bits):
        cells = [Cell(method, bits, seed) for seed in found.seeds]
        bad = [cell for cell in cells if cell in failed]
        if bad:
            seeds = ", ".join(str(cell.seed) for cell in bad)
            which = "" if bad == cells else f", seed {seeds}"
            text = f"{label(method)} at {bits} bits{which}: {failed[bad[0]]}"
            texts[method, bits] = text
    return texts


def _notes(
    scores: Sequence[Scores], recipe: Recipe, published: Published
) -> tuple[str, ...]:
    if not scores:
        return ()
    notes = comparison(scores, over_seeds=True).notes
    extra = (published.notes.get(method) for method in recipe.methods)
    return (*notes, *dict.fromkeys(note for note in extra if note))
