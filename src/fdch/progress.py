"""How long work tells that it goes on: library code reports, the command prints."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Update:
    """One step of a task that takes a while.

    Args:
        task: What is being done, such as "stage 1" or "pictures".
        done: Steps finished so far.
        total: Steps in all.
        unit: What a step is, such as "epoch" or "picture".
        values: Figures worth watching, such as loss terms.
    """

    task: str
    done: int
    total: int
    unit: str
    values: Mapping[str, float] = field(default_factory=dict)


Progress = Callable[[Update], None]


def silent(update: Update) -> None:
    """Report nothing: the default of every function that takes a Progress."""
