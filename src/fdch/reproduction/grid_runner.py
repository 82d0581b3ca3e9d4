"""The cells of a study, each fitted, scored and recorded in its folder.

Where methods are tuned first, the results are beside the cells:

tuned/METHOD-BITS.toml      what `fdch tune` would write, and `fdch train` takes
tuned/METHOD-BITS.html      its page
tuned/METHOD-BITS.toml.study/    its trials, so that it can be resumed
"""

import logging
import shutil
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fdch.data.pairs import PairedSet
from fdch.data.splits import Split
from fdch.errors import FdchError, RunError, SettingError
from fdch.evaluation import Scores
from fdch.files import fingerprint
from fdch.methods.fdch import FDCH
from fdch.progress import Progress, silent
from fdch.reproduction.cell_records import (
    RUN,
    Record,
    State,
    clear,
    drop_run,
    previous_record,
)
from fdch.reproduction.study import Cell, Study
from fdch.runs.pipeline import fit_and_score, identify_training, save_training
from fdch.runs.preparation import TrainingData, require_ready
from fdch.runs.run_files import CHECKPOINTS
from fdch.training.checkpoints import Checkpoints
from fdch.training.context import Context
from fdch.tuning.held_out import training_part
from fdch.tuning.proposals import TuningTask, find_space
from fdch.tuning.records import Records
from fdch.tuning.tune import page_path, study_folder, tune
from fdch.tuning.tuning_page import write_tuning_page

# of what a cell keeps; cells of another are run again
CELL_FORMAT = 2

_log = logging.getLogger(__name__)
SEED = 0  # of the split whose training part is tuned on, and of the trials


