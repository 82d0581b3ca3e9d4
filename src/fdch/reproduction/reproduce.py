"""Recipes in; the records of all their cells out."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from fdch.data.pairs import PairedSet
from fdch.errors import DataError, RunError, SettingError
from fdch.evaluation import Scores
from fdch.files import make_folder
from fdch.progress import Progress, Update, silent
from fdch.reproduction.cell_records import Record, drop_run
from fdch.reproduction.grid_runner import GridRunner
from fdch.reproduction.recipe import Recipe
from fdch.reproduction.study import CELLS, Cell, Job, Study, cells_of, jobs_of
from fdch.reproduction.worker_pool import (
    WORKER,
    run_jobs,
    shared_accelerator,
    usual_workers,
)
from fdch.runs.preparation import require_writable
from fdch.tuning.tune import require_packages

Announce = Callable[[PairedSet, Sequence[str]], None]


@dataclass(frozen=True)
class Reproduction:
    """Everything that tables, figures and pages are made from."""

    study: Study  # what all cells share
    recipes: tuple[Recipe, ...]  # the requested tables and figures
    seeds: tuple[int, ...]  # the seeds of each mean
    pairs: PairedSet
    records: Mapping[Cell, Record]  # how each cell ended
    ran: tuple[Cell, ...] = ()  # the cells that were run now; others were there

    def failures(self) -> dict[Cell, str]:
        """Return the cells without scores, and why they have none."""
        return {
            cell: record.reason
            for cell, record in self.records.items()
            if record.state != "done"
        }

    def of(self, method: str, bits: int) -> list[Record]:
        """Return the records of all seeds; none if any of them has failed.

        A mean over some of the seeds would not be comparable with the others.
        """
        cells = [Cell(method, bits, seed) for seed in self.seeds]
        records = [self.records[cell] for cell in cells if cell in self.records]
        is_whole = len(records) == len(cells) and all(r.scores for r in records)
        return records if is_whole else []

    def scores(self, method: str, bits: int) -> list[Scores]:
        """Return the scores of all seeds; none if any of them has failed."""
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

    Without a number of workers, as many as the machine allows. `announce` is called
    with the data, and notes on cells to run again, before work.
    """
    cells = cells_of(recipes, seeds)
    if not cells or (workers is not None and workers < 1):
        raise SettingError("a reproduction needs a recipe, a seed and a worker.")
    if study.tune_minutes is not None:
        require_packages()
    for cell in cells:
        study.method(cell)  # refuses unknown methods and settings before any work
    _require_own(study)
    runner = GridRunner(study, progress)
    found = {cell: runner.record(cell) for cell in cells}
    announce(runner.pairs, [trouble for _, trouble in found.values() if trouble])
    number = usual_workers(_is_accelerated(runner)) if workers is None else workers
    to_do = [cell for cell in cells if not runner.is_done(cell)]
    if to_do:
        runner.prepare(to_do)
        make_folder(study.out / CELLS)
    done = len(cells) - len(to_do)
    progress(Update("cells", done, len(cells), "cell"))
    jobs = jobs_of(to_do, is_tuned=study.tune_minutes is not None)
    for ran, _ in enumerate(_run(runner, jobs, number), start=1):
        progress(Update("cells", done + ran, len(cells), "cell"))
    if not study.keep_runs:
        for cell in cells:
            drop_run(study.folder(cell))  # what a job cut short has left
    records = {cell: _require(runner, cell) for cell in cells}
    return Reproduction(
        study, tuple(recipes), tuple(seeds), runner.pairs, records, tuple(to_do)
    )


def _run(runner: GridRunner, jobs: Sequence[Job], workers: int) -> Iterator[Cell]:
    """Run jobs here, or in several processes if there are several workers."""
    count = min(workers, len(jobs))
    if count <= 1:
        for cell in chain.from_iterable(jobs):
            runner.run(cell)
            yield cell
        return
    with shared_accelerator(_is_accelerated(runner)) as variables:
        for cell, trouble in run_jobs(runner.study, jobs, count, WORKER, variables):
            if trouble:
                runner.fail(cell, trouble)
            yield cell


def _is_accelerated(runner: GridRunner) -> bool:
    return runner.context.torch_device().type != "cpu"


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


def _require(runner: GridRunner, cell: Cell) -> Record:
    record, trouble = runner.record(cell)
    if record is None:
        folder = runner.study.folder(cell)
        raise DataError(trouble or f"'{folder}' was removed while cells were run.")
    return record
