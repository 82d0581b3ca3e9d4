"""How every benchmark runs and prints: one document, as JSON or as lines."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from fdch.cli.shared.output import report
from fdch.cli.shared.progress_lines import ProgressPrinter

MEBIBYTE = 2**20


def run_benchmark(
    measure: Callable[..., dict[str, Any]], as_json: bool, **given: Any
) -> dict[str, Any]:
    """Measure with progress, and print the options and what was measured.

    `measure` takes what is given and `progress`.
    """
    with ProgressPrinter() as progress:
        measured = measure(**given, progress=progress)
    context = click.get_current_context()
    options = {
        name: str(value) if isinstance(value, Path) else value
        for name, value in context.params.items()
        if value is not None and name != "as_json"
    }
    document = {"benchmark": context.info_name, **options, **measured}
    report(document, as_json, *([] if as_json else show_benchmark("", document)))
    return document


def show_benchmark(name: str, value: Any, indent: str = "") -> Iterator[str]:
    """Write the figures of a part of a document in a line, and its other parts below.

    The document itself has no name, and a line for each figure.

    >>> for line in show_benchmark("", {"sides": {"fdch": {"per_second": 9.0}}}):
    ...     print(line)
    sides:
      fdch: per second 9
    """
    named = value.items() if isinstance(value, dict) else enumerate(value, 1)
    parts = [(str(key).replace("_", " "), part) for key, part in named]
    figures = [
        f"{key} {_show(f'{name} {key}', each)}"  # the unit may be in either name
        for key, each in parts
        if _is_figure(each)
    ]
    line = f"{indent}{name}: {', '.join(figures)}".rstrip()
    yield from [line] if name else figures
    for key, part in parts:
        if not _is_figure(part):
            yield from show_benchmark(key, part, indent + "  " * bool(name))


def _is_figure(value: Any) -> bool:
    if isinstance(value, dict):
        return "median" in value or "mean" in value
    return not isinstance(value, list) or not any(isinstance(v, dict) for v in value)


def _show(name: str, value: Any) -> str:
    """Write a figure, a median with the least and the most, or a mean."""
    if isinstance(value, dict) and "min" in value:
        low, middle, high = (_show(name, value[k]) for k in ("min", "median", "max"))
        return middle if low == high else f"{middle} ({low} to {high})"
    if isinstance(value, dict):
        parts = (f"{key} {_show(name, each)}" for key, each in value.items())
        return " / ".join(parts).replace("_", " ")
    if isinstance(value, list):
        return " ".join(_show(name, each) for each in value) or "none"
    if value is None or isinstance(value, bool):
        return {None: "-", True: "yes", False: "no"}[value]
    if isinstance(value, str):
        return value
    if "bytes" in name and value >= MEBIBYTE:
        return f"{value / MEBIBYTE:,.0f} MiB"
    if "seconds" in name and "milli" not in name and "micro" not in name:
        return f"{value:.3g} s" if value >= 1 else f"{1000 * value:.3g} ms"
    if isinstance(value, float) and abs(value) < 1000:
        return f"{value:.3g}"
    return f"{value:,.0f}"