class GridRunner:
    """Runs the cells of a study, each in its folder; the data is read at once.

    `progress` is called as pictures are checked and image features computed.
    """

    def __init__(self, study: Study, progress: Progress = silent) -> None:
        self.study = study
        self.context = Context(progress, study.device)
        self.data = TrainingData(
            study.source, study.broken, layout=study.layout, context=self.context
        )
        self._splits: dict[int, Split] = {}
        self._last: FDCH | None = None  # has a first stage to share

    @property
    def pairs(self) -> PairedSet:
        """The data."""
        return self.data.pairs

    def prepare(self, cells: Sequence[Cell]) -> None:
        """Refuse what cannot be run, and compute all image features once.

        Other processes then find them in the cache.
        """
        made = {cell.method: self.study.method(cell) for cell in cells}
        for method in made.values():
            require_ready(method, self.context)
        for cell in cells:
            self.split(cell.seed)
        for method in made.values():
            self.data.pairs_for(method)

    def split(self, seed: int) -> Split:
        """Draw the split of a seed: the same for all methods and lengths."""
        if seed not in self._splits:
            self._splits[seed] = Split.draw(self.pairs, seed, self.study.sizes)
        return self._splits[seed]

    def task(self, cell: Cell) -> dict[str, Any]:
        """Return everything that a cell's scores depend on."""
        limit = self.study.layout.limit
        return {
            **identify_training(self.study.method(cell), *self._fingerprints(cell)),
            **({} if limit is None else {"limit": limit}),
            "format": CELL_FORMAT,
        }

    def _fingerprints(self, cell: Cell) -> tuple[str, str]:
        """Return the fingerprints of the data and of a cell's split."""
        return self.pairs.fingerprint, self.split(cell.seed).fingerprint

    def record(self, cell: Cell) -> tuple[Record | None, str]:
        """Return the record of a cell, or why it is unusable."""
        folder = self.study.folder(cell)
        record, trouble = previous_record(folder, fingerprint(self.task(cell)))
        scores = record.scores if record else None
        if scores and (scores.method, scores.bits) != (cell.method, cell.bits):
            return None, f"'{folder}' holds the scores of another cell; it is run again"
        return record, trouble

    def is_done(self, cell: Cell) -> bool:
        """Return whether a cell has its scores, with tuned settings if wanted."""
        record, _ = self.record(cell)
        is_done = record is not None and record.state == "done"
        return is_done and self._find_search(cell) is None

    def run(self, cell: Cell) -> Record:
        """Tune a cell's method if wanted, train it and score it.

        Unfinished searches and training are continued. A variant of FDCH reuses the
        first stage that the cell before it has learned.
        """
        try:
            if (task := self._find_search(cell)) is not None:
                self._tune(cell, task)
        except FdchError as problem:
            return self.fail(cell, f"tuning failed: {problem}")
        folder = self.study.folder(cell)
        previous, _ = self.record(cell)
        if previous is None:
            clear(folder)
        elif previous.state == "done":  # the search has changed no setting
            return previous
        self._save(cell, "begun")
        try:
            scores, figures = self._fit_and_score(cell)
            record = self._save(cell, "done", figures=figures, scores=scores)
        except FdchError as problem:
            record = self.fail(cell, str(problem))
        except Exception as problem:  # a bug in one cell must not stop the others
            _log.exception("%s failed by a fault of the program", cell.name)
            record = self.fail(cell, f"{type(problem).__name__}: {problem}")
        if record.state == "failed" or not self.study.keep_runs:
            drop_run(folder)
        return record

    def fail(self, cell: Cell, reason: str) -> Record:
        """Record that a cell could not be run."""
        return self._save(cell, "failed", reason=reason)

    def _save(self, cell: Cell, state: State, **more: Any) -> Record:
        task = self.task(cell)
        record = Record(fingerprint(task), state, task, **more)
        record.save(self.study.folder(cell))
        return record

    def _fit_and_score(self, cell: Cell) -> tuple[Scores, dict[str, Any]]:
        method, split = self.study.method(cell), self.split(cell.seed)
        parts = split.parts(self.data.pairs_for(method), check=False)
        run = self.study.folder(cell) / RUN
        checkpoints = Checkpoints(run / CHECKPOINTS, fingerprint(self.task(cell)))
        context = Context(silent, self.study.device, checkpoints)
        protocol = self.data.protocol(split, parts)
        last, self._last = self._last, None
        alike = last and (last.bits, last.seed) == (cell.bits, cell.seed)
        source = last if alike else None
        scores, figures = fit_and_score(method, parts, protocol, context, source)
        if isinstance(method, FDCH):
            self._last = source or method
        if (file := self.study.tuned(cell)) is not None:
            figures["tuned"] = dict(file.settings)
        if self.study.keep_runs:
            seconds = figures["training_seconds"]
            save_training(run, method, self.data, split, parts, seconds, context)
        return scores, figures

    def _find_search(self, cell: Cell) -> TuningTask | None:
        """Return the search that a cell still needs; None if none."""
        minutes, first = self.study.tune_minutes, cell_to_tune(cell)
        if minutes is None:
            return None
        fixed = set(self.study.settings.get(cell.method, {}))
        method = self.study.method(first, tuned=False)
        try:
            find_space(method, fixed)
        except SettingError:  # there is nothing to tune
            return None
        task = TuningTask(method, fixed, *self._fingerprints(first))
        file = self.study.tuned(cell)
        search = file.search if file else {}
        allowed = search.get("budget_minutes", 0)
        is_long = isinstance(allowed, int | float) and allowed >= minutes
        return None if is_long and search.get("task") == task.fingerprint else task

    def _tune(self, cell: Cell, task: TuningTask) -> None:
        """Search, or resume a search, and write the result."""
        study, pairs = self.study, self.data.pairs_for(task.method)
        assert study.tune_minutes is not None  # otherwise nothing is tuned
        path = study.tuned_path(cell)
        try:
            Records.open(study_folder(path), task.fingerprint, task.defaults)
        except RunError:  # of another task; its cells are run again, too
            shutil.rmtree(study_folder(path))
            path.unlink(missing_ok=True)
        part = training_part(pairs, self.split(SEED))
        context = Context(device=study.device)
        found = tune(task, part, path, study.tune_minutes, context)
        file = found.to_file({"name": pairs.name, "source": study.source})
        file.save(path)
        write_tuning_page(page_path(path), found, file)


def cell_to_tune(cell: Cell) -> Cell:
    """Return the cell that a method is tuned as at its length, for all seeds."""
    return replace(cell, seed=SEED)
