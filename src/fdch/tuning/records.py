"""A search on disk: its trials so far, so that it can be resumed."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

from fdch.errors import DamagedRun, RunError
from fdch.evaluation.documents import read_value
from fdch.files import make_folder, write_json
from fdch.runs.run_files import read_versioned

FORMAT = 1
FILE = "study.json"
WRONG, ADVICE = "cannot be read", "Delete its folder to search from the beginning."
# Within a fold, networks are scored at these shares of their epochs; the last step
# of a fold is the trained method.
SHARES = (0.25, 0.5)
STEPS = len(SHARES) + 1
# The best of many trials is partly so by luck: it takes more than one standard
# error to be called better.
SURE = 2.0
State = Literal["running", "done", "stopped", "failed"]


@dataclass
class Trial:
    """One set of settings, and how well it has done so far."""

    number: int  # 0 for the defaults
    settings: dict[str, Any]
    # "done" on all folds, "stopped" as not promising, or "failed" by an error
    state: State = "running"
    # scores by step: `STEPS` to a fold, the last of them its result
    marks: dict[int, float] = field(default_factory=dict)
    # for each finished fold, the standard error of its gain over its pairs
    errors: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)  # what each finished fold took
    reason: str = ""

    @property
    def scores(self) -> list[float]:
        """The score on each finished fold."""
        return [self.marks[last_step(fold)] for fold in range(len(self.seconds))]

    def gains(self, defaults: "Trial") -> list[float]:
        """Return how far each finished fold scores above the defaults."""
        pairs = zip(self.scores, defaults.scores, strict=False)
        return [own - other for own, other in pairs]

    def gain_at(self, step: int, defaults: "Trial") -> float:
        """Return the mean gain over the folds finished before a step, and that step."""
        steps = [*range(last_step(0), step, STEPS), step]
        return statistics.fmean(self.marks[s] - defaults.marks[s] for s in steps)


def last_step(fold: int) -> int:
    """Return the step at which a fold ends, folds counted from 0."""
    return STEPS * fold + STEPS - 1


@dataclass
class Records:
    """Everything a search knows, written whole after each fold."""

    folder: Path
    task: str  # fingerprint of what is searched
    trials: list[Trial]  # all trials, the defaults first
    # the defaults' score of every held-out pair, by fold
    reference: list[list[float]] = field(default_factory=list)
    spent: float = 0.0  # seconds that the search has taken

    @property
    def defaults(self) -> Trial:
        """The trial that all others are compared with."""
        return self.trials[0]

    def save(self) -> None:
        """Write everything, whole or not at all."""
        make_folder(self.folder)
        document = {
            "format": FORMAT,
            "task": self.task,
            "spent": round(self.spent, 3),
            "reference": self.reference,
            "trials": [asdict(trial) for trial in self.trials],
        }
        write_json(self.folder / FILE, document)

    @classmethod
    def open(cls, folder: Path, task: str, defaults: Mapping[str, Any]) -> Self:
        """Read the records of a task, or begin them where there are none."""
        path = folder / FILE
        if not path.exists():
            return cls(folder, task, [Trial(0, dict(defaults))])
        document = read_versioned(path, FORMAT, WRONG, ADVICE)
        if document.get("task") != task:
            raise RunError(
                f"'{folder}' belongs to a search on other data, with another split, "
                "method, fixed settings or version of fdch. Choose another --out, or "
                "delete that folder."
            )
        try:
            reference = read_value(
                list[list[float]], document.get("reference"), "reference"
            )
            trials = read_value(list[Trial], document.get("trials"), "trials")
            spent = read_value(float, document.get("spent"), "spent")
            _require_sound(trials, reference)
        except ValueError as problem:
            raise DamagedRun(f"'{path}' {WRONG} ({problem}). {ADVICE}") from problem
        return cls(folder, task, trials, reference, spent)


def _require_sound(trials: Sequence[Trial], reference: Sequence[object]) -> None:
    """Refuse trials that lack what the next steps of a search count on."""
    for number, trial in enumerate(trials):
        folds = len(trial.seconds)
        ends = {last_step(fold) for fold in range(folds)}
        is_whole = ends <= trial.marks.keys() and len(trial.errors) == folds
        if trial.number != number or not is_whole or folds > len(reference):
            raise ValueError(f"trial {number} is incomplete")
    if len(trials[:1]) != 1 or len(reference) != len(trials[0].seconds):
        raise ValueError("the defaults are incomplete")


@dataclass(frozen=True)
class Verdict:
    """The best trial, compared with the defaults on the same folds."""

    best: Trial  # of all measured on all folds, or the defaults
    gain: float  # its mean gain over the defaults
    error: float  # the standard error of that gain

    @property
    def is_better(self) -> bool:
        """Whether the best trial is taken; otherwise the defaults are kept."""
        return self.gain > SURE * self.error


def choose(trials: Sequence[Trial]) -> Verdict:
    """Compare all finished trials with the defaults, which come first, fold by fold."""
    defaults = trials[0]
    folds = len(defaults.seconds)
    finished = [
        (statistics.fmean(trial.gains(defaults)), -trial.number, trial)
        for trial in trials[1:]
        if trial.state == "done" and len(trial.seconds) == folds
    ]
    if not finished:
        return Verdict(defaults, 0.0, 0.0)
    gain, _, best = max(finished, key=lambda each: each[:2])
    # The larger error of two. Few folds may agree by chance, and one fold has no
    # spread; only folds show how much results vary from training to training.
    error = math.sqrt(sum(error**2 for error in best.errors)) / len(best.errors)
    if folds > 1:
        between = statistics.stdev(best.gains(defaults)) / math.sqrt(folds)
        error = max(error, between)
    return Verdict(best, gain, error)
