"""`fdch compare`: saved scores in one table."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fdch.cli.options import (
    PathName,
    example,
    json_option,
)
from fdch.cli.output import say, say_json
from fdch.errors import DataError, MissingFile, ProtocolMismatch

if TYPE_CHECKING:
    from fdch.evaluation import Scores
    from fdch.evaluation.tables import Table

MEASURES = ("map", "map_stable", "map_best", "map_worst")
WANTED = "a run that 'fdch evaluate' has scored, or a file of its --json"
MOST_BYTES = 64 * 2**20
AS_OPTIONS = {
    "over_seeds=True": "--over-seeds",
    "allow_mixed=True": "--mixed-protocols",
}


@click.command("compare", epilog=example("fdch compare runs/first"))
@click.argument(
    "runs",
    nargs=-1,
    required=True,
    type=PathName(),
    metavar="RUN_OR_SCORES...",
)
@click.option("--over-seeds", is_flag=True, help="Average runs of different seeds.")
@click.option(
    "--mixed-protocols",
    is_flag=True,
    help="Allow scores made in different ways; each row then tells its own.",
)
@click.option(
    "--measure", type=click.Choice(MEASURES), default="map", show_default=True
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "csv", "latex"]),
    default="text",
    show_default=True,
)
@json_option
def command(
    runs: tuple[Path, ...],
    over_seeds: bool,
    mixed_protocols: bool,
    measure: str,
    form: str,
    as_json: bool,
) -> None:
    """Put the scores of several runs side by side.

    Takes run folders that 'fdch evaluate' has scored, or files of its JSON.
    Scores of different data, splits or cut-offs are refused unless asked for.
    """
    if as_json and form != "text":
        raise click.UsageError("choose --json or --format, not both.")
    from fdch.evaluation import comparison

    scores = [read_scores(path) for path in runs]
    try:
        table = comparison(
            scores,
            over_seeds=over_seeds,
            allow_mixed=mixed_protocols,
            measure=measure,
        )
    except ProtocolMismatch as problem:
        raise ProtocolMismatch(_in_options(str(problem))) from None
    if as_json:
        say_json(describe(table, measure))
    else:
        say(getattr(table, form)().rstrip("\n"))


def read_scores(path: Path) -> "Scores":
    """Read scores from a run's folder or a file."""
    from fdch.evaluation import Scores
    from fdch.run_files import DESCRIPTION, SCORES

    file = path / SCORES if path.is_dir() else path
    if not file.is_file():
        advice = f"Give {WANTED}, or check the path."
        if (path / DESCRIPTION).is_file():
            advice = f"Score it with 'fdch evaluate {path}'."
        raise MissingFile(f"there are no scores at '{file}'. {advice}")
    if file.stat().st_size > MOST_BYTES:
        raise DataError(f"'{file}' is over {MOST_BYTES:,} bytes; no scores are.")
    try:
        return Scores.from_json(json.loads(file.read_text("utf-8")))
    except (ValueError, RecursionError, DataError) as problem:
        raise DataError(
            f"'{file}' does not hold the scores that 'fdch evaluate' writes "
            f"({str(problem).rstrip('.')}). Give {WANTED}."
        ) from problem


def describe(table: "Table", measure: str) -> dict[str, Any]:
    """Give the document of `--json`."""
    from fdch.evaluation.tables import Spread

    return {
        "measure": measure,
        "header": list(table.header),
        "rows": [
            [asdict(cell) if isinstance(cell, Spread) else cell for cell in row]
            for row in table.rows
        ],
        "notes": list(table.notes),
    }


def _in_options(message: str) -> str:
    """Name the options of this command in place of Python's arguments."""
    for argument, option in AS_OPTIONS.items():
        message = message.replace(argument, option)
    return message
