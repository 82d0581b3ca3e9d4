"""A study's data made ready, and its cells run on it."""

import hashlib
import json
import logging
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from fdch import __version__, methods
from fdch.data.pairs import PairedSet
from fdch.data.splits import Parts, Split
from fdch.errors import FdchError
from fdch.evaluation import Protocol, Scores
from fdch.methods._base import HashMethod
from fdch.methods._settings import identifying
from fdch.methods.fdch import FDCH
from fdch.progress import Progress, silent
from fdch.reproduction.cells import RUN, Record, clear, drop_run, remains
from fdch.reproduction.study import Cell, Job, Study
from fdch.reproduction.trial import measure
from fdch.reproduction.tuned import cells_to_tune, is_tuned, tune_cell, tuning_task
from fdch.runs.experiment import seen_images
from fdch.runs.extraction import extract, for_pictures, takes_features
from fdch.runs.files import CHECKPOINTS, is_finished
from fdch.runs.preparation import read_pairs, require_ready, require_sides
from fdch.runs.run import save_run
from fdch.training.checkpoints import Checkpoints
from fdch.training.context import Context
from fdch.tuning.task import TuningTask

# of what a cell keeps; cells of another are run again
CELL_FORMAT = 2

_log = logging.getLogger(__name__)


class Laboratory:
    """Runs the cells of a study, each in its folder.

    Args:
        study: What all cells share; its data is read at once.
        progress: Told of pictures being checked and of image features.
    """

    def __init__(self, study: Study, progress: Progress = silent) -> None:
        self.study = study
        self.context = Context(progress, study.device)
        self.pairs = read_pairs(study.source, study.broken, self.context)
        require_sides(self.pairs)
        self._splits: dict[int, Split] = {}

    @cached_property
    def featured(self) -> PairedSet:
        """The pairs with features in place of pictures, held in memory."""
        return extract(self.pairs, self.context)

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
            self._pairs_for(method)

    def split(self, seed: int) -> Split:
        """Draw the split of a seed: the same for all methods and lengths."""
        if seed not in self._splits:
            self._splits[seed] = Split.draw(self.pairs, seed, self.study.sizes)
        return self._splits[seed]

    def task(self, cell: Cell) -> dict[str, Any]:
        """Say everything that a cell's scores depend on."""
        return {
            "method": cell.method,
            "settings": identifying(self.study.method(cell)),
            "data": self.pairs.fingerprint,
            "split": self.split(cell.seed).fingerprint,
            "version": __version__,
            "format": CELL_FORMAT,
        }

    def record(self, cell: Cell) -> tuple[Record | None, str]:
        """Give what there is of a cell, or say what is wrong with it."""
        folder = self.study.folder(cell)
        record, trouble = remains(folder, _fingerprint(self.task(cell)))
        scores = record.scores if record else None
        if scores and (scores.method, scores.bits) != (cell.method, cell.bits):
            return None, f"'{folder}' holds the scores of another cell; it is made anew"
        return record, trouble

    def is_done(self, cell: Cell) -> bool:
        """Tell whether a cell's scores are there."""
        record, _ = self.record(cell)
        return record is not None and record.state == "done"

    def untuned(self, cells: Sequence[Cell]) -> list[Cell]:
        """List the methods and lengths, by their first seed, still to be tuned."""
        if self.study.tune_minutes is None:
            return []
        tasks = {cell: self._tuning_task(cell) for cell in cells_to_tune(cells)}
        return [
            cell
            for cell, task in tasks.items()
            if task is not None and not is_tuned(self.study, cell, task)
        ]

    def tune_job(self, job: Job) -> Iterator[Cell]:
        """Tune the methods of some cells; one that cannot be tuned has failed."""
        for cell in job:
            task, split = self._tuning_task(cell), self.split(cell.seed)
            try:
                if task is not None:
                    pairs = self._pairs_for(task.method)
                    tune_cell(self.study, cell, task, pairs, split)
            except FdchError as problem:
                self.fail(cell, f"tuning failed: {problem}")
            yield cell

    def _tuning_task(self, cell: Cell) -> TuningTask | None:
        return tuning_task(self.study, cell, self.pairs, self.split(cell.seed))

    def run_job(self, job: Job) -> Iterator[Cell]:
        """Run the cells of a job, and tell of each as it ends."""
        donor = None
        for number, cell in enumerate(job, start=1):
            donor = donor or self._donor(cell)
            self.run(cell, donor, self.study.keep_runs or number < len(job))
            yield cell
        if not self.study.keep_runs:
            used = [donor.parent] if donor else []
            for folder in [*used, *map(self.study.folder, job)]:
                drop_run(folder)

    def run(self, cell: Cell, donor: Path | None = None, keep: bool = False) -> Record:
        """Train and score a cell, or go on with what was begun of it.

        Args:
            cell: What to run.
            donor: A run whose first stage is taken over.
            keep: Leave the trained run in the cell's folder.
        """
        folder, task = self.study.folder(cell), self.task(cell)
        begun, _ = self.record(cell)
        if begun is None:
            clear(folder)
        fingerprint = _fingerprint(task)
        Record(fingerprint, "begun", task).save(folder)
        try:
            scores, figures = self._measure(cell, donor, keep)
            record = Record(fingerprint, "done", task, figures, scores=scores)
        except FdchError as problem:
            record = Record(fingerprint, "failed", task, reason=str(problem))
        except Exception as problem:  # other cells shall not wait for a bug in one
            _log.exception("%s failed by a fault of the program", cell.name)
            reason = f"{type(problem).__name__}: {problem}"
            record = Record(fingerprint, "failed", task, reason=reason)
        record.save(folder)
        if record.state == "failed" or not keep:
            drop_run(folder)
        return record

    def fail(self, cell: Cell, reason: str) -> None:
        """Record that a cell could not be run."""
        folder, task = self.study.folder(cell), self.task(cell)
        Record(_fingerprint(task), "failed", task, reason=reason).save(folder)

    def _measure(
        self, cell: Cell, donor: Path | None, keep: bool
    ) -> tuple[Scores, dict[str, Any]]:
        method, split = self.study.method(cell), self.split(cell.seed)
        parts = split.parts(self._pairs_for(method), check=False)
        run = self.study.folder(cell) / RUN
        checkpoints = Checkpoints(run / CHECKPOINTS, _fingerprint(self.task(cell)))
        context = Context(silent, self.study.device, checkpoints)
        protocol = self._protocol(split, parts)
        scores, figures = measure(method, parts, protocol, context, donor)
        if (file := self.study.tuned(cell)) is not None:
            figures["tuned"] = dict(file.settings)
        if keep:
            facts = self._facts(split, parts) | {"seconds": figures["training_seconds"]}
            whole = for_pictures(method, self.pairs, context)
            seen = seen_images(split.parts(self.pairs))
            save_run(run, cell.method, whole, split, facts, seen=seen)
            checkpoints.clear()
        return scores, figures

    def _pairs_for(self, method: HashMethod) -> PairedSet:
        return self.featured if takes_features(method, self.pairs) else self.pairs

    def _donor(self, cell: Cell) -> Path | None:
        """Find a run of FDCH or a variant whose first stage a cell can take over."""
        if not issubclass(methods.load(cell.method), FDCH):
            return None
        for folder in sorted(self.study.folder(cell).parent.glob("*")):
            name, _, rest = folder.name.partition("-")
            is_alike = rest == f"{cell.bits}-{cell.seed}" and name != cell.method
            if not is_alike or not is_finished(folder / RUN):
                continue
            other = Cell(name, cell.bits, cell.seed)
            if issubclass(methods.load(name), FDCH) and self.is_done(other):
                return folder / RUN
        return None

    def _protocol(self, split: Split, parts: Parts) -> Protocol:
        return Protocol(
            data=self.pairs.fingerprint,
            split=split.fingerprint,
            queries=len(parts.query),
            database=len(parts.database),
            train=len(parts.train),
            validation=len(parts.validation),
            seed=split.seed,
            trained_on=self.pairs.fingerprint,
            groups=split.groups or "",
        )

    def _facts(self, split: Split, parts: Parts) -> dict[str, Any]:
        """Say of a kept run what `fdch train` says of one."""
        return {
            "data": {
                "source": self.study.source,
                "name": self.pairs.name,
                "fingerprint": self.pairs.fingerprint,
                "pairs": len(self.pairs),
                "skipped": len(self.pairs.skipped),
                "broken": self.study.broken,
            },
            "labels": list(self.pairs.label_names),
            "split": split.fingerprint,
            "train": len(parts.train),
            "validation": len(parts.validation),
            "device": str(self.context.torch_device()),
            "validation_map": {},
        }


def _fingerprint(task: dict[str, Any]) -> str:
    text = json.dumps(task, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
