"""What the shallow methods cost: time, memory, and how time grows with pairs."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fdch import methods
from fdch.bench.learning.workload import Workload
from fdch.errors import SettingError
from fdch.files import write_whole
from fdch.methods._deep import DeepMethod
from fdch.progress import Progress, Update, silent
from fdch.report.plots import open_figure
from fdch.reproduction.figures import FILE_STYLE, FORMATS, style_of
from fdch.reproduction.recipe import label

if TYPE_CHECKING:
    from matplotlib.figure import Figure

IN_FULL = ("lssh",)  # its lassos make it the slowest: it encodes all pairs
SAMPLE = 8192
MEASURE = (sys.executable, "-m", "fdch.bench.learning.method_cost")


@dataclass(frozen=True)
class Sizes:
    """What is measured: pairs to fit on and to encode, further numbers to fit on.

    Methods that encode fewer than `encode_pairs` have their times scaled up; the
    default is the database of NUS-WIDE.
    """

    pairs: int = 5000
    bits: int = 64
    encode_pairs: int = 184_577
    scaling: Sequence[int] = ()
    workload: Workload = field(default_factory=Workload)


def shallow_methods() -> list[str]:
    """List the methods that train no network."""
    names = methods.names()
    return [name for name in names if not issubclass(methods.load(name), DeepMethod)]


def methods_benchmark(
    sizes: Sizes, chosen: Sequence[str] | None = None, progress: Progress = silent
) -> dict[str, Any]:
    """Measure methods, all shallow ones if none are chosen, each in its own process."""
    names = shallow_methods() if chosen is None else list(chosen)
    for name in names:
        methods.load(name)  # refuses unknown ones before any work
    numbers = sorted({sizes.pairs, *sizes.scaling})
    tasks = [(name, number) for name in names for number in numbers]
    found: dict[str, dict[int, dict[str, Any]]] = {name: {} for name in names}
    progress(Update("methods", 0, len(tasks), "measurement"))
    for done, (name, number) in enumerate(tasks, start=1):
        found[name][number] = _measure(name, number, sizes)
        progress(Update("methods", done, len(tasks), "measurement"))
    return {
        "benchmark": "methods",
        "pairs": sizes.pairs,
        "bits": sizes.bits,
        "encode_pairs": sizes.encode_pairs,
        **asdict(sizes.workload),
        "methods": {name: _describe(found[name], sizes) for name in names},
    }


def exponent(seconds: Mapping[int, float]) -> float | None:
    """Fit seconds = c · pairs^e to several measurements and give e.

    >>> round(exponent({1000: 1.0, 2000: 4.0, 4000: 16.0}), 3)
    2.0
    """
    if len(seconds) < 2:
        return None
    logs = np.log(list(seconds)), np.log(list(seconds.values()))
    return float(np.polyfit(*logs, 1)[0])


def _measure(name: str, number: int, sizes: Sizes) -> dict[str, Any]:
    task = {
        "method": name,
        "bits": sizes.bits,
        "pairs": number,
        "workload": asdict(sizes.workload),
    }
    if number == sizes.pairs:
        some = min(SAMPLE, sizes.encode_pairs)
        encode = sizes.encode_pairs if name in IN_FULL else some
        task |= {"encode": encode, "sample": some}
    ended = subprocess.run(
        [*MEASURE, json.dumps(task)],
        stdout=subprocess.PIPE,
        env={"OMP_WAIT_POLICY": "passive", **os.environ},
        check=False,
    )
    if ended.returncode:
        return {"failed": f"its process ended with exit code {ended.returncode}."}
    figures: dict[str, Any] = json.loads(ended.stdout)
    return figures


def _describe(found: Mapping[int, dict[str, Any]], sizes: Sizes) -> dict[str, Any]:
    """Join the measurements of a method."""
    main = dict(found[sizes.pairs])
    if (encoding := main.get("encoding")) is not None:
        for side in encoding["sides"].values():
            side["pairs_per_second"] = side["pairs"] / max(side["seconds"], 1e-9)
        encoding["is_scaled"] = encoding["pairs"] < sizes.encode_pairs
        scale = sizes.encode_pairs / encoding["pairs"]
        encoding["seconds_for_all"] = encoding["seconds"] * scale
    scaling: dict[str, Any] = {
        key: {str(number): one[key] for number, one in found.items() if key in one}
        for key in ("fit_seconds", "peak_memory_bytes")
    }
    fits = {int(number): time for number, time in scaling["fit_seconds"].items()}
    return {**main, "scaling": {**scaling, "exponent": exponent(fits)}}


def write_plot(path: Path, draw: Callable[["Figure"], None]) -> None:
    """Draw a figure into a file, as SVG, PDF or PNG by the ending."""
    form = plot_format(path)
    with open_figure("scaling", (6.6, 4.2), FILE_STYLE) as figure:
        draw(figure)
        write_whole(
            path,
            lambda partial: figure.savefig(partial, format=form, **FORMATS[form]),
        )


def plot_format(path: Path) -> str:
    """Return the format that a file's ending names; refuse others."""
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
        scaling = found["scaling"]
        numbers = [int(number) for number in scaling["fit_seconds"]]
        if not numbers:
            continue
        ticks |= set(numbers)
        marker, dashes, colour, is_filled = style_of(method)
        grown = scaling["exponent"]
        growth = "" if grown is None else f"  n$^{{{grown:.1f}}}$"
        axes.plot(
            numbers,
            list(scaling["fit_seconds"].values()),
            color=colour,
            linestyle=dashes,
            linewidth=1.4,
            marker=marker,
            markersize=5.5,
            markerfacecolor=colour if is_filled else "none",
            label=f"{label(method)}{growth}",
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
