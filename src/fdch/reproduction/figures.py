"""Figures as in the paper: curves differ by line and marker, not by colour alone."""

import io
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fdch.report.plots import INK, PAGE_COLOURS, open_figure, page_svg
from fdch.reproduction.curves import Panel, Point
from fdch.reproduction.recipe import label

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
ON_WHITE = "#222222"
PANEL_INCHES = (3.7, 2.7)
MIN_RECALL = 0.01
FIRST_MARKER, MARKER_STEP, MARKER_TURNS = 0.06, 0.16, 8  # in recall
APART = {"wspace": 0.06}  # keeps the last tick of a panel off the next one's first
LEGEND_COLUMNS = 6
HANDLE = 3.0  # long enough for dashes to show on both sides of the marker
ON_PAGE = 1.25  # a page is wider than a sheet of paper


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


def figure_on_page(name: str, caption: str, panels: Sequence[Panel]) -> str:
    """Draw a figure as part of a page, in the colours that the page has for methods."""
    methods = _methods(panels)
    stand_ins = {method: f"#0a0c{i:02x}" for i, method in enumerate(methods)}
    colours = dict(PAGE_COLOURS)
    for method, stand_in in stand_ins.items():
        named = method if method in STYLES else "other"
        colours[stand_in] = f"var(--method-{named})"
    width, height = figure_inches(panels)
    return page_svg(
        name,
        caption,
        (ON_PAGE * width, ON_PAGE * height),
        lambda figure: draw_panels(figure, panels, stand_ins, INK),
        colours,
    )


def page_colours() -> dict[str, str]:
    """Return the colours of all methods, to be declared by a page."""
    named = {name: style[2] for name, style in STYLES.items()}
    return named | {"other": OTHERS[2]}


def figure_inches(panels: Sequence[Panel]) -> tuple[float, float]:
    """Return width and height of panels in two columns, with a legend below."""
    rows = math.ceil(len(panels) / 2)
    legend = 0.25 * math.ceil((len(_methods(panels)) + 1) / LEGEND_COLUMNS)
    return 2 * PANEL_INCHES[0], rows * PANEL_INCHES[1] + legend + 0.1


def draw_panels(
    figure: "Figure",
    panels: Sequence[Panel],
    colours: Mapping[str, str] | None = None,
    ink: str = ON_WHITE,
) -> None:
    """Draw all panels with one legend for all, in other colours than on white."""
    rows = math.ceil(len(panels) / 2)
    axes = figure.subplots(
        rows, 2, sharex=True, sharey=True, squeeze=False, gridspec_kw=APART
    ).flat
    low, high = _range(panels)
    for part, panel in zip(axes, panels, strict=False):
        for number, (method, points) in enumerate(panel.curves.items()):
            colour = colours[method] if colours else style_of(method)[2]
            _draw_curve(part, method, points, choose_markers(points, number), colour)
        if panel.chance is not None:
            part.axhline(
                panel.chance,
                color=ink,
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
    axes: "Axes", method: str, points: Sequence[Point], marked: list[int], colour: str
) -> None:
    marker, dashes, _, is_filled = style_of(method)
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
        markevery=marked,
        zorder=4 if leads else 3,
        label=label(method),
    )


def choose_markers(points: Sequence[Point], number: int) -> list[int]:
    """Choose the points that get a marker: those nearest to every so much recall.

    Each curve begins elsewhere, by its number, so that markers of curves that run
    together do not hide each other; none is placed where all curves meet.
    """
    first = FIRST_MARKER + MARKER_STEP * (number % MARKER_TURNS) / MARKER_TURNS
    wanted = [first + MARKER_STEP * i for i in range(int(1 / MARKER_STEP) + 1)]
    found = (
        min(range(len(points)), key=lambda i: abs(points[i][0] - recall))
        for recall in wanted
        if recall < 1
    )
    return sorted(set(found)) if points else []


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
