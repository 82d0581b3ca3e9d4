"""Whether any trial is better than the defaults, and surely so."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from fdch.tuning.records import Trial

# The best of many trials is partly so by luck: it takes more than one standard
# error to be called better.
SURE = 2.0


@dataclass(frozen=True)
class Verdict:
    """The best trial, compared with the defaults on the same folds.

    Args:
        best: The best of all that were measured on all folds; the defaults
            themselves where there was no other.
        gain: Its mean gain over the defaults.
        error: The standard error of that gain.
    """

    best: Trial
    gain: float
    error: float

    @property
    def is_better(self) -> bool:
        """Whether the best trial is taken; otherwise the defaults stand."""
        return self.gain > SURE * self.error


def choose(trials: Sequence[Trial]) -> Verdict:
    """Compare all finished trials with the defaults, fold by fold.

    Args:
        trials: All trials, the defaults first; their folds are those that count.
    """
    defaults = trials[0]
    folds = len(defaults.seconds)
    finished = [
        trial
        for trial in trials[1:]
        if trial.state == "done" and len(trial.seconds) == folds
    ]
    if not finished:
        return Verdict(defaults, 0.0, 0.0)
    best = max(finished, key=lambda trial: statistics.fmean(trial.gains(defaults)))
    gains = best.gains(defaults)
    return Verdict(best, statistics.fmean(gains), _standard_error(gains, best.errors))


def _standard_error(gains: Sequence[float], errors: Sequence[float]) -> float:
    """Give the larger of two: as the folds differ, and as their pairs do.

    Few folds may agree by chance, and one fold has no spread. Only folds, on the
    other hand, show how much results vary from training to training.
    """
    over_pairs = math.sqrt(sum(error**2 for error in errors)) / len(errors)
    if len(gains) < 2:
        return over_pairs
    return max(over_pairs, statistics.stdev(gains) / math.sqrt(len(gains)))
