"""The settings of each method and length, tuned before its cells are run.

tuned/METHOD-BITS.toml      what `fdch tune` would write, and `fdch train` takes
tuned/METHOD-BITS.html      its page
tuned/METHOD-BITS.toml.study/    its trials, so that it can be resumed
"""

import shutil
from collections.abc import Iterator, Sequence

from fdch.errors import FdchError, RunError, SettingError
from fdch.reproduction.grid_runner import GridRunner
from fdch.reproduction.study import Cell, Job
from fdch.training.context import Context
from fdch.tuning.held_out import training_part
from fdch.tuning.records import Records
from fdch.tuning.task import TuningTask
from fdch.tuning.tune import page_path, study_folder, tune
from fdch.tuning.tuning_page import write_tuning_page

SEED = 0  # of the split whose training part is used, and of the trials


def cells_to_tune(cells: Sequence[Cell]) -> list[Cell]:
    """Give one cell to each method and length, to be tuned for all its seeds."""
    return list(dict.fromkeys(Cell(cell.method, cell.bits, SEED) for cell in cells))


def list_untuned(runner: GridRunner, cells: Sequence[Cell]) -> list[Cell]:
    """List the methods and lengths, by their first seed, still to be tuned."""
    minutes = runner.study.tune_minutes
    if minutes is None:
        return []
    untuned = []
    for cell in cells_to_tune(cells):
        task, file = _task(runner, cell), runner.study.tuned(cell)
        search = file.search if file else {}
        allowed = search.get("budget_minutes", 0)
        is_long = isinstance(allowed, int | float) and allowed >= minutes
        if task and not (is_long and search.get("task") == task.fingerprint):
            untuned.append(cell)
    return untuned


def tune_job(runner: GridRunner, job: Job) -> Iterator[Cell]:
    """Tune the methods of some cells; one that cannot be tuned has failed."""
    for cell in job:
        task = _task(runner, cell)
        try:
            if task is not None:
                _tune(runner, cell, task)
        except FdchError as problem:
            runner.fail(cell, f"tuning failed: {problem}")
        yield cell


def _task(runner: GridRunner, cell: Cell) -> TuningTask | None:
    """Say what is searched for a cell; None where its method has nothing to tune."""
    fixed = set(runner.study.settings.get(cell.method, {}))
    method = runner.study.method(cell, tuned=False)
    data, split = runner.pairs.fingerprint, runner.split(cell.seed).fingerprint
    task = TuningTask(method, fixed, data, split)
    try:
        task.space  # noqa: B018  refuses a method with nothing to tune
    except SettingError:
        return None
    return task


def _tune(runner: GridRunner, cell: Cell, task: TuningTask) -> None:
    """Search, or resume a search, and write the result."""
    study, pairs = runner.study, runner.data.pairs_for(task.method)
    assert study.tune_minutes is not None  # otherwise nothing is tuned
    path = study.tuned_path(cell)
    try:
        Records.open(study_folder(path), task.fingerprint, task.defaults)
    except RunError:  # of another task; its cells are run again, too
        shutil.rmtree(study_folder(path))
        path.unlink(missing_ok=True)
    part = training_part(pairs, runner.split(cell.seed))
    context = Context(device=study.device)
    found = tune(task, part, path, study.tune_minutes, context)
    file = found.to_file({"name": pairs.name, "source": study.source})
    file.save(path)
    write_tuning_page(page_path(path), found, file)
