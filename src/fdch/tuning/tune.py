"""Data and a method in; settings that suit them out."""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fdch.data.pairs import PairedSet
from fdch.data.splits import Split
from fdch.errors import MissingExtra, RunError
from fdch.progress import collect_warnings
from fdch.runs.pipeline import TrainingTask
from fdch.runs.preparation import extract, require_ready, takes_features
from fdch.training.context import PLAIN, Context
from fdch.tuning.held_out import Folds, training_part
from fdch.tuning.proposals import TuningTask, find_space
from fdch.tuning.records import SURE, Records, Trial, Verdict, choose
from fdch.tuning.search import Budget, Search
from fdch.tuning.settings_file import SettingsFile

Clock = Callable[[], float]
GIVEN = ("bits", "seed")  # options of their own, not settings to be found


@dataclass(frozen=True)
class Tuning:
    """The outcome of a search."""

    task: TuningTask
    pairs: PairedSet  # the training part
    held_out: int  # pairs that each fold was scored on
    trials: tuple[Trial, ...]  # all trials, the defaults first
    verdict: Verdict  # the best of them, compared with the defaults
    minutes: float  # what the search has taken, earlier sessions included
    budget: float  # minutes that it was given
    warnings: tuple[str, ...] = ()  # what the method warned of, each once

    @property
    def chosen(self) -> Trial:
        """The trial whose settings are taken."""
        return self.verdict.best if self.verdict.is_better else self.trials[0]

    @property
    def settings(self) -> dict[str, Any]:
        """All settings to train with that are not the method's defaults."""
        changed = self.task.build(self.chosen.settings).changed_settings()
        return {name: changed[name] for name in changed if name not in GIVEN}

    @property
    def remark(self) -> str:
        """The outcome, in a sentence."""
        verdict, others = self.verdict, len(self.trials) - 1
        if verdict.best.number == 0:
            return (
                f"The defaults are kept: none of {others} other trials was measured on "
                "all folds. More minutes allow more."
            )
        gained = (
            f"gains {verdict.gain:.4f} ± {verdict.error:.4f} over the defaults "
            "on held-out pairs"
        )
        if verdict.is_better:
            return f"Trial {verdict.best.number} of {others} {gained}."
        return (
            f"The defaults are kept: the best of {others} trials {gained}, not more "
            f"than {SURE:g} standard errors."
        )

    def to_file(self, data: Mapping[str, Any]) -> SettingsFile:
        """Return what settings.toml holds; `data` has the data's name and source."""
        method, defaults = self.task.method, self.trials[0]
        return SettingsFile(
            method=method.name,
            bits=method.bits,
            seed=method.seed,
            settings=self.settings,
            data={**data, "fingerprint": self.task.data, "split": self.task.split},
            search={
                "task": self.task.fingerprint,
                "default_score": round(statistics.fmean(defaults.scores), 6),
                "score": round(statistics.fmean(self.chosen.scores), 6),
                "best_gain": round(self.verdict.gain, 6),
                "standard_error": round(self.verdict.error, 6),
                "trials": len(self.trials),
                "folds": len(defaults.seconds),
                "held_out_pairs": self.held_out,
                "minutes": round(self.minutes, 2),
                "budget_minutes": self.budget,
            },
            remark=self.remark,
        )


def study_folder(out: Path) -> Path:
    """Return the folder beside a settings file that keeps its trials."""
    return out.with_name(out.name + ".study")


def page_path(out: Path) -> Path:
    """Return the page beside a settings file."""
    return out.with_suffix(".html")


def require_packages() -> None:
    """Refuse to start without the packages of the extra."""
    if not all(map(find_spec, ("optuna", "matplotlib", "jinja2"))):
        raise MissingExtra("tuning", "tune")


def require_free_place(out: Path, resume: bool) -> None:
    """Refuse to mix with, or write over, an earlier search."""
    own = (study_folder(out), out, page_path(out))
    there = [path for path in own if path.exists()]
    if there and not resume:
        raise RunError(
            f"'{there[0]}' already exists. Add --resume to continue that search, "
            "or choose another --out."
        )


def tune_settings(
    training: TrainingTask,
    minutes: float,
    *,
    context: Context = PLAIN,
    announce: Callable[[PairedSet, Split], None] = lambda pairs, split: None,
) -> tuple[Tuning, PairedSet]:
    """Read data and search settings on its training part.

    Its `out` is the settings file, its settings are fixed, and an unfinished search is
    resumed. The minutes are for the search; reading data and computing image features
    is extra. `announce` is called with the data and its split before the search.
    """
    require_packages()
    method = training.configure()
    fixed = set(training.settings)
    find_space(method, fixed)  # refuses a method with nothing to tune, before reading
    require_ready(method, context)
    data, split = training.prepare(context)
    task = TuningTask(method, fixed, data.pairs.fingerprint, split.fingerprint)
    announce(data.pairs, split)
    part = training_part(data.pairs, split)
    if takes_features(method, part):
        part = extract(part, context)
    return tune(task, part, training.out, minutes, context), data.pairs


def tune(
    task: TuningTask,
    part: PairedSet,
    out: Path,
    minutes: float,
    context: Context = PLAIN,
    clock: Clock = time.monotonic,
) -> Tuning:
    """Search settings on a training part, resuming an unfinished search.

    The part has features in the place of pictures where the method takes them.
    Trials are kept in a folder beside `out`, the settings file.
    """
    folds = Folds(part, task.method.seed)
    records = Records.open(study_folder(out), task.fingerprint, task.defaults)
    budget = Budget(60 * minutes, records.spent, clock)
    with collect_warnings() as warned:
        Search(task, folds, records, budget, context).run()
    return Tuning(
        task,
        part,
        folds.held_out,
        tuple(records.trials),
        choose(records.trials),
        records.spent / 60,
        minutes,
        tuple(warned),
    )
