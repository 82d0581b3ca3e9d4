"""Plots as SVG that sits inside a page and takes its colours and font."""

import io
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fdch.errors import MissingExtra
from fdch.evaluation import DIRECTIONS, Scores
from fdch.evaluation.calibration.reliability import Reliability
from fdch.evaluation.measures import flatten
from fdch.evaluation.tables import mean_known

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# stand-ins that become the page's own colours, light or dark
INK, LINE = "#0a0b0c", "#0a0b0d"
SERIES = ("#0a0b01", "#0a0b02", "#0a0b03")
PAGE_COLOURS = {
    INK: "currentColor",
    LINE: "var(--line)",
    **{stand_in: f"var(--series-{i})" for i, stand_in in enumerate(SERIES, start=1)},
}
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": LINE,
    "axes.labelcolor": INK,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    "figure.facecolor": "none",
    "legend.frameon": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "xtick.minor.size": 0,
}
_DASHES = {"modality": "--", "unified": "-"}


def lookup_plot(scores: Scores) -> str:
    """Draw precision over recall, a dot to each radius."""

    def draw(figure: "Figure") -> None:
        axes = figure.add_subplot()
        for gallery, direction, part in flatten(scores.scores):
            curve = part.lookup
            points = zip(curve.recall, curve.precision, strict=True)
            known = [point for point in points if point[1] is not None]
            _line(axes, known, gallery, direction)
        level = mean_known(part.lookup.chance for *_, part in flatten(scores.scores))
        if level is not None:
            axes.axhline(level, color=INK, linewidth=1, linestyle=":", label="chance")
        axes.set(xlabel="recall", ylabel="precision", xlim=(0, 1.01), ylim=(0, 1.02))
        axes.legend(loc="lower left", fontsize=9)

    return page_svg("lookup", "Precision over recall of hash lookup", (5.0, 3.6), draw)


def reliability_plot(
    reliability: Mapping[str, Mapping[str, Reliability]], by_lists: bool = False
) -> str:
    """Draw the share of relevant results over the stated probability.

    A point stands for results that are about as probable, or for lists of results.
    """

    def draw(figure: "Figure") -> None:
        axes = figure.add_subplot()
        axes.plot((0, 1), (0, 1), color=INK, linewidth=1, linestyle=":", label="exact")
        for gallery, direction, part in flatten(reliability):
            points = part.lists if by_lists else part.curve
            _line(axes, [point[:2] for point in points], gallery, direction)
        axes.set(xlabel="stated probability", ylabel="share relevant")
        axes.set(xlim=(0, 1.02), ylim=(0, 1.02))
        axes.legend(loc="upper left", fontsize=9)

    name = "lists" if by_lists else "reliability"
    label = "Share of relevant results over their stated probability"
    return page_svg(
        name, f"{label}, by queries" if by_lists else label, (5.0, 3.6), draw
    )


def _line(axes: "Axes", points: Any, gallery: str, direction: str) -> None:
    x, y = zip(*points, strict=True)
    axes.plot(
        x,
        y,
        color=SERIES[list(DIRECTIONS).index(direction)],
        linestyle=_DASHES[gallery],
        linewidth=1.8,
        marker="o",
        markersize=3,
        label=f"{DIRECTIONS[direction]}, {gallery}",
    )


@contextmanager
def open_figure(
    name: str, inches: tuple[float, float], style: Mapping[Any, Any]
) -> Iterator["Figure"]:
    """Make a figure to draw on and to save, in a style of its own."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as problem:
        raise MissingExtra("drawing figures", "report") from problem
    # the salt makes names inside the drawing the same at every run
    with matplotlib.rc_context({**style, "svg.hashsalt": f"fdch {name}"}):
        yield Figure(figsize=inches, layout="constrained")


def page_svg(
    name: str, label: str, inches: tuple[float, float], draw: Callable[["Figure"], None]
) -> str:
    """Draw a figure and make it part of a page: no fixed size, no fixed colours.

    The name is unique on the page, the label for those who cannot see the figure.
    Inches set its shape and the relative size of its text.
    """
    written = io.StringIO()
    with open_figure(name, inches, _STYLE) as figure:
        draw(figure)
        metadata = {"Date": None, "Creator": None}
        figure.savefig(written, format="svg", metadata=metadata)
    svg = inline_svg(written.getvalue(), label)
    for stand_in, colour in PAGE_COLOURS.items():
        svg = svg.replace(stand_in, colour)
    return svg


def inline_svg(svg: str, label: str) -> str:
    """Make a drawing from a file part of a page."""
    svg = svg[svg.index("<svg") :]
    for size in ("width", "height"):
        svg = re.sub(rf'(<svg[^>]*?) {size}="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
