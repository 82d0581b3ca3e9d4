"""`fdch compare`: saved scores in one table."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fdch.cli.shared import options
from fdch.cli.shared.options import option
from fdch.cli.shared.output import note, say, say_json
from fdch.errors import DataError, MissingFile, ProtocolMismatch

if TYPE_CHECKING:
    from fdch.evaluation import Scores

OF_MAP = ("map", "map_stable", "map_best", "map_worst")
OF_RANKS = ("precision_at_1", "precision_at_10", "ndcg_at_10")
OF_PARTNERS = (
    *(f"partner_recall_at_{k}" for k in (1, 10, 50)),
    "partner_median_rank",
)
MEASURES = (*OF_MAP, *OF_RANKS, *OF_PARTNERS)
WANTED = "a run that 'fdch evaluate' has scored, or a file of its --json"
AS_OPTIONS = {
    "over_seeds=True": "--over-seeds",
    "allow_mixed=True": "--mixed-protocols",
}


@options.command("compare", "fdch compare runs/first runs/second")
@click.argument(
    "runs", nargs=-1, required=True, type=options.PathName(), metavar="RUN_OR_SCORES..."
)
@option("--over-seeds", "Average runs of different seeds.", bool)
@option(
    "--mixed-protocols",
    "Allow scores made in different ways; each row then shows its own.",
    bool,
)
@option("--measure", "What to compare.", MEASURES, default="map")
@option(
    "--format", "Of the table.", ["text", "csv", "latex"], name="form", default="text"
)
@options.json
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
    Scores of different data, splits or cut-offs are rejected unless allowed.
    Below the table each method is compared with the first, query by query.
    """
    if as_json and form != "text":
        raise click.UsageError("choose --json or --format, not both.")
    from fdch.evaluation import comparison
    from fdch.evaluation.comparing.paired import paired_differences, paired_table
    from fdch.evaluation.tables import Spread

    scores = [_read_run(path) for path in runs]
    if not over_seeds:
        scores = _name_by_path(scores, runs)
    try:
        table = comparison(
            scores, over_seeds=over_seeds, allow_mixed=mixed_protocols, measure=measure
        )
    except ProtocolMismatch as problem:
        message = str(problem)
        for argument, option in AS_OPTIONS.items():
            message = message.replace(argument, option)
        raise ProtocolMismatch(message) from None
    differences, reasons = paired_differences(scores, measure)
    if as_json:
        rows = [
            [asdict(cell) if isinstance(cell, Spread) else cell for cell in row]
            for row in table.rows
        ]
        document = {"measure": measure, "header": list(table.header), "rows": rows}
        paired = [each.to_json() for each in differences]
        more = {"notes": list(table.notes), "paired": paired, "not_paired": reasons}
        say_json(document | more)
        return
    say(getattr(table, form)().rstrip("\n"))
    if form == "text" and (differences or reasons):
        say(f"\n{paired_table(differences, reasons)}")


def _read_run(path: Path) -> "Scores":
    """Read scores from a run's folder or a file, with scores of single queries."""
    from fdch.evaluation.score_files import QUERIES, SCORES, read_scores, with_queries
    from fdch.runs.run_files import DESCRIPTION

    file = path / SCORES if path.is_dir() else path
    if not file.is_file():
        advice = f"Give {WANTED}, or check the path."
        if (path / DESCRIPTION).is_file():
            advice = f"Score it with 'fdch evaluate {path}'."
        raise MissingFile(f"there are no scores at '{file}'. {advice}")
    try:
        scores = read_scores(file)
    except DataError as problem:
        raise DataError(
            f"'{file}' does not hold the scores that 'fdch evaluate' writes "
            f"({str(problem).rstrip('.')}). Give {WANTED}."
        ) from problem
    if file.name == SCORES and (file.parent / QUERIES).exists():
        try:
            return with_queries(scores, file.parent)
        except DataError as problem:
            note(f"note: {problem}")
    return scores


def _name_by_path(scores: list["Scores"], paths: Sequence[Path]) -> list["Scores"]:
    """Name runs of one method, length and split, such as of other settings, by path."""
    if len({path.resolve() for path in paths}) < len(paths):
        return scores  # one given twice is refused by the table
    keys = [
        (run.method, run.bits, run.protocol.seed, run.protocol.split) for run in scores
    ]
    return [
        replace(run, method=f"{run.method} {path}") if keys.count(key) > 1 else run
        for run, path, key in zip(scores, paths, keys, strict=True)
    ]
