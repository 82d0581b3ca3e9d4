"""`fdch reproduce`: the paper's tables and figures for any data."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fdch.cli.shared import options
from fdch.cli.shared.groups import Interrupted
from fdch.cli.shared.options import COUNT, DATA, NAMES, NUMBERS, PATH, POSITIVE, option
from fdch.cli.shared.output import count, note, note_data, say, say_json
from fdch.cli.shared.progress_lines import ProgressPrinter
from fdch.errors import RunError

if TYPE_CHECKING:
    from fdch.data.pairs import PairedSet
    from fdch.reproduction.grid import Grid
    from fdch.reproduction.recipe import Recipe
    from fdch.reproduction.reproduce import Reproduction
    from fdch.reproduction.study import Study

USUAL_MINUTES = 20.0  # of tuning
RECIPES = ("table1", "table2", "figure2", "figure3", "all")


@options.command(
    "reproduce",
    "fdch reproduce table2 --data scenes:200 --methods cmfh,dch --seeds 2 --out new",
)
@click.argument("recipe", type=click.Choice(RECIPES), metavar="|".join(RECIPES))
@option("--data DATA", "Data to train on.", DATA, required=True)
@option(
    "--out DIR",
    "Folder for results; existing results are not computed again.",
    PATH,
    required=True,
)
@option("--bits 16,32", "Code lengths, not the recipe's own.", NUMBERS)
@option("--methods", "Only these methods.", NAMES)
@option("--seeds", "Repetitions to average.", COUNT, default=3)
@option(
    "--set METHOD.KEY=VALUE...",
    "Change a setting; 'fdch*.key=value' for several methods.",
    name="assignments",
)
@option("--workers", "Processes; by cores and memory if not given.", COUNT)
@option("--tuned", "Tune every method first, at each code length.", bool)
@option(
    "--tune-minutes",
    "Time for each method and length, with --tuned.  [default: 20]",
    POSITIVE,
)
@options.sizes
@option("--keep-runs", "Keep every trained run.", bool)
@options.layout
@options.refuse_broken
@options.device
@options.json
def command(
    recipe: str, seeds: int, workers: int | None, as_json: bool, **given: Any
) -> None:
    """Make the paper's tables and figures again, for any data.

    table1: FDCH and its variants. table2: all compared methods. figure2 and
    figure3: precision over recall of hash lookup. Each method, code length and
    seed is one cell of DIR/cells; run the same command to continue. Writes
    DIR/report.html, and tables and figures as CSV, LaTeX, SVG, PDF and PNG.
    """
    from fdch.reproduction.outputs import build_grids, write_outputs
    from fdch.reproduction.reproduce import reproduce

    study, recipes = _plan(recipe, **given)
    try:
        with ProgressPrinter() as progress:
            found = reproduce(
                study,
                recipes,
                range(seeds),
                workers=workers,
                progress=progress,
                announce=_announce,
            )
        grids = build_grids(found)
        files = write_outputs(found, grids)
    except KeyboardInterrupt:
        raise Interrupted(
            f"finished cells are kept in '{study.out}'; continue with the same command."
        ) from None
    if as_json:
        say_json(_describe(found, grids, files))
    else:
        say("\n".join(_show_tables(found, grids, files)))
    if failures := found.failures():
        raise RunError(
            f"{count(len(failures), 'cell')} of {len(found.records)} failed; "
            "the reasons are listed above and in the report."
        )


def _describe(
    found: "Reproduction", grids: "Mapping[str, Grid]", files: Sequence[Path]
) -> dict[str, Any]:
    from fdch.evaluation.tables import Spread
    from fdch.reproduction.grid_tables import score_rows
    from fdch.reproduction.outputs import tuned_rows

    tables = {}
    for name, table in ((name, score_rows(grid)) for name, grid in grids.items()):
        tables[name] = [
            {
                column: asdict(cell) if isinstance(cell, Spread) else cell
                for column, cell in zip(table.header, row, strict=True)
            }
            for row in table.rows
        ]
    return {
        "data": {"name": found.pairs.name, "fingerprint": found.pairs.fingerprint},
        "seeds": list(found.seeds),
        "recipes": [asdict(recipe) for recipe in found.recipes],
        "tables": tables,
        "tuned": tuned_rows(found),
        "cells": {
            cell.name: {"state": one.state, "reason": one.reason, **one.figures}
            for cell, one in found.records.items()
        },
        "ran": [cell.name for cell in found.ran],
        "failed": {cell.name: reason for cell, reason in found.failures().items()},
        "files": [str(path) for path in files],
    }


def _show_tables(
    found: "Reproduction", grids: "Mapping[str, Grid]", files: Sequence[Path]
) -> list[str]:
    """Write the tables, then where everything is."""
    from fdch.reproduction.grid_tables import text_tables

    lines = [f"{table}\n" for grid in grids.values() for table in text_tables(grid)]
    if not grids:
        lines = [f"{cell.name}: {reason}" for cell, reason in found.failures().items()]
    others = ", ".join(path.name for path in files[1:])
    return [
        *lines,
        f"report   {files[0]} (open it in a browser)",
        f"folder   {shlex.quote(str(found.study.out))}: {others}",
    ]


def _announce(pairs: "PairedSet", notes: Sequence[str]) -> None:
    note_data(pairs)
    for text in notes:
        note(f"note: {text}")


def _plan(
    recipe: str,
    data: str,
    bits: list[int] | None,
    methods: list[str] | None,
    assignments: tuple[str, ...],
    tuned: bool,
    tune_minutes: float | None,
    **same: Any,
) -> tuple["Study", list["Recipe"]]:
    if tune_minutes is not None and not tuned:
        raise click.UsageError("--tune-minutes is for --tuned; add it.")
    if same["sizes"] is not None and not same["sizes"].query:
        raise click.UsageError("scores need queries; give --query-pairs 1 or more.")
    from fdch.methods import load
    from fdch.reproduction.recipe import choose
    from fdch.reproduction.study import Study, settings_by_method

    for name in methods or ():
        load(name)  # refuses an unknown one by its name
    recipes = choose(recipe, bits, methods)
    chosen = dict.fromkeys(method for each in recipes for method in each.methods)
    settings = settings_by_method(assignments, list(chosen))
    minutes = (tune_minutes or USUAL_MINUTES) if tuned else None
    return Study(data, settings=settings, tune_minutes=minutes, **same), recipes
