"""The page of a search: one file that needs no network."""

import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fdch import __version__
from fdch.methods._settings.assignments import write_setting
from fdch.methods._settings.space import Choice, Range
from fdch.report.plots import INK, SERIES, page_svg
from fdch.report.render import write_page
from fdch.tuning.records import SURE, Trial
from fdch.tuning.settings_file import SettingsFile
from fdch.tuning.tune import Tuning

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LISTED_TRIALS = 200


def write_tuning_page(path: Path, found: Tuning, file: SettingsFile) -> None:
    """Write the trials, their scores and which settings mattered."""
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
        plots=[setting_plot(found, name) for name in found.task.space],
        shown=show_setting,
        sure=SURE,
        version=__version__,
    )


def show_setting(value: Any) -> str:
    """Write a setting for reading.

    >>> show_setting(0.0003), show_setting(True), show_setting(12), show_setting(None)
    ('0.0003', 'true', '12', 'auto')
    """
    return f"{value:.4g}" if isinstance(value, float) else write_setting(value)


def _rows(found: Tuning) -> list[dict[str, Any]]:
    """List trials, those on all folds first, the best on top."""
    order = {"done": 0, "running": 1, "stopped": 1, "failed": 2}

    def key(row: dict[str, Any]) -> tuple[int, int, float]:
        trial, gain = row["trial"], -1.0 if row["gain"] is None else row["gain"]
        return order[trial.state], -len(trial.seconds), -gain

    rows = [
        {
            "trial": trial,
            "score": statistics.fmean(trial.scores) if trial.seconds else None,
            "gain": last_gain(trial, found.trials[0]),
            "seconds": sum(trial.seconds),
        }
        for trial in found.trials
    ]
    return sorted(rows, key=key)


DONE, STOPPED = SERIES[0], SERIES[1]


def last_gain(trial: Trial, defaults: Trial) -> float | None:
    """Return a trial's gain over the defaults where it ended; None before any score."""
    return trial.gain_at(max(trial.marks), defaults) if trial.marks else None


def setting_plot(found: Tuning, name: str) -> str:
    """Draw the gain of all trials over one of their settings."""
    space = found.task.space[name]

    def draw(figure: "Figure") -> None:
        axes = figure.add_subplot()
        values = [_place(space, trial.settings[name]) for trial in found.trials]
        _scatter(axes, found, values)
        axes.axvline(values[0], color=INK, linewidth=1, linestyle=":")
        if isinstance(space, Choice):
            shown = [write_setting(value) for value in space.values]
            axes.set_xticks(range(len(shown)), shown)
            axes.set_xlim(-0.5, len(shown) - 0.5)
        elif space.log:
            axes.set_xscale("log")
        axes.set(xlabel=name, ylabel="gain")

    return page_svg(f"setting {name}", f"Gain of all trials over {name}", (5, 3), draw)


def _place(space: Range | Choice, value: Any) -> float:
    if isinstance(space, Choice):
        return float(space.values.index(value)) if value in space else -0.5
    if value is None:  # left to the data, which may choose another for each fold
        return space.middle
    # a logarithm has no place for a setting that was turned off by hand
    return max(float(value), space.low) if space.log else float(value)


def _scatter(axes: "Axes", found: Tuning, places: list[float]) -> None:
    """Draw a dot to each trial: filled where it was measured on all folds."""
    defaults, chosen = found.trials[0], found.chosen
    axes.axhline(0, color=INK, linewidth=0.8)
    for state, colour, filled in (("done", DONE, True), ("stopped", STOPPED, False)):
        points = [
            (place, gain)
            for place, trial in zip(places, found.trials, strict=True)
            if trial.state == state and (gain := last_gain(trial, defaults)) is not None
        ]
        axes.scatter(
            [place for place, _ in points],
            [gain for _, gain in points],
            s=28,
            facecolors=colour if filled else "none",
            edgecolors=colour,
            label="on all folds" if filled else "stopped early",
        )
    axes.scatter(
        places[chosen.number],
        last_gain(chosen, defaults) or 0.0,
        s=130,
        facecolors="none",
        edgecolors=INK,
        label="chosen",
    )
