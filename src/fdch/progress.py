"""Progress of long work: library code reports it, the command prints it."""

import logging
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

_SHOWN = 4  # figures behind a bar; a notebook does not cut the line
_SIDES = ("image ", "text ")
_OF_OUTPUTS = re.compile(r"^(mean|imbalance) \|?[A-Z]\|?$")
_SHORT = {"mean": "|output|", "imbalance": "imbalance"}


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


class _Silent:
    """Reports nothing; its name is all that `help()` shows of this default."""

    def __call__(self, update: Update) -> None:
        pass

    def __repr__(self) -> str:
        return "silent"

    def __reduce__(self) -> str:
        return "silent"


silent: Progress = _Silent()  # the default of every function that takes a Progress


def figures(values: Mapping[str, float]) -> str:
    """Write figures in little room; those of both sides share a name.

    Early signs of failing codes come first: a narrow terminal cuts the line.

    >>> figures({"image balance": 0.25, "text balance": 0.5, "mean |F|": 0.75})
    '|output| 0.75, balance 0.25/0.5'
    """
    shared: dict[str, list[str]] = {"|output|": [], "imbalance": []}
    for name, value in values.items():
        short = _OF_OUTPUTS.sub(lambda found: _SHORT[found[1]], name)
        side = next((side for side in _SIDES if short.startswith(side)), "")
        shared.setdefault(short.removeprefix(side), []).append(f"{value:.3g}")
    return ", ".join(
        f"{name} {'/'.join(shown)}" for name, shown in shared.items() if shown
    )


def show_bars() -> Progress:
    """Make a Progress that shows a bar for each task, on standard error.

    In a notebook it is a widget where ipywidgets is installed.
    """
    with warnings.catch_warnings():  # tqdm warns in a notebook without ipywidgets
        warnings.simplefilter("ignore")
        from tqdm.auto import tqdm

    bar: tqdm[None] | None = None

    def show(update: Update) -> None:
        nonlocal bar
        if bar is None or bar.desc != update.task or update.done < bar.n:
            bar = tqdm(
                desc=update.task,
                total=update.total,
                unit=f" {update.unit}s",
                mininterval=0.5,
                dynamic_ncols=True,
            )
        first = figures(update.values).split(", ")[:_SHOWN]
        bar.set_postfix_str(", ".join(first), refresh=False)
        bar.update(update.done - bar.n)
        if update.done >= update.total:
            bar.close()

    return show


class _Collector(logging.Handler):
    def __init__(self, found: list[str]) -> None:
        super().__init__(logging.WARNING)
        self._found = found

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if text not in self._found:
            self._found.append(text)


@contextmanager
def collect_warnings() -> Iterator[list[str]]:
    """Collect the warnings of methods, each once, instead of printing them."""
    logger, found = logging.getLogger("fdch"), list[str]()
    collector, before = _Collector(found), logger.propagate
    logger.addHandler(collector)
    logger.propagate = False
    try:
        yield found
    finally:
        logger.removeHandler(collector)
        logger.propagate = before
