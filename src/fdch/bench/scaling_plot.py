"""Cost against the number of pairs, both axes in powers of ten."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fdch.errors import MissingExtra, SettingError
from fdch.files import write_whole
from fdch.reproduction.figures import FILE_STYLE, FORMATS, style_of
from fdch.reproduction.recipe import label

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write_scaling_plot(path: Path, result: dict[str, Any]) -> None:
    """Draw what a benchmark of methods found, as SVG, PDF or PNG by the ending."""
    form = plot_format(path)
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as problem:
        raise MissingExtra("drawing figures", "report") from problem
    with matplotlib.rc_context({**FILE_STYLE, "svg.hashsalt": "fdch scaling"}):
        figure = Figure(figsize=(6.6, 4.2), layout="constrained")
        draw_scaling(figure, result)
        write_whole(
            path,
            lambda partial: figure.savefig(partial, format=form, **FORMATS[form]),
        )


def plot_format(path: Path) -> str:
    """Give the format that a file's ending names; refuse others."""
    form = path.suffix.lower().removeprefix(".")
    if form not in FORMATS:
        raise SettingError(
            f"plots are written as {', '.join(f'.{known}' for known in FORMATS)}; "
            f"'{path.name}' ends otherwise."
        )
    return form


def draw_scaling(figure: "Figure", result: dict[str, Any]) -> None:
    """Draw seconds of fitting over pairs, a line to each method."""
    axes = figure.add_subplot()
    ticks: set[int] = set()
    for method, found in result["methods"].items():
        seconds = {
            int(number): value
            for number, value in found["scaling"]["fit_seconds"].items()
        }
        if not seconds:
            continue
        ticks |= set(seconds)
        marker, dashes, colour, is_filled = style_of(method)
        grown = found["scaling"]["exponent"]
        told = "" if grown is None else f"  n$^{{{grown:.1f}}}$"
        axes.plot(
            list(seconds),
            list(seconds.values()),
            color=colour,
            linestyle=dashes,
            linewidth=1.4,
            marker=marker,
            markersize=5.5,
            markerfacecolor=colour if is_filled else "none",
            label=f"{label(method)}{told}",
        )
    axes.set(xscale="log", yscale="log")
    axes.set(xlabel="training pairs, n", ylabel="seconds to fit")
    axes.set_xticks(sorted(ticks), [f"{tick:,}" for tick in sorted(ticks)])
    axes.minorticks_off()
    axes.set_title(
        f"{result['image_width']:,} image features, {result['words']:,} words, "
        f"{result['bits']} bits",
        fontsize=10,
    )
    if ticks:
        figure.legend(loc="outside right center")
