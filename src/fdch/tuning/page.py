"""The page of a search: one file that needs no network."""

import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fdch import __version__
from fdch.methods._settings import AUTO
from fdch.report.render import write_page
from fdch.tuning.plots import last_gain, progress_plot, setting_plot
from fdch.tuning.records import Trial
from fdch.tuning.settings_file import SettingsFile
from fdch.tuning.tune import Tuning
from fdch.tuning.verdict import SURE

LISTED_TRIALS = 200


@dataclass(frozen=True)
class Row:
    """A trial as the page lists it."""

    trial: Trial
    score: float | None
    gain: float | None
    seconds: float


def write_tuning_page(path: Path, found: Tuning, file: SettingsFile) -> None:
    """Write the trials, what came of them and which settings mattered."""
    write_page(
        path,
        "tuning.html.j2",
        found=found,
        file=file,
        settings=[
            (name, each, found.task.defaults[name], found.chosen.settings[name])
            for name, each in found.task.space.items()
        ],
        fixed={
            name: value
            for name, value in found.settings.items()
            if name not in found.task.space
        },
        rows=_rows(found)[:LISTED_TRIALS],
        more=max(0, len(found.trials) - LISTED_TRIALS),
        progress=progress_plot(found),
        plots=[setting_plot(found, name) for name in found.task.space],
        shown=shown_value,
        sure=SURE,
        version=__version__,
    )


def shown_value(value: Any) -> str:
    """Write a setting for reading.

    >>> shown_value(0.0003), shown_value(True), shown_value(12), shown_value(None)
    ('0.0003', 'true', '12', 'auto')
    """
    if value is None:
        return AUTO
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _rows(found: Tuning) -> list[Row]:
    """List trials, those on all folds first, the best on top."""
    defaults = found.trials[0]
    rows = [
        Row(
            trial,
            statistics.fmean(trial.scores) if trial.seconds else None,
            last_gain(trial, defaults),
            sum(trial.seconds),
        )
        for trial in found.trials
    ]
    order = {"done": 0, "running": 1, "stopped": 1, "failed": 2}

    def key(row: Row) -> tuple[int, int, float]:
        gain = -1.0 if row.gain is None else row.gain
        return order[row.trial.state], -len(row.trial.seconds), -gain

    return sorted(rows, key=key)
