"""`fdch evaluate`: the scores of a run, as a table, JSON and a page."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fdch.cli.shared.options import (
    DataName,
    PathName,
    broken_option,
    device_option,
    example,
    file_option,
    json_option,
)
from fdch.cli.shared.output import count, note, require_place, say, say_json
from fdch.cli.shared.progress_lines import ProgressPrinter
from fdch.errors import RunError

if TYPE_CHECKING:
    from fdch.evaluation import Scores
    from fdch.evaluation.tables import Table
    from fdch.runs.method_scores import Evaluation
    from fdch.runs.run import Run

GALLERIES = {
    "both": ("modality", "unified"),
    "modality": ("modality",),
    "unified": ("unified",),
}


@click.command(
    "evaluate", epilog=example("fdch evaluate runs/first --report report.html")
)
@click.argument("run", type=PathName())
@click.argument("data", type=DataName(), required=False)
@click.option(
    "--gallery",
    type=click.Choice(list(GALLERIES)),
    default="both",
    show_default=True,
    help="Search codes of the other modality, of whole pairs, or both.",
)
@click.option("--cutoff", type=int, metavar="N", help="Cut rankings after rank N.")
@file_option("--report", help="Write a page with curves and example queries.")
@broken_option(None, "Refuse or skip broken rows; as in training if not given.")
@device_option
@json_option
def command(
    run: Path,
    data: str | None,
    gallery: str,
    report: Path | None,
    device: str,
    as_json: bool,
    **options: Any,
) -> None:
    """Score a run: pictures find texts, and texts find pictures.

    By default, score the run on its own test split and save the result to
    RUN/scores.json. With DATA, split that data with the run's seed; pairs seen in
    training are not used as queries.
    """
    if report is not None:
        report = require_place(report, ".html", ".htm", inputs=[data or ""])
    from fdch.cli.shared.data_notes import tell_data
    from fdch.runs.method_scores import evaluate_run
    from fdch.runs.run import open_run
    from fdch.training.context import Context

    with ProgressPrinter() as progress:
        context = Context(progress, device)
        opened = open_run(run, context)
        found = evaluate_run(
            opened, data, galleries=GALLERIES[gallery], context=context, **options
        )
    tell_data(found.query)
    document = describe(opened, found)
    if is_full(opened, found, gallery):
        keep_scores(run, found.scores, document)
    if as_json:
        say_json(document)
    else:
        say_scores(document, found.scores)
    if report is not None:
        from fdch.report.evaluation_page import write_report

        write_report(report, opened, found)
        note(f"report: {report}")


def describe(run: "Run", found: "Evaluation") -> dict[str, Any]:
    """Give the document of `--json`, which is also that of scores.json."""
    from fdch.runs.encoding import lacks_known_words

    sets = {"queries": found.query, "database": found.database}
    unknown = {
        name: int(lacks_known_words(run.method, pairs).sum())
        for name, pairs in sets.items()
    }
    return {
        **found.scores.to_json(),
        "model": run.fingerprint,
        "texts_without_known_word": unknown,
        "duplicates": {side: part.to_json() for side, part in found.duplicates.items()},
    }


def is_full(run: "Run", found: "Evaluation", gallery: str) -> bool:
    """Tell whether the scores are those that belong into the run's folder."""
    protocol = found.scores.protocol
    is_own = protocol.data == run.facts["data"]["fingerprint"]
    return is_own and gallery == "both" and protocol.cutoff is None


def keep_scores(run: Path, scores: "Scores", document: dict[str, Any]) -> None:
    """Write the scores into the run's folder, which others may own."""
    from fdch.evaluation.score_files import save_scores

    try:
        save_scores(run, scores, document)
    except RunError as problem:
        note(f"scores were not kept: {problem}")


def say_scores(document: dict[str, Any], scores: "Scores") -> None:
    """Print scores, then how the codes use their bits."""
    say(scores)
    unknown = document["texts_without_known_word"]
    if any(unknown.values()):
        say(
            f"texts without a known word: {unknown['queries']:,} of the queries, "
            f"{unknown['database']:,} in the database"
        )
    for side, part in document["duplicates"].items():
        if part["groups"]:
            say(f"identical {side}: {describe_duplicates(part)}")
    say()
    say(health_table(scores))


def describe_duplicates(part: dict[str, Any]) -> str:
    """Say how often the same content occurs, and how many queries have it."""
    learned = part["queries_in_training"]
    training = "" if learned is None else f" and {learned:,} in training"
    return (
        f"{part['pairs']:,} pairs in {count(part['groups'], 'group')}; "
        f"{part['queries_in_database']:,} queries have theirs in the database too"
        f"{training}"
    )


def health_table(scores: "Scores") -> "Table":
    """Lay out the health of each set of codes."""
    from fdch.evaluation.tables import Table

    header = (
        "database codes",
        "items",
        "distinct",
        "largest bucket",
        "imbalance",
        "correlation",
        "bit entropy",
        "constant bits",
    )
    rows = tuple(
        (
            name,
            health.items,
            health.distinct,
            health.largest_bucket,
            sum(map(abs, health.balance)) / health.bits,
            health.correlation,
            health.bit_entropy,
            len(health.constant_bits),
        )
        for name, health in scores.health.items()
    )
    return Table(header, rows)
