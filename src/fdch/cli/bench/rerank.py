"""`fdch bench rerank`: what re-ranking adds, and whether probabilities hold."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fdch.cli.shared.options import PathName, device_option, example, json_option
from fdch.cli.shared.output import say, say_json
from fdch.cli.shared.progress_lines import ProgressPrinter
from fdch.cli.shared.values import count_option, seed_option

if TYPE_CHECKING:
    from fdch.evaluation.tables import Table


@click.command("rerank", epilog=example("fdch bench rerank runs/first"))
@click.argument("run", type=PathName())
@count_option("--queries", default=500, help="Pairs used as queries.")
@seed_option("Of their choice.")
@device_option
@json_option
def command(run: Path, queries: int, seed: int, device: str, as_json: bool) -> None:
    """Measure what re-ranking adds, and whether probabilities hold.

    Queries and gallery are pairs of the run's data that were used neither for
    training nor for validation nor as test queries.
    """
    from fdch.bench.search_quality import search_quality
    from fdch.runs.run import open_run
    from fdch.training.context import Context

    with ProgressPrinter() as progress:
        context = Context(progress, device)
        result = search_quality(open_run(run, context), queries, seed, context)
    if as_json:
        say_json(result)
    else:
        say(table(result))


def table(result: dict[str, Any]) -> "Table":
    """Lay the result out for a terminal."""
    from fdch.evaluation.tables import Table

    names = {"plain": "", "reranked": "re-ranked"}
    rows = tuple(
        (turn.replace("_to_", " → ") if way == "plain" else "", name, *found.values())
        for turn, ways in result["turns"].items()
        for (way, name), found in zip(names.items(), ways.values(), strict=True)
    )
    chances = result["chance"].values()
    notes = (
        f"{result['method']}, {result['bits']} bits, model {result['model'][:12]}; "
        f"{result['queries']:,} queries, {result['gallery']:,} items, none of them "
        f"seen in training; chance {' and '.join(map('{:.4f}'.format, chances))}",
        "said: mean probability of the first 10, to be compared with their precision",
    )
    header = ("", "", "precision@10", "mAP@100", "said", "calibration error")
    return Table(header, rows, notes)
