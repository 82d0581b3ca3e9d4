"""The scores of a table: methods down, tasks and code lengths across."""

import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fdch import methods
from fdch.evaluation import DIRECTIONS, GALLERIES, MEASURES, Scores, comparison
from fdch.reproduction.entries import Entry, Place, entries_of
from fdch.reproduction.recipe import Published, Recipe, label
from fdch.reproduction.reproduce import Reproduction
from fdch.reproduction.study import Cell

# unified codes first: they are what most of the compared papers report
SECTIONS = {
    "unified": "Unified gallery: codes of whole pairs are searched",
    "modality": "Modality gallery: codes of the other side alone are searched",
}


@dataclass(frozen=True)
class Line:
    """A method against one gallery; an entry is None where a cell has failed."""

    method: str
    is_usual: bool  # whether its authors search this gallery
    entries: tuple[Entry | None, ...]  # a score to each column
    # number of the note that says why, to each column that failed
    failures: tuple[int | None, ...]
    # what the paper prints, to each column, where it does
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
    """A table of the paper, made again."""

    recipe: Recipe  # which methods and lengths
    columns: tuple[tuple[str, int], ...]  # direction and code length of each column
    sections: Mapping[str, tuple[Line, ...]]  # lines by gallery
    # what random codes score, by gallery and measure, to each column, where known
    chance: Mapping[str, Mapping[str, tuple[float | None, ...]]]
    failures: tuple[str, ...]  # why cells have no score; notes are numbered from 1
    notes: tuple[str, ...]
    seeds: tuple[int, ...]  # of the runs that each score is the mean of

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
    """Put the scores of a recipe into rows and columns."""
    columns = tuple((way, bits) for way in DIRECTIONS for bits in recipe.bits)
    scores = [
        run
        for method in recipe.methods
        for bits in recipe.bits
        for run in found.scores(method, bits)
    ]
    published = Published.beside(found.pairs)
    entries = entries_of(scores)
    failures, marks = _failures(recipe, found)
    sections = {}
    for gallery in SECTIONS:
        named = [m for m in recipe.methods if gallery in _galleries(m)]
        sections[gallery] = tuple(
            _line(method, gallery, columns, entries, published, marks)
            for method in named
        )
    return Grid(
        recipe,
        columns,
        {gallery: lines for gallery, lines in sections.items() if lines},
        {gallery: _chances(scores, gallery, columns) for gallery in sections},
        failures,
        _notes(scores, recipe, published),
        found.seeds,
    )


def _galleries(method: str) -> tuple[str, ...]:
    return GALLERIES if methods.load(method).about.unified else ("modality",)


def _line(
    method: str,
    gallery: str,
    columns: tuple[tuple[str, int], ...],
    entries: Mapping[Place, Entry],
    published: Published,
    marks: Mapping[tuple[str, int], int],
) -> Line:
    is_usual = gallery == usual_gallery(method)
    own = tuple(entries.get((method, gallery, *column)) for column in columns)
    failures = tuple(marks.get((method, bits)) for _, bits in columns)
    printed = tuple(published.value(method, *column) for column in columns)
    nothing = (None,) * len(columns)
    return Line(method, is_usual, own, failures, printed if is_usual else nothing)


def _chances(
    scores: list[Scores], gallery: str, columns: tuple[tuple[str, int], ...]
) -> dict[str, tuple[float | None, ...]]:
    """Give what random codes score; it follows from labels and split alone."""
    found: dict[str, tuple[float | None, ...]] = {}
    for measure in MEASURES:
        by_direction: dict[str, float] = {}
        for direction in DIRECTIONS:
            chances = {
                run.protocol.seed: run.chance_of(gallery, direction, measure)
                for run in scores
                if gallery in run.scores
            }
            known = [chance for chance in chances.values() if chance is not None]
            if known:
                by_direction[direction] = statistics.fmean(known)
        found[measure] = tuple(by_direction.get(direction) for direction, _ in columns)
    return found


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
    notes = comparison(scores, over_seeds=True).notes
    extra = (published.notes.get(method) for method in recipe.methods)
    return (*notes, *dict.fromkeys(note for note in extra if note))
