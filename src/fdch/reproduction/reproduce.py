"""Recipes in; the records of all their cells out."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fdch.data.pairs import PairedSet
from fdch.errors import DataError, RunError, SettingError
from fdch.evaluation import Scores
from fdch.progress import Progress, Update, silent
from fdch.reproduction.cells import Record, drop_run
from fdch.reproduction.crew import TUNE, WORKER, Crew, usual_workers
from fdch.reproduction.laboratory import Laboratory
from fdch.reproduction.recipe import Recipe
from fdch.reproduction.study import CELLS, Cell, Job, Study, cells_of, jobs_of
from fdch.runs.preparation import require_writable
from fdch.tuning.tune import require_packages

Announce = Callable[[PairedSet, Sequence[str]], None]


@dataclass(frozen=True)
class Reproduction:
    """Everything that tables, figures and pages are made from.

    Args:
        study: What all cells share.
        recipes: The tables and figures asked for.
        seeds: The seeds of each mean.
        pairs: The data.
        records: What became of each cell.
        ran: The cells that were run now; others were there.
    """

    study: Study
    recipes: tuple[Recipe, ...]
    seeds: tuple[int, ...]
    pairs: PairedSet
    records: Mapping[Cell, Record]
    ran: tuple[Cell, ...] = ()

    def failures(self) -> dict[Cell, str]:
        """Give the cells without scores, and why they have none."""
        return {
            cell: record.reason
            for cell, record in self.records.items()
            if record.state != "done"
        }

    def of(self, method: str, bits: int) -> list[Record]:
        """Give the records of all seeds; none where any of them has failed.

        A mean over some of the seeds would not be comparable with the others.
        """
        cells = [Cell(method, bits, seed) for seed in self.seeds]
        records = [self.records[cell] for cell in cells if cell in self.records]
        is_whole = len(records) == len(cells) and all(r.scores for r in records)
        return records if is_whole else []

    def scores(self, method: str, bits: int) -> list[Scores]:
        """Give the scores of all seeds; none where any of them has failed."""
        return [record.scores for record in self.of(method, bits) if record.scores]


def reproduce(
    study: Study,
    recipes: Sequence[Recipe],
    seeds: Sequence[int],
    *,
    workers: int | None = None,
    progress: Progress = silent,
    announce: Announce = lambda pairs, notes: None,
) -> Reproduction:
    """Run every cell that is not done, and gather all.

    Args:
        study: Data, folder and settings.
        recipes: Tables and figures to make.
        seeds: Of splits and of learning.
        workers: Processes to share the cells; None for what the machine allows.
        progress: Told of image features, then of cells.
        announce: Told of the data, and of cells that are made anew, before work.
    """
    cells = cells_of(recipes, seeds)
    if not cells or (workers is not None and workers < 1):
        raise SettingError("a reproduction needs a recipe, a seed and a worker.")
    if study.tune_minutes is not None:
        require_packages()
    for cell in cells:
        study.method(cell)  # refuses unknown methods and settings before any work
    _require_own(study)
    laboratory = Laboratory(study, progress)
    found = {cell: laboratory.record(cell) for cell in cells}
    announce(laboratory.pairs, [trouble for _, trouble in found.values() if trouble])
    accelerated = laboratory.context.torch_device().type != "cpu"
    number = usual_workers(accelerated) if workers is None else workers
    failed = _tune(laboratory, cells, number, progress)
    to_do = [
        cell for cell in cells if cell not in failed and not laboratory.is_done(cell)
    ]
    if to_do:
        laboratory.prepare(to_do)
        _make_folder(study)
    done = len(cells) - len(to_do)
    progress(Update("cells", done, len(cells), "cell"))
    for ran, _ in enumerate(_run(laboratory, jobs_of(to_do), number), start=1):
        progress(Update("cells", done + ran, len(cells), "cell"))
    if not study.keep_runs:
        for cell in cells:
            drop_run(study.folder(cell))  # what a job cut short has left
    records = {cell: _require(laboratory, cell) for cell in cells}
    return Reproduction(
        study, tuple(recipes), tuple(seeds), laboratory.pairs, records, tuple(to_do)
    )


def _tune(
    laboratory: Laboratory, cells: Sequence[Cell], workers: int, progress: Progress
) -> set[Cell]:
    """Tune what is to be tuned; give the cells of what could not be."""
    to_do = laboratory.untuned(cells)
    if not to_do:
        return set()
    laboratory.prepare(to_do)
    _make_folder(laboratory.study)
    jobs = [(cell,) for job in jobs_of(to_do) for cell in job]
    progress(Update("tuning", 0, len(jobs), "method"))
    for done, _ in enumerate(_run(laboratory, jobs, workers, TUNE), start=1):
        progress(Update("tuning", done, len(jobs), "method"))
    failed = set()
    for first in laboratory.untuned(cells):
        record, _ = laboratory.record(first)
        for cell in cells:
            if (cell.method, cell.bits) == (first.method, first.bits):
                laboratory.fail(cell, record.reason if record else "it was not tuned.")
                failed.add(cell)
    return failed


def _run(
    laboratory: Laboratory, jobs: Sequence[Job], workers: int, *task: str
) -> Iterator[Cell]:
    """Work off jobs here, or in several processes where there are several workers."""
    count = min(workers, len(jobs))
    if count <= 1:
        for job in jobs:
            work = laboratory.tune_job if task else laboratory.run_job
            yield from work(job)
        return
    crew = Crew(laboratory.study, count, (*WORKER, *task))
    for cell, trouble in crew.work(jobs):
        if trouble:
            laboratory.fail(cell, trouble)
        yield cell


def _require_own(study: Study) -> None:
    """Refuse a folder that holds anything but an earlier reproduction."""
    require_writable(study.out, "results")
    if study.out.exists() and not (study.out / CELLS).is_dir():
        others = [path.name for path in study.out.iterdir()]
        if others:
            raise RunError(
                f"'{study.out}' holds other files, such as '{min(others)}', and no "
                "cells of a reproduction. Give the results a folder of their own."
            )


def _make_folder(study: Study) -> None:
    try:
        (study.out / CELLS).mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise RunError(
            f"'{study.out}' cannot be written to ({problem.strerror or problem}). "
            "Choose another folder."
        ) from problem


def _require(laboratory: Laboratory, cell: Cell) -> Record:
    record, trouble = laboratory.record(cell)
    if record is None:
        folder = laboratory.study.folder(cell)
        raise DataError(trouble or f"'{folder}' was removed while cells were run.")
    return record
