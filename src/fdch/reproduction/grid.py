"""The scores of a table: methods down, tasks and code lengths across."""

import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fdch import methods
from fdch.evaluation import DIRECTIONS, GALLERIES, MEASURES, Scores, comparison
from fdch.evaluation.tables import Spread
from fdch.reproduction.published import Published
from fdch.reproduction.recipe import Recipe, label
from fdch.reproduction.reproduce import Reproduction
from fdch.reproduction.study import Cell

# unified codes first: they are what most of the compared papers report
SECTIONS = {
    "unified": "Unified gallery: codes of whole pairs are searched",
    "modality": "Modality gallery: codes of the other side alone are searched",
}
SHOWN_PLACES = 4


@dataclass(frozen=True)
class Entry:
    """One score of a table, over all seeds.

    Args:
        measures: Mean and deviation by measure, such as "map" and "map_best".
        is_best: Whether no other method is better in this column and gallery.
    """

    measures: Mapping[str, Spread]
    is_best: bool

    @property
    def map(self) -> Spread:
        """The main score: expected over the orders of tied items."""
        return self.measures["map"]


@dataclass(frozen=True)
class Line:
    """A method against one gallery; an entry is None where a cell has failed.

    Args:
        method: The method's name.
        is_usual: Whether its authors search this gallery.
        entries: A score to each column.
        failures: Number of the note that says why, to each column that failed.
        published: What the paper prints, to each column, where it does.
    """

    method: str
    is_usual: bool
    entries: tuple[Entry | None, ...]
    failures: tuple[int | None, ...]
    published: tuple[float | None, ...]

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
    """A table of the paper, made again.

    Args:
        recipe: What was asked for.
        columns: Direction and code length of each column.
        sections: Lines by gallery.
        chance: mAP of random codes by gallery, to each column.
        failures: Why cells have no score; notes are numbered from 1.
        notes: How the scores were made.
        seeds: Of the runs that each score is the mean of.
    """

    recipe: Recipe
    columns: tuple[tuple[str, int], ...]
    sections: Mapping[str, tuple[Line, ...]]
    chance: Mapping[str, tuple[float | None, ...]]
    failures: tuple[str, ...]
    notes: tuple[str, ...]
    seeds: tuple[int, ...]

    @property
    def has_published(self) -> bool:
        """Whether the paper prints anything for this data."""
        return any(line.has_published for _, line in self.lines())

    def lines(self) -> Iterator[tuple[str, Line]]:
        """Give all lines, each with its gallery."""
        for gallery, lines in self.sections.items():
            for line in lines:
                yield gallery, line


def usual_gallery(method: str) -> str:
    """Give the gallery that a method's authors search: unified where it can be.

    >>> usual_gallery("fdch"), usual_gallery("scm_seq")
    ('unified', 'modality')
    """
    return "unified" if methods.load(method).about.unified else "modality"


def build_grid(recipe: Recipe, found: Reproduction) -> Grid:
    """Put the scores that a recipe asks for into rows and columns."""
    columns = tuple((way, bits) for way in DIRECTIONS for bits in recipe.bits)
    scores = [
        run
        for method in recipe.methods
        for bits in recipe.bits
        for run in found.scores(method, bits)
    ]
    published = Published.beside(found.pairs)
    spreads = _spreads(scores)
    failures, marks = _failures(recipe, found)
    sections = {}
    for gallery in SECTIONS:
        named = [m for m in recipe.methods if gallery in _galleries(m)]
        best = [_best(spreads, named, gallery, column) for column in columns]
        sections[gallery] = tuple(
            _line(method, gallery, columns, spreads, best, published, marks)
            for method in named
        )
    return Grid(
        recipe,
        columns,
        {gallery: lines for gallery, lines in sections.items() if lines},
        {gallery: _chance(scores, gallery, columns) for gallery in sections},
        failures,
        _notes(scores, recipe, published),
        found.seeds,
    )


