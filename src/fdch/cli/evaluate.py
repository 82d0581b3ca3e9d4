"""`fdch evaluate`: the scores of a run, as a table, JSON and a page."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fdch.cli.shared import options
from fdch.cli.shared.options import COUNT, PATH, option
from fdch.cli.shared.output import (
    count,
    lay_out,
    note,
    note_data,
    require_place,
    say,
    say_json,
)
from fdch.cli.shared.progress_lines import show_progress
from fdch.errors import RunError

if TYPE_CHECKING:
    from fdch.evaluation import Scores
    from fdch.runs.method_scores import Evaluation
    from fdch.runs.run import Run

GALLERIES = ("modality", "unified")


@options.command("evaluate", "fdch evaluate runs/first --report report.html")
@options.run
@click.argument("data", type=options.DATA, required=False)
@option(
    "--gallery",
    "Search codes of the other modality, of whole pairs, or both.",
    ["both", *GALLERIES],
    default="both",
)
@option("--cutoff N", "Cut rankings after rank N.", COUNT)
@option("--report", "Write a page with curves and example queries.", PATH)
@options.layout
@options.remember_broken
@options.device
@options.json
def command(
    run: Path,
    data: str | None,
    gallery: str,
    report: Path | None,
    device: str,
    as_json: bool,
    **more: Any,
) -> None:
    """Score a run: pictures find texts, and texts find pictures.

    By default, score the run on its own test split and save the result to
    RUN/scores.json and RUN/model-card.md. With DATA, split that data with the
    run's seed; pairs seen in training are not used as queries.
    """
    if data is None and more["layout"].limit is not None:
        raise click.UsageError("--limit is for DATA; a run's own data keeps its limit.")
    if report is not None:
        report = require_place(report, ".html", ".htm", inputs=[data or ""])
    from fdch.runs.method_scores import evaluate_run
    from fdch.runs.run import open_run

    with show_progress(device) as context:
        opened = open_run(run, context)
        some = GALLERIES if gallery == "both" else (gallery,)
        found = evaluate_run(opened, data, galleries=some, context=context, **more)
    note_data(found.query)
    for text in found.database.notes:
        if text not in found.query.notes:
            note(f"note: {text}")
    document = describe(opened, found)
    if gallery == "both":
        _keep_own(opened, found, document)
    if as_json:
        say_json(document)
    else:
        _say_scores(document, found.scores)
        say_probabilities(document["calibration"])
    if report is not None:
        from fdch.report.evaluation_page import write_report

        write_report(report, opened, found)
        note(f"report: {report}")


def describe(run: "Run", found: "Evaluation") -> dict[str, Any]:
    """Return the document of `--json`, which is also that of scores.json."""
    from fdch.runs.encoding import lacks_known_words

    sets = {"queries": found.query, "database": found.database}
    return {
        **found.scores.to_json(),
        "model": run.fingerprint,
        "texts_without_known_word": {
            name: int(lacks_known_words(run.method, pairs).sum())
            for name, pairs in sets.items()
        },
        "duplicates": {side: part.to_json() for side, part in found.duplicates.items()},
        "calibration": {
            gallery: {name: part.to_json() for name, part in directions.items()}
            for gallery, directions in found.reliability.items()
        },
    }


def _keep_own(run: "Run", found: "Evaluation", document: dict[str, Any]) -> None:
    """Write full scores of the run's own data into its folder, which others may own."""
    from fdch.evaluation.score_files import save_scores
    from fdch.runs.model_card import write_card

    protocol = found.scores.protocol
    is_own = protocol.data == run.facts["data"]["fingerprint"]
    if not is_own or protocol.cutoff is not None:
        return
    try:
        write_card(run, found.scores)
        save_scores(run.folder, found.scores, document)
    except RunError as problem:
        note(f"scores were not kept: {problem}")


def _say_scores(document: dict[str, Any], scores: "Scores") -> None:
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
            learned = part["queries_in_training"]
            say(
                f"identical {side}: {part['pairs']:,} pairs in "
                f"{count(part['groups'], 'group')}; queries with a copy in the "
                f"database: {part['queries_in_database']:,}"
                f"{'' if learned is None else f', in training: {learned:,}'}"
            )
    header = ("database codes", "items", "distinct", "largest bucket", "imbalance")
    rows = (
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
    say()
    say(lay_out((*header, "correlation", "bit entropy", "constant bits"), rows))


def say_probabilities(calibration: dict[str, Any]) -> None:
    """Print the probabilities of the first ten results beside the truth."""
    rows = [
        (
            gallery,
            direction.replace("_to_", " → "),
            *(part[name] for name in ("stated", "true", "gap", "calibration_error")),
        )
        for gallery, directions in calibration.items()
        for direction, part in directions.items()
    ]
    if rows:
        header = ("first ten", "", "stated", "true", "gap", "calibration error")
        say()
        say(lay_out(header, rows, ("stated: mean probability; true: share relevant",)))
        _say_lists(calibration)


def _say_lists(calibration: dict[str, Any]) -> None:
    """Print the same for fifths of the queries, by the probability of their results."""
    rows = [
        (gallery, direction.replace("_to_", " → "), name, *part["lists"][name])
        for gallery, directions in calibration.items()
        for direction, part in directions.items()
        for name in ("stated", "true")
    ]
    fifths = range(1, max(map(len, rows)) - 2)
    header = ("fifths of the queries", "", "", *map(str, fifths))
    say()
    say(lay_out(header, rows, ("1: the queries with the least probable results",)))
