"""Trials one after the other, within a budget of time."""

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fdch.errors import FdchError, SettingError
from fdch.methods._base import HashMethod
from fdch.progress import Update
from fdch.training.context import Context
from fdch.tuning.held_out import FOLDS, Fold, Folds, score_held_out
from fdch.tuning.proposals import TuningTask, is_promising, propose
from fdch.tuning.records import SHARES, STEPS, Records, Trial, last_step

TRIALS_PER_SETTING = 25  # more of them find nothing new
SHARE = 8  # the defaults get an eighth of the budget, and one fold at least
DECIMALS = 6  # of a pair's score
BETWEEN_SAVES = 1.0  # seconds, the most that a kill can cost beside the fold it hits


class Unpromising(Exception):
    """Others have done better than this trial up to here."""


class OutOfTime(Exception):
    """The budget is spent."""


@dataclass
class Budget:
    """Wall-clock time, counted over all sessions of a search."""

    seconds: float  # all there is
    before: float = 0.0  # what earlier sessions have spent
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        if not self.seconds > 0:
            raise SettingError(
                f"tuning needs more than 0 minutes; got {self.seconds / 60:g}."
            )
        self._began = self.clock()

    @property
    def spent(self) -> float:
        """Seconds that the search has taken so far."""
        return self.before + self.clock() - self._began

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return self.seconds - self.spent


@dataclass
class Search:
    """Measures the defaults, then proposals, on folds of the training part."""

    task: TuningTask
    folds: Folds
    records: Records  # trials so far; kept up to date
    budget: Budget
    context: Context
    _shown: int = -1  # seconds that were reported last

    def run(self) -> None:
        """Search until the time or the proposals are used up.

        Whatever ends it, all finished folds are in the records; after a kill, all
        but those of the last second.
        """
        try:
            self._measure_defaults()
            while (trial := self._next()) is not None:
                self._run(trial)
        except OutOfTime:
            pass
        finally:
            if self._count:  # before, there is nothing to resume
                self._save()

    def _measure_defaults(self) -> None:
        """Measure one fold whatever it takes, then as many as the budget is worth."""
        defaults = self.records.defaults
        if not defaults.seconds:
            self._measure(defaults, 0)
        while self._count < FOLDS and self._affords(1):
            # the quickest: a first fold may have waited for code to be compiled
            quickest = max(min(defaults.seconds), 1e-3)
            if self._count >= int(self.budget.seconds / quickest / SHARE):
                break
            self._measure(defaults, self._count)
        defaults.state = "done"

    def _next(self) -> Trial | None:
        """Return an unfinished trial or a new one; None if there is no time left."""
        trials, folds = self.records.trials, self._count
        for trial in trials[1:]:
            is_open = trial.state in ("running", "done")
            if is_open and len(trial.seconds) < folds:
                return trial if self._affords(folds - len(trial.seconds)) else None
        most = TRIALS_PER_SETTING * len(self.task.space)
        if len(trials) > most or not self._affords(folds):
            return None
        trials.append(Trial(len(trials), propose(self.task, trials)))
        return trials[-1]

    @property
    def _count(self) -> int:
        """Folds that count: those the defaults were measured on."""
        return len(self.records.defaults.seconds)

    def _affords(self, folds: int) -> bool:
        """Return whether the budget allows these folds, at the slowest pace so far."""
        slowest = max(max(trial.seconds, default=0) for trial in self.records.trials)
        return folds * slowest <= self.budget.left

    def _run(self, trial: Trial) -> None:
        """Measure a trial on all folds, unless it fails or others do better."""
        trial.state = "running"
        try:
            for fold in range(len(trial.seconds), self._count):
                if fold:
                    self._require_promising(trial, last_step(fold - 1))
                self._measure(trial, fold)
            trial.state = "done"
        except Unpromising:
            trial.state = "stopped"
        except FdchError as problem:
            trial.state, trial.reason = "failed", str(problem)

    def _measure(self, trial: Trial, number: int) -> None:
        """Train on a fold and score its held-out pairs."""
        began = self.budget.spent
        fold, method = self.folds[number], self.task.build(trial.settings)

        def judge(done: int, total: int) -> None:
            """Score networks during training, and stop hopeless ones."""
            for step, due in enumerate(SHARES, STEPS * number):
                if step not in trial.marks and done / total >= due:
                    trial.marks[step] = float(self._score(method, fold).mean())
                    if trial.number:
                        self._require_promising(trial, step)

        def tick(update: Update) -> None:
            if trial.number and self.budget.left < 0:
                raise OutOfTime
            self._report()

        context = replace(self.context, progress=tick, judge=judge)
        method.fit(*fold.divide(), context=context)
        scores = self._score(method, fold)
        if trial.number == 0:
            self.records.reference.append(scores.tolist())
        gains = scores - self.records.reference[number]
        trial.marks[last_step(number)] = float(scores.mean())
        trial.errors.append(float(gains.std(ddof=1)) / math.sqrt(len(gains)))
        trial.seconds.append(round(self.budget.spent - began, 3))
        if self.budget.spent - self.records.spent >= BETWEEN_SAVES:
            self._save()
        self._report()

    def _require_promising(self, trial: Trial, step: int) -> None:
        if not is_promising(trial, step, self.records.trials):
            raise Unpromising

    def _score(self, method: HashMethod, fold: Fold) -> NDArray[np.float64]:
        context = replace(self.context, progress=lambda update: None)
        return np.round(score_held_out(method, fold.held_out, context), DECIMALS)

    def _save(self) -> None:
        self.records.spent = self.budget.spent
        self.records.save()

    def _report(self) -> None:
        """Report the time that has passed, and the best gain so far."""
        total = max(1, round(self.budget.seconds))
        passed = min(total, int(self.budget.spent))
        if passed <= self._shown:
            return
        self._shown = passed
        trials = self.records.trials
        values = {"trials": float(len(trials))}
        if trials[0].seconds:
            values["defaults"] = statistics.fmean(trials[0].scores)
            gains = [
                statistics.fmean(trial.gains(trials[0]))
                for trial in trials
                if trial.state == "done"
            ]
            values["best gain"] = max(gains, default=0.0)
        self.context.progress(Update("tuning", passed, total, "second", values))
