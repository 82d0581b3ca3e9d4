"""Progress of long work: a bar on a terminal, plain lines when piped."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self, TextIO

from fdch.progress import Update

if TYPE_CHECKING:
    from fdch.training.context import Context

BETWEEN_LINES = 5.0  # seconds


@contextmanager
def show_progress(device: str) -> "Iterator[Context]":
    """Return the context of work on a device whose progress is printed."""
    from fdch.training.context import Context

    with ProgressPrinter() as progress:
        yield Context(progress, device)


class ProgressPrinter:
    """Prints updates to standard error: a bar on a terminal, else lines for a log.

    Of lines there is one every few seconds, each with the whole state. A task whose
    first update is its last took no time worth showing, unless it counts epochs.
    """

    def __init__(
        self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream, self._clock = stream or sys.stderr, clock
        self._last: Update | None = None
        self._bar: Any = None
        self._begun: tuple[float, int] | None = None  # the time, and what was done
        self._due = 0.0  # the time of the next line

    def __call__(self, update: Update) -> None:
        """Take an update."""
        last, self._last = self._last, update
        if (
            last is None
            or (last.task, last.total) != (update.task, update.total)
            or last.done >= update.done
        ):
            self._close()
            if update.done < update.total or update.unit == "epoch":
                self._begin(update)
        if self._begun is None:
            return
        now, is_last = self._clock(), update.done >= update.total
        if self._bar is not None:
            self._bar.set_postfix_str(figures(update.values), refresh=False)
            self._bar.update(update.done - self._bar.n)
        elif now >= self._due or is_last:
            self._due = now + BETWEEN_LINES
            self._stream.write(_line(update, now - self._begun[0], self._begun[1]))
            self._stream.flush()
        if is_last:
            self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self._close()

    def _begin(self, update: Update) -> None:
        now = self._clock()
        self._begun = now, update.done
        self._due = now if update.unit == "epoch" else now + BETWEEN_LINES
        if self._stream.isatty():
            from tqdm import tqdm

            self._bar = tqdm(
                desc=update.task,
                initial=update.done,
                total=update.total,
                unit=f" {update.unit}",
                smoothing=0.1,
                file=self._stream,
                dynamic_ncols=True,
            )

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
        self._bar = self._begun = None


def _line(update: Update, seconds: float, first: int) -> str:
    """Write the progress of a task that has run for some seconds."""
    counted = f"{update.done:,}/{update.total:,} {_several(update.unit)}"
    parts = [f"{update.task}: {counted}"]
    steps = update.done - first
    if seconds > 0 and steps > 0:
        if update.unit != "second":  # time itself has no pace
            parts.append(pace(steps / seconds, update.unit))
        left = (update.total - update.done) * seconds / steps
        parts.append(f"{duration(left)} left")
    shown = f"; {figures(update.values)}" if update.values else ""
    return f"{', '.join(parts)}{shown}\n"


def pace(rate: float, unit: str) -> str:
    """Write a rate the way it is larger than one.

    >>> pace(0.25, "epoch"), pace(5213.4, "picture")
    ('4.0 s/epoch', '5,213 pictures/s')
    """
    if rate >= 1:
        return f"{rate:,.{0 if rate >= 10 else 1}f} {_several(unit)}/s"
    return f"{1 / rate:.1f} s/{unit}"


def duration(seconds: float) -> str:
    """Write seconds as people say them.

    >>> duration(12.4), duration(75), duration(7300)
    ('12 s', '1 min 15 s', '2 h 1 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def figures(values: Mapping[str, float]) -> str:
    """Write figures in little room; those of both sides share a name.

    >>> figures({"image balance": 0.25, "text balance": 0.5, "mean |F|": 0.75})
    'balance 0.25/0.5, mean |F| 0.75'
    """
    shared: dict[str, list[str]] = {}
    for name, value in values.items():
        short = name.removeprefix("image ").removeprefix("text ")
        shared.setdefault(short, []).append(f"{value:.3g}")
    return ", ".join(f"{name} {'/'.join(shown)}" for name, shown in shared.items())


def _several(unit: str) -> str:
    return f"{unit[:-1]}ies" if unit.endswith("y") else f"{unit}s"
