"""The report of an evaluation: scores, curves, health and example queries."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from fdch import __version__
from fdch.data.pairs import PairedSet
from fdch.data.pictures.images import Pictures
from fdch.errors import DamagedRun
from fdch.evaluation import DIRECTIONS
from fdch.report.cards import Card, Example, Found, draw_examples
from fdch.report.plots import balance_plot, lookup_plot, precision_plot
from fdch.report.render import picture_uri, write_page
from fdch.runs.encoding import lacks_known_words
from fdch.runs.method_scores import Evaluation
from fdch.runs.run import Run
from fdch.runs.run_files import DESCRIPTION

QUERY_SIZE, ANSWER_SIZE = 240, 160
EXAMPLES, ANSWERS = 4, 6


@dataclass(frozen=True)
class Shown:
    """An example query as the page shows it."""

    query: Card
    answers: tuple[Card, ...]
    relevant: float

    @property
    def right(self) -> int:
        """How many of the answers are right."""
        return sum(card.found is not None and card.found.right for card in self.answers)


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
    """Give the settings of a run that are not the method's defaults."""
    for field in fields(run.method):
        value = run.facts["settings"].get(field.name)
        if field.init and value != field.default:
            yield field.name, value


def show_examples(
    evaluation: Evaluation, direction: str, gallery: str, seed: int
) -> list[Shown]:
    """Draw examples of a direction and gather what the page shows of them."""
    examples = draw_examples(
        evaluation,
        direction,
        gallery=gallery,
        number=EXAMPLES,
        answers=ANSWERS,
        seed=seed,
    )
    query_side, found_side = direction.split("_to_")
    return [
        Shown(
            _card(evaluation.query, example.query, query_side, QUERY_SIZE),
            tuple(_answers(evaluation, example, found_side)),
            example.relevant,
        )
        for example in examples
    ]


def _answers(evaluation: Evaluation, example: Example, side: str) -> Iterator[Card]:
    wanted = set(evaluation.query.labels_of(example.query))
    for found in example.found:
        yield _card(evaluation.database, found.row, side, ANSWER_SIZE, wanted, found)


def _card(
    pairs: PairedSet,
    row: int,
    side: str,
    size: int,
    wanted: set[str] | None = None,
    found: Found | None = None,
) -> Card:
    """Show of a pair the side that counts, and its labels."""
    return Card(
        name=str(pairs.ids[row]),
        text=_shorten(pairs.texts.text(row)) if side == "text" else None,
        labels=tuple((name, name in (wanted or ())) for name in pairs.labels_of(row)),
        picture=picture_uri(pairs, row, size) if side == "image" else None,
        found=found,
    )


def _shorten(text: str | None, most: int = 280) -> str | None:
    if text is None or len(text) <= most:
        return text
    return text[: most - 1] + "…"
