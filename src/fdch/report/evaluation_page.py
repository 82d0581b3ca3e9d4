"""The report of an evaluation: scores, curves, health and example queries."""

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from fdch import __version__
from fdch.data.pictures.images import Pictures
from fdch.errors import DamagedRun
from fdch.evaluation import DIRECTIONS
from fdch.report.cards import draw_examples, show_pair
from fdch.report.plots import (
    balance_plot,
    lookup_plot,
    precision_plot,
    reliability_plot,
)
from fdch.report.render import write_page
from fdch.runs.encoding import lacks_known_words
from fdch.runs.method_scores import Evaluation
from fdch.runs.run import Run
from fdch.runs.run_files import DESCRIPTION

QUERY_SIZE, ANSWER_SIZE = 240, 160
EXAMPLES, ANSWERS = 4, 6


def write_report(path: Path, run: Run, evaluation: Evaluation) -> None:
    """Write the page of an evaluation to one self-contained HTML file."""
    scores = evaluation.scores
    gallery = "modality" if "modality" in scores.scores else "unified"
    directions = scores.scores[gallery]
    write_page(
        path,
        "report.html.j2",
        run=run,
        facts=describe_training(run),
        scores=scores,
        duplicates=evaluation.duplicates,
        reliability=evaluation.reliability,
        directions=DIRECTIONS,
        changed=dict(changed_settings(run)),
        gallery=gallery,
        unknown=int(lacks_known_words(run.method, evaluation.query).sum()),
        has_pictures=isinstance(evaluation.database.images, Pictures),
        examples={
            direction: show_examples(evaluation, direction, gallery, run.method.seed)
            for direction in directions
        },
        plots={
            "lookup": lookup_plot(scores),
            "precision": precision_plot(scores),
            "balance": balance_plot(scores.health),
            "reliability": reliability_plot(evaluation.reliability),
        },
        version=__version__,
    )


def describe_training(run: Run) -> dict[str, str]:
    """Describe the training in words, for the page."""
    facts = run.facts
    try:
        data, versions = facts["data"], facts["versions"]
        return {
            "name": str(data["name"]),
            "data": f"{data['name']}, {data['pairs']:,} pairs, "
            f"{data['skipped']:,} skipped",
            "source": str(data["source"]),
            "trained on": f"{facts['train']:,} pairs in {facts['seconds']:,} seconds; "
            f"{facts['validation']:,} kept for validation",
            "data fingerprint": str(data["fingerprint"]),
            "split fingerprint": str(facts["split"]),
            "versions": ", ".join(f"{name} {versions[name]}" for name in versions),
        }
    except (KeyError, TypeError, ValueError) as problem:
        raise DamagedRun(
            f"'{run.folder / DESCRIPTION}' does not say how the run was trained "
            f"({problem}). Train the run again."
        ) from problem


def changed_settings(run: Run) -> Iterator[tuple[str, Any]]:
    """Return the settings of a run that are not the method's defaults."""
    for field in fields(run.method):
        value = run.facts["settings"].get(field.name)
        if field.init and value != field.default:
            yield field.name, value


def show_examples(
    evaluation: Evaluation, direction: str, gallery: str, seed: int
) -> list[dict[str, Any]]:
    """Draw examples of a direction and gather what the page shows of them."""
    query_side, side = direction.split("_to_")
    shown = []
    for example in draw_examples(
        evaluation,
        direction,
        gallery=gallery,
        number=EXAMPLES,
        answers=ANSWERS,
        seed=seed,
    ):
        query, database = evaluation.query, evaluation.database
        wanted = query.labels_of(example.query)
        answers = [
            show_pair(database, found.row, ANSWER_SIZE, side, wanted, found)
            for found in example.found
        ]
        shown.append(
            {
                "query": show_pair(query, example.query, QUERY_SIZE, query_side),
                "answers": answers,
                "right": sum(found.right for found in example.found),
                "relevant": example.relevant,
            }
        )
    return shown
