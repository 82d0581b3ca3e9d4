"""Figures as in the paper: lookup curves, a panel to each code length and task.

Curves differ by line and marker, not by colour alone.
"""

import io
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from fdch.evaluation import DIRECTIONS, LookupCurve
from fdch.evaluation.tables import mean_known
from fdch.report.plots import open_figure
from fdch.reproduction.grid import usual_gallery
from fdch.reproduction.recipe import Recipe, label
from fdch.reproduction.reproduce import Reproduction

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SOLID, DASHED, DOTTED, MIXED = "-", (0, (5, 2)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5))
# marker, dashes, colour on white, and whether the marker is filled
STYLES: Mapping[str, tuple[str, Any, str, bool]] = {
    "imh": ("x", DOTTED, "#7d7d7d", True),
    "lcmh": ("+", DASHED, "#7d7d7d", True),
    "cmfh": ("o", DOTTED, "#5b9bd5", False),
    "lssh": ("s", DOTTED, "#1f5fa8", False),
    "dch": ("v", DASHED, "#4aa564", False),
    "scm_orth": ("<", MIXED, "#b59b00", False),
    "scm_seq": (">", MIXED, "#8f6a00", True),
    "seph_km": ("D", SOLID, "#1d7d5a", True),
    "dcmh": ("^", DASHED, "#d9730d", True),
    "prdh": ("P", MIXED, "#a34fb5", True),
    "ucch": ("d", DOTTED, "#00808a", True),
    "dsph": ("*", DASHED, "#6a51a3", True),
    "mith": ("h", SOLID, "#4b5fd1", True),
    "fdch": ("o", SOLID, "#c8102e", True),
    "fdch_i": ("s", DASHED, "#e0526a", True),
    "fdch_ii": ("X", DOTTED, "#8e1527", True),
}
OTHERS = ("p", MIXED, "#444444", False)
LEADING = "fdch"
FILE_STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.edgecolor": "#555555",
    "axes.linewidth": 0.7,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "legend.frameon": False,
    "savefig.facecolor": "white",
    "figure.facecolor": "white",
    "pdf.fonttype": 42,  # text that can be searched and copied
    "xtick.major.size": 2,
    "ytick.major.size": 2,
}
FORMATS: dict[str, dict[str, Any]] = {
    "svg": {"metadata": {"Date": None, "Creator": None}},
    "pdf": {"metadata": {"CreationDate": None, "Creator": None, "Producer": None}},
    "png": {"metadata": {"Software": None}, "dpi": 200},
}
INK = "#222222"
PANEL_INCHES = (3.7, 2.7)
MIN_RECALL = 0.01
MARKER_STEP, MARKER_TURNS = 0.12, 8  # a share of the panel's diagonal
APART = {"wspace": 0.06}  # keeps the last tick of a panel off the next one's first
LEGEND_COLUMNS = 6
HANDLE = 3.0  # long enough for dashes to show on both sides of the marker
Point = tuple[float, float]


@dataclass(frozen=True)
class Panel:
    """The curves of all methods at one length, for one task."""

    bits: int
    direction: str  # the task, such as "image_to_text"
    curves: dict[str, tuple[Point, ...]]  # by method; means over seeds
    chance: float | None  # precision of random codes

    @property
    def title(self) -> str:
        """The title above the panel."""
        return f"{DIRECTIONS[self.direction]}, {self.bits} bits"


def panels_of(
    recipe: Recipe, found: Reproduction, gallery: str | None = None
) -> list[Panel]:
    """Gather the curves of a figure; without a gallery, of that the authors search."""
    panels = []
    for bits, direction in product(recipe.bits, DIRECTIONS):
        lookups = {}
        for method in recipe.methods:
            searched = gallery or usual_gallery(method)
            runs = [run.scores[searched] for run in found.scores(method, bits)]
            lookups[method] = [run[direction].lookup for run in runs]
        curves = {name: mean_curve(each) for name, each in lookups.items() if each}
        chance = mean_known(curve.chance for each in lookups.values() for curve in each)
        panels.append(Panel(bits, direction, curves, chance))
    return panels


def mean_curve(curves: list[LookupCurve]) -> tuple[Point, ...]:
    """Average curves radius by radius; a radius that fetches nothing has no point."""
    points = []
    for radius in curves[0].radius:
        precisions = [
            precision
            for curve in curves
            if (precision := curve.precision[radius]) is not None
        ]
        if precisions:
            recall = statistics.fmean(curve.recall[radius] for curve in curves)
            points.append((recall, statistics.fmean(precisions)))
    return tuple(points)


