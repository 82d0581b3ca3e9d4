"""The settings of each method and length, tuned before its cells are run.

tuned/METHOD-BITS.toml      what `fdch tune` would write, and `fdch train` takes
tuned/METHOD-BITS.html      its page
tuned/METHOD-BITS.toml.study/    its trials, so that it can be resumed
"""

import shutil
from collections.abc import Sequence

from fdch.data.pairs import PairedSet
from fdch.data.splits import Split
from fdch.errors import RunError, SettingError
from fdch.reproduction.study import Cell, Study
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


def tuning_task(
    study: Study, cell: Cell, pairs: PairedSet, split: Split
) -> TuningTask | None:
    """Say what is searched for a cell; None where its method has nothing to tune."""
    fixed = study.settings.get(cell.method, {})
    method = study.method(cell, tuned=False)
    task = TuningTask(method, set(fixed), pairs.fingerprint, split.fingerprint)
    try:
        task.space  # noqa: B018  refuses a method with nothing to tune
    except SettingError:
        return None
    return task


def is_tuned(study: Study, cell: Cell, task: TuningTask) -> bool:
    """Tell whether the search is over that would be made now."""
    file = study.tuned(cell)
    if file is None or study.tune_minutes is None:
        return False
    allowed = file.search.get("budget_minutes", 0)
    return (
        file.search.get("task") == task.fingerprint
        and isinstance(allowed, int | float)
        and allowed >= study.tune_minutes
    )


def tune_cell(
    study: Study, cell: Cell, task: TuningTask, pairs: PairedSet, split: Split
) -> None:
    """Search, or resume a search, and write the result."""
    assert study.tune_minutes is not None  # otherwise nothing is tuned
    path = study.tuned_path(cell)
    _clear_other(study, cell, task)
    context = Context(device=study.device)
    found = tune(task, training_part(pairs, split), path, study.tune_minutes, context)
    file = found.to_file({"name": pairs.name, "source": study.source})
    file.save(path)
    write_tuning_page(page_path(path), found, file)


def _clear_other(study: Study, cell: Cell, task: TuningTask) -> None:
    """Delete a search for another task: its cells are run again, too."""
    folder = study_folder(study.tuned_path(cell))
    try:
        Records.open(folder, task.fingerprint, task.defaults)
    except RunError:
        shutil.rmtree(folder)
        study.tuned_path(cell).unlink(missing_ok=True)
