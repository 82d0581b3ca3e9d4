"""How every benchmark runs and prints: one document, as JSON or as tables."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from fdch.cli.shared.output import lay_out, report
from fdch.cli.shared.progress_lines import ProgressPrinter

MEBIBYTE = 2**20


def run_benchmark(
    measure: Callable[..., dict[str, Any]],
    as_json: bool,
    columns: Mapping[str, str] | None = None,
    **given: Any,
) -> dict[str, Any]:
    """Measure with progress, and print the options and what was measured.

    `measure` takes what is given and `progress`. The document is printed as JSON or
    as tables with these columns; see `show_benchmark`.
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
    report(document, as_json, "" if as_json else show_benchmark(document, columns))
    return document


def show_benchmark(
    document: Mapping[str, Any], columns: Mapping[str, str] | None = None
) -> str:
    """Lay out a document: its single figures, then a table for each list of cases.

    By the title of a table, `columns` has those to show, separated by spaces; other
    tables are shown whole.

    >>> print(show_benchmark({"sides": {"fdch": {"per_second": 9.0, "errors": 0}}}))
    sides  per second  errors
    fdch   9           0
    """
    facts: list[tuple[str, str]] = []
    tables: list[str] = []
    _collect(document, "", columns or {}, facts, tables)
    first = [lay_out(("figure", "value"), facts)] if facts else []
    return "\n\n".join([*first, *tables])


def _collect(
    document: Mapping[str, Any],
    place: str,
    columns: Mapping[str, str],
    facts: list[tuple[str, str]],
    tables: list[str],
) -> None:
    for name, value in document.items():
        title = f"{place}{_words(name)}"
        if _is_figure(value):
            facts.append((title, _show(title, value)))
        elif _holds_cases(value):
            tables += _tables(title, list(_name_cases(value)), columns)
        else:
            _collect(value, f"{title}, ", columns, facts, tables)


def _tables(
    title: str, cases: list[tuple[str, dict[str, Any]]], columns: Mapping[str, str]
) -> Iterator[str]:
    """Lay out cases, a row each; then the cases inside them, with both names."""
    rows: list[dict[str, str]] = []
    inner: dict[str, list[tuple[str, dict[str, Any]]]] = defaultdict(list)
    for name, case in cases:
        rows.append({title: name, **dict(_flatten(case))})
        for part, value in case.items():
            if not _is_figure(value) and _holds_cases(value):
                more = _name_cases(value)
                inner[part] += [(f"{name}, {each}", one) for each, one in more]
    found = dict.fromkeys(name for row in rows for name in row)
    wanted = [title, *map(_words, columns.get(title, "").split())]
    shown = [name for name in wanted if name in found] if wanted[1:] else list(found)
    yield lay_out(shown, [[row.get(name, "-") for name in shown] for row in rows])
    for part, cases_inside in inner.items():
        yield from _tables(f"{title}, {_words(part)}", cases_inside, columns)


def _flatten(case: Mapping[str, Any], place: str = "") -> Iterator[tuple[str, str]]:
    for name, value in case.items():
        title = f"{place}{_words(name)}"
        if _is_figure(value):
            yield title, _show(title, value)
        elif not _holds_cases(value) or place:
            yield from _flatten(value, f"{title} ")


def _holds_cases(value: Any) -> bool:
    """Return whether each entry is a case with figures of its own."""
    entries = value.values() if isinstance(value, dict) else value
    return all(
        isinstance(case, dict)
        and not _is_figure(case)
        and any(map(_is_figure, case.values()))
        for case in entries
    )


def _name_cases(value: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    named = value.items() if isinstance(value, dict) else enumerate(value, 1)
    return ((_words(str(name)), case) for name, case in named)


def _is_figure(value: Any) -> bool:
    if isinstance(value, dict):
        return {"median", "min", "max"} <= value.keys() or "mean" in value
    return not isinstance(value, list) or not any(isinstance(v, dict) for v in value)


def _show(title: str, value: Any) -> str:
    """Write a figure, a median with the least and the most, or a mean."""
    if isinstance(value, dict) and "median" in value:
        figures = (value[name] for name in ("median", "min", "max"))
        middle, low, high = (_show(title, figure) for figure in figures)
        return middle if low == high else f"{middle} ({low} to {high})"
    if isinstance(value, dict):
        return f"{value['mean']:.3f} ± {value['standard_error']:.3f}"
    if isinstance(value, list):
        return ", ".join(_show(title, each) for each in value) or "none"
    if value is None or isinstance(value, bool):
        return {None: "-", True: "yes", False: "no"}[value]
    if isinstance(value, str):
        return value
    if "bytes" in title and value >= MEBIBYTE:
        return f"{value / MEBIBYTE:,.0f} MiB"
    if "seconds" in title and "milli" not in title and "micro" not in title:
        return f"{value:.3g} s" if value >= 1 else f"{1000 * value:.3g} ms"
    if isinstance(value, float) and abs(value) < 1000:
        return f"{value:.3g}"
    return f"{value:,.0f}"


def _words(name: str) -> str:
    return name.replace("_", " ")
