"""All methods at a glance: the mean of both tasks, a row to each method."""

from typing import TYPE_CHECKING

from fdch.evaluation.tables import mean_known
from fdch.report.plots import INK, SERIES, page_svg
from fdch.reproduction.figures import APART
from fdch.reproduction.grid import Grid, Line
from fdch.reproduction.recipe import label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# a shape to each code length, the shortest first
MARKERS = ("o", "s", "D", "^", "v", "P", "X")


def overview_plot(grid: Grid) -> str:
    """Draw the mean mAP of both tasks by gallery, method and length."""
    order = _worst_first(grid)

    def draw(figure: "Figure") -> None:
        count = max(len(grid.sections), 1)
        panels = figure.subplots(
            1, count, sharex=True, sharey=True, squeeze=False, gridspec_kw=APART
        )[0]
        for axes, gallery in zip(panels, grid.sections, strict=False):
            _draw_gallery(axes, grid, gallery, order)
        handles, names = panels[0].get_legend_handles_labels()
        if handles:
            figure.legend(
                handles, names, loc="outside lower center", ncols=len(handles)
            )

    return page_svg(
        f"overview {grid.recipe.name}",
        f"{grid.recipe.title}: mean mAP of both tasks",
        (9.6, 1.1 + 0.27 * len(order)),
        draw,
    )


def _worst_first(grid: Grid) -> list[str]:
    """Order the methods by their best gallery's mean over tasks and lengths."""
    means: dict[str, float] = {}
    for _, line in grid.lines():
        value = _mean(grid, line, None) or 0.0
        means[line.method] = max(value, means.get(line.method, 0.0))
    return sorted(means, key=means.__getitem__)


def _draw_gallery(axes: "Axes", grid: Grid, gallery: str, order: list[str]) -> None:
    for number, bits in enumerate(grid.recipe.bits):
        points = [
            (value, order.index(line.method))
            for line in grid.sections[gallery]
            if (value := _mean(grid, line, bits)) is not None
        ]
        colour = SERIES[number % len(SERIES)]
        axes.plot(
            [value for value, _ in points],
            [row for _, row in points],
            linestyle="none",
            marker=MARKERS[number % len(MARKERS)],
            markersize=6.5,
            color=colour,
            label=f"{bits} bits",
        )
    chance = mean_known(grid.chance[gallery]["map"])
    if chance is not None:
        axes.axvline(chance, color=INK, linewidth=1, linestyle=":", label="chance")
    axes.set_yticks(range(len(order)), [label(method) for method in order])
    axes.set_ylim(-0.6, len(order) - 0.4)
    axes.set_title(f"{gallery} gallery", fontsize=10, loc="left")
    axes.set_xlabel("mean mAP of both tasks")


def _mean(grid: Grid, line: Line, bits: int | None) -> float | None:
    """Return the mean over tasks, and over lengths where none is named."""
    return mean_known(
        entry.measures["map"].mean
        for entry, (_, length) in zip(line.entries, grid.columns, strict=True)
        if entry is not None and bits in (None, length)
    )