# (method, gallery, direction, bits) to (measure to spread)
_Spreads = Mapping[tuple[str, str, str, int], Mapping[str, Spread]]


def _spreads(scores: list[Scores]) -> _Spreads:
    """Take means and deviations as `comparison` gives them."""
    found: dict[tuple[str, str, str, int], dict[str, Spread]] = {}
    lengths = sorted({run.bits for run in scores})
    columns = [(direction, bits) for direction in DIRECTIONS for bits in lengths]
    for measure in MEASURES if scores else ():
        for row in comparison(scores, over_seeds=True, measure=measure).rows:
            method, gallery, cells = str(row[0]), str(row[1]), row[2:]
            for column, cell in zip(columns, cells, strict=False):
                if isinstance(cell, Spread):
                    found.setdefault((method, gallery, *column), {})[measure] = cell
    return found


def _galleries(method: str) -> tuple[str, ...]:
    return GALLERIES if methods.load(method).about.unified else ("modality",)


def _best(
    spreads: _Spreads, named: list[str], gallery: str, column: tuple[str, int]
) -> float | None:
    means = [
        round(spreads[method, gallery, *column]["map"].mean, SHOWN_PLACES)
        for method in named
        if (method, gallery, *column) in spreads
    ]
    return max(means, default=None)


def _line(
    method: str,
    gallery: str,
    columns: tuple[tuple[str, int], ...],
    spreads: _Spreads,
    best: list[float | None],
    published: Published,
    marks: Mapping[tuple[str, int], int],
) -> Line:
    is_usual = gallery == usual_gallery(method)
    entries: list[Entry | None] = []
    for column, top in zip(columns, best, strict=True):
        measures = spreads.get((method, gallery, *column))
        if measures is None:
            entries.append(None)
            continue
        is_best = round(measures["map"].mean, SHOWN_PLACES) == top
        entries.append(Entry(measures, is_best))
    failures = tuple(marks.get((method, bits)) for _, bits in columns)
    printed = tuple(published.value(method, *column) for column in columns)
    nothing = (None,) * len(columns)
    return Line(
        method, is_usual, tuple(entries), failures, printed if is_usual else nothing
    )


def _chance(
    scores: list[Scores], gallery: str, columns: tuple[tuple[str, int], ...]
) -> tuple[float | None, ...]:
    """Give the mAP of random codes; it follows from labels and split alone."""
    by_direction: dict[str, float] = {}
    for direction in DIRECTIONS:
        chances = {
            run.protocol.seed: run.scores[gallery][direction].chance
            for run in scores
            if gallery in run.scores
        }
        if chances:
            by_direction[direction] = statistics.fmean(chances.values())
    return tuple(by_direction.get(direction) for direction, _ in columns)


def _failures(
    recipe: Recipe, found: Reproduction
) -> tuple[tuple[str, ...], dict[tuple[str, int], int]]:
    """Number the reasons of failures; equal ones share a number."""
    numbers: dict[str, int] = {}
    marks: dict[tuple[str, int], int] = {}
    failed = found.failures()
    for method in recipe.methods:
        for bits in recipe.bits:
            cells = [Cell(method, bits, seed) for seed in found.seeds]
            reasons = [(cell.seed, failed[cell]) for cell in cells if cell in failed]
            if not reasons:
                continue
            seeds = ", ".join(str(seed) for seed, _ in reasons)
            which = "" if len(reasons) == len(cells) else f", seed {seeds}"
            text = f"{label(method)} at {bits} bits{which}: {reasons[0][1]}"
            marks[method, bits] = numbers.setdefault(text, len(numbers) + 1)
    return tuple(numbers), marks


def _notes(
    scores: list[Scores], recipe: Recipe, published: Published
) -> tuple[str, ...]:
    if not scores:
        return ()
    told = comparison(scores, over_seeds=True).notes
    extra = (published.notes.get(method) for method in recipe.methods)
    return (*told, *dict.fromkeys(note for note in extra if note))
