"""The task of tuning, the settings to try next, and which trials to continue.

Optuna proposes; trials are kept by `records.py`, so it writes nothing to disk. Every
proposal depends only on the seed and the trials before it, so a resumed search tries
the settings that an uninterrupted one would have tried.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fdch.errors import SettingError
from fdch.files import fingerprint
from fdch.methods._base import HashMethod
from fdch.methods._settings.assignments import search_space
from fdch.methods._settings.space import Choice, Range
from fdch.runs.pipeline import identify_training
from fdch.training.randomness import derive_seed
from fdch.tuning.held_out import FOLDS
from fdch.tuning.records import STEPS, Trial, last_step

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial

SHOWN_DIGITS = 3


@dataclass(frozen=True)
class TuningTask:
    """Everything that the scores of trials depend on, but their own settings."""

    method: HashMethod  # the defaults that trials are compared with, unfitted
    fixed: Collection[str]  # settings that the user has chosen; they are not searched
    data: str
    split: str  # fingerprint of the split whose training part is used

    @cached_property
    def space(self) -> dict[str, Range | Choice]:
        """The settings to search."""
        return find_space(self.method, self.fixed)

    @property
    def defaults(self) -> dict[str, Any]:
        """The searched settings as they are without tuning."""
        return {name: getattr(self.method, name) for name in self.space}

    def build(self, settings: Mapping[str, Any]) -> HashMethod:
        """Make the method with other settings, unfitted."""
        return replace(self.method, **settings)

    @property
    def fingerprint(self) -> str:
        """Identify a task, so that trials of different tasks are not mixed."""
        space = {name: asdict(each) for name, each in self.space.items()}
        training = identify_training(self.method, self.data, self.split)
        return fingerprint({**training, "space": space, "folds": FOLDS})


def find_space(method: HashMethod, fixed: Collection[str]) -> dict[str, Range | Choice]:
    """Return what can be searched of a method, fixed settings aside."""
    declared = search_space(type(method))
    found = {name: each for name, each in declared.items() if name not in fixed}
    if not found:
        reason = "its file declares no search space"
        if declared:
            reason = f"all that could be searched is fixed ({', '.join(declared)})"
        raise SettingError(
            f"there is nothing to tune in {method.name}: {reason}. Train it "
            "as it is, or declare more (CONTRIBUTING.md)."
        )
    return found


def propose(task: TuningTask, trials: Sequence[Trial]) -> dict[str, Any]:
    """Choose the settings of the next trial, given all so far, the defaults first."""
    firsts = {name: each.first for name, each in task.space.items()}
    if len(trials) == 1 and any(value is not None for value in firsts.values()):
        return {
            name: default if firsts[name] is None else firsts[name]
            for name, default in task.defaults.items()
        }
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    distributions = {
        name: _distribution(each, task.defaults[name])
        for name, each in task.space.items()
    }
    seed = derive_seed(task.method.seed, "proposal", len(trials)) % 2**32
    study = optuna.create_study(
        direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed)
    )
    for trial in trials:
        if trial.state in ("done", "stopped"):
            study.add_trial(_freeze_trial(task, trial, trials[0], distributions))
    drawn = study.ask(distributions).params
    for name, value in drawn.items():
        if isinstance(value, float):  # rounded to what people write, inside its range
            shown = float(f"{value:.{SHOWN_DIGITS}g}")
            drawn[name] = _clip(task.space[name], shown)
    return {name: drawn[name] for name in task.space}


def is_promising(trial: Trial, step: int, trials: Sequence[Trial]) -> bool:
    """Return whether a trial can still become the best.

    After a fold it must be in the better half of all that came as far. In the middle
    of one, where slow learners are still behind, in the better three quarters.
    """
    defaults = trials[0]
    own = trial.gain_at(step, defaults)
    peers = [
        each.gain_at(step, defaults)
        for each in trials
        if each is not trial and step in each.marks
    ]
    is_fold_end = step == last_step(step // STEPS)
    allowed = len(peers) / 2 if is_fold_end else max(2, 0.75 * len(peers))
    return sum(gain > own for gain in peers) <= allowed


def _distribution(space: Range | Choice, default: Any) -> "BaseDistribution":
    from optuna.distributions import (
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )

    if isinstance(space, Choice):
        return CategoricalDistribution(space.values)
    if isinstance(default, int):
        return IntDistribution(int(space.low), int(space.high), log=space.log)
    return FloatDistribution(space.low, space.high, log=space.log)


def _freeze_trial(
    task: TuningTask,
    trial: Trial,
    defaults: Trial,
    distributions: "dict[str, BaseDistribution]",
) -> "FrozenTrial":
    """Write a trial the way Optuna has them: gains are what it maximises."""
    from optuna.trial import TrialState, create_trial

    inside = {
        name: _clip(each, trial.settings[name]) for name, each in task.space.items()
    }
    if trial.state == "done":
        value = trial.gain_at(last_step(len(trial.seconds) - 1), defaults)
        return create_trial(params=inside, distributions=distributions, value=value)
    return create_trial(
        params=inside,
        distributions=distributions,
        state=TrialState.PRUNED,
        intermediate_values={
            step: trial.gain_at(step, defaults) for step in trial.marks
        },
    )


def _clip(space: Range | Choice, value: Any) -> Any:
    """Bring a value that was given by hand, or by a preset, into the searched range.

    For one that the data decides, Optuna gets the middle of the range.
    """
    if isinstance(space, Choice):
        return value if value in space else space.values[0]
    if value is None:
        return space.middle
    return type(value)(min(max(value, space.low), space.high))