def style_of(method: str) -> tuple[str, Any, str, bool]:
    """Return marker, dashes, colour and filling of a method's curve."""
    return STYLES.get(method, OTHERS)


def figure_files(panels: Sequence[Panel]) -> dict[str, bytes]:
    """Draw a figure as the contents of an SVG, a PDF and a PNG file."""
    contents = {}
    with open_figure("figure", figure_inches(panels), FILE_STYLE) as figure:
        draw_panels(figure, panels)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # places are found, once for all files
        for form, options in FORMATS.items():
            written = io.BytesIO()
            figure.savefig(written, format=form, **options)
            contents[form] = written.getvalue()
    return contents


def figure_inches(panels: Sequence[Panel]) -> tuple[float, float]:
    """Return width and height of panels in two columns, with a legend below."""
    rows = math.ceil(len(panels) / 2)
    legend = 0.25 * math.ceil((len(_methods(panels)) + 1) / LEGEND_COLUMNS)
    return 2 * PANEL_INCHES[0], rows * PANEL_INCHES[1] + legend + 0.1


def draw_panels(figure: "Figure", panels: Sequence[Panel]) -> None:
    """Draw all panels with one legend for all."""
    rows = math.ceil(len(panels) / 2)
    axes = figure.subplots(
        rows, 2, sharex=True, sharey=True, squeeze=False, gridspec_kw=APART
    ).flat
    low, high = _range(panels)
    for part, panel in zip(axes, panels, strict=False):
        for number, (method, points) in enumerate(panel.curves.items()):
            _draw_curve(part, method, points, number)
        if panel.chance is not None:
            part.axhline(
                panel.chance,
                color=INK,
                linewidth=0.9,
                linestyle=(0, (2, 3)),
                label="chance",
            )
        part.set(xlim=(-0.01, 1.01), ylim=(low, high))
        part.set_title(panel.title, fontsize=10)
        part.label_outer()
    for part in figure.axes[-2:]:
        part.set_xlabel("recall")
    for part in figure.axes[::2]:
        part.set_ylabel("precision")
    named: dict[str, Any] = {}
    for part in figure.axes:
        handles, names = part.get_legend_handles_labels()
        named |= dict(zip(names, handles, strict=True))
    if "chance" in named:  # last, whatever the panels have
        named["chance"] = named.pop("chance")
    if named:
        figure.legend(
            named.values(),
            named.keys(),
            loc="outside lower center",
            ncols=min(len(named), LEGEND_COLUMNS),
            handlelength=HANDLE,
        )


def _draw_curve(
    axes: "Axes", method: str, points: Sequence[Point], number: int
) -> None:
    """Draw a curve; each begins its markers elsewhere, so that none hide others."""
    first = MARKER_STEP * (number % MARKER_TURNS) / MARKER_TURNS
    marker, dashes, colour, is_filled = style_of(method)
    leads = method == LEADING
    axes.plot(
        [recall for recall, _ in points],
        [precision for _, precision in points],
        color=colour,
        linestyle=dashes,
        linewidth=2.0 if leads else 1.2,
        marker=marker,
        markersize=5.5 if leads else 4.8,
        markerfacecolor=colour if is_filled else "none",
        markeredgecolor=colour,
        markeredgewidth=1.0,
        markevery=(first, MARKER_STEP),
        zorder=4 if leads else 3,
        label=label(method),
    )


def _range(panels: Sequence[Panel]) -> tuple[float, float]:
    """Return the precisions to show: no more empty room than a tenth.

    Where next to nothing is fetched, precision is noise and may leave the panel.
    """
    values = [
        precision
        for panel in panels
        for points in panel.curves.values()
        for recall, precision in points
        if recall >= MIN_RECALL
    ]
    values += [panel.chance for panel in panels if panel.chance is not None]
    if not values:
        return 0.0, 1.02
    low = math.floor(10 * min(values) - 0.2) / 10
    high = math.ceil(10 * max(values) + 0.1) / 10
    return max(0.0, low), 1.02 if high >= 1 else high


def _methods(panels: Sequence[Panel]) -> list[str]:
    return list(dict.fromkeys(name for panel in panels for name in panel.curves))
