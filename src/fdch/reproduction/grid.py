"""The scores of a table: methods down, tasks and code lengths across."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, product

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


@dataclass(frozen=True)
class Score:
    """A method against one gallery, in one task and at one length, over all seeds."""

    method: str
    gallery: str
    direction: str
    bits: int
    is_usual: bool  # whether the method's authors search this gallery
    measures: Mapping[str, Spread]  # none where a cell has failed
    # bootstrap intervals over the queries of all seeds, by measure
    intervals: Mapping[str, tuple[float, float]]
    chance: Mapping[str, float | None]  # what random codes score, where known
    published: float | None  # mAP that the paper prints
    failure: int | None  # number of the note that says why there is no score


@dataclass(frozen=True)
class Grid:
    """A table of the paper, made again."""

    recipe: Recipe
    scores: tuple[Score, ...]  # by gallery, method and column
    failures: tuple[str, ...]  # why cells have no score; notes are numbered from 1
    notes: tuple[str, ...]  # how the scores were made
    seeds: tuple[int, ...]
    data: str  # what it was made on: its name, and the sizes of its parts

    @property
    def columns(self) -> list[tuple[str, int]]:
        """The direction and the length of each column."""
        return list(product(DIRECTIONS, self.recipe.bits))

    @property
    def has_published(self) -> bool:
        """Whether the paper prints anything for this data."""
        return any(score.published is not None for score in self.scores)

    def lines(self, measure: str = "map") -> dict[str, list[list[Score]]]:
        """Return the scores of each method by gallery, a score to each column.

        Galleries without a measure are left out, but for mAP.
        """
        found: dict[str, list[list[Score]]] = {}
        for (gallery, _), line in groupby(
            self.scores, lambda score: (score.gallery, score.method)
        ):
            found.setdefault(gallery, []).append(list(line))
        return {
            gallery: lines
            for gallery, lines in found.items()
            if measure == "map"
            or any(measure in score.measures for line in lines for score in line)
        }

    def is_best(self, score: Score, measure: str) -> bool:
        """Return whether no other method is better in this gallery and column."""
        best = self._best.get((score.gallery, score.direction, score.bits, measure))
        return measure in score.measures and _round(score.measures[measure]) == best

    @cached_property
    def _best(self) -> dict[tuple[str, str, int, str], float]:
        found: dict[tuple[str, str, int, str], float] = {}
        for score in self.scores:
            for measure, spread in score.measures.items():
                key = score.gallery, score.direction, score.bits, measure
                better = min if MEASURES[measure].is_rank else max
                found[key] = better(_round(spread), found.get(key, _round(spread)))
        return found


def usual_gallery(method: str) -> str:
    """Return the gallery that a method's authors search: unified where it can be.

    >>> usual_gallery("fdch"), usual_gallery("scm_seq")
    ('unified', 'modality')
    """
    return "unified" if methods.load(method).about.unified else "modality"


def build_grid(recipe: Recipe, found: Reproduction) -> Grid:
    """Put the scores of a recipe into rows and columns."""
    runs = [
        run
        for method, bits in product(recipe.methods, recipe.bits)
        for run in found.scores(method, bits)
    ]
    published = Published.beside(found.pairs)
    intervals = _pool_intervals(runs)
    failures = _explain_failures(recipe, found)
    numbers = {text: i for i, text in enumerate(dict.fromkeys(failures.values()), 1)}
    chances = {
        (gallery, direction): _average_chance(runs, gallery, direction)
        for gallery, direction in product(SECTIONS, DIRECTIONS)
    }
    scores = []
    for gallery, method in product(SECTIONS, recipe.methods):
        is_usual = gallery == usual_gallery(method)
        if gallery == "unified" and not is_usual:
            continue  # it has no such codes
        for direction, bits in product(DIRECTIONS, recipe.bits):
            place = method, gallery, direction, bits
            printed = published.values.get((method, direction, bits))
            scores.append(
                Score(
                    *place,
                    is_usual,
                    _average(found.scores(method, bits), gallery, direction),
                    intervals.get(place, {}),
                    chances[gallery, direction],
                    printed if is_usual else None,
                    numbers.get(failures.get((method, bits), "")),
                )
            )
    return Grid(
        recipe,
        tuple(scores),
        tuple(numbers),
        _describe_protocol(runs, recipe, published),
        found.seeds,
        _describe_data(found, runs),
    )


def _average(runs: Sequence[Scores], gallery: str, direction: str) -> dict[str, Spread]:
    """Return the mean and deviation over seeds, by measure."""
    measures = [run.measures() for run in runs]
    found = {}
    for measure in MEASURES if measures else ():
        values = [each.get((gallery, direction, measure)) for each in measures]
        known = [value for value in values if value is not None]
        if len(known) == len(runs):
            found[measure] = Spread.of(known)
    return found


def _round(spread: Spread) -> float:
    return round(spread.mean, SHOWN_PLACES)


def _pool_intervals(
    runs: Sequence[Scores],
) -> dict[Place, dict[str, tuple[float, float]]]:
    """Return intervals over the queries of all seeds, pooled."""
    pooled: dict[tuple[Place, str], list[Values]] = {}
    for run in runs:
        for (gallery, direction, measure), values in (run.queries or {}).items():
            place = run.method, gallery, direction, run.bits
            if measure in MEASURES:
                pooled.setdefault((place, measure), []).append(without_nan(values))
    every = mean_intervals({key: np.concatenate(pooled[key]) for key in pooled})
    found: dict[Place, dict[str, tuple[float, float]]] = {}
    for (place, measure), ends in every.items():
        found.setdefault(place, {})[measure] = ends
    return found


def _average_chance(
    runs: Sequence[Scores], gallery: str, direction: str
) -> dict[str, float | None]:
    """Return what random codes score; it follows from labels and split alone."""
    by_seed = {run.protocol.seed: run for run in runs if gallery in run.scores}
    return {
        measure: mean_known(
            run.chance_of(gallery, direction, measure) for run in by_seed.values()
        )
        for measure in MEASURES
    }


def _explain_failures(
    recipe: Recipe, found: Reproduction
) -> dict[tuple[str, int], str]:
    """Explain why methods have no score at some lengths."""
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


def _describe_protocol(
    runs: Sequence[Scores], recipe: Recipe, published: Published
) -> tuple[str, ...]:
    if not runs:
        return ()
    notes = comparison(runs, over_seeds=True).notes
    extra = (published.notes.get(method) for method in recipe.methods)
    return (*notes, *dict.fromkeys(note for note in extra if note))


def _describe_data(found: Reproduction, runs: Sequence[Scores]) -> str:
    if not runs:
        return found.pairs.name
    made = runs[0].protocol
    return (
        f"{found.pairs.name} ({made.queries:,} queries, {made.database:,} in the "
        f"database, {made.train:,} for training, {made.validation:,} for validation)"
    )
