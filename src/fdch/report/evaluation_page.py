"""The report of an evaluation: scores, curves, health and example queries."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fdch import __version__
from fdch.codes import Codes, hamming_distances
from fdch.data.pictures.images import Pictures
from fdch.evaluation import DIRECTIONS
from fdch.report.plots import lookup_plot, reliability_plot
from fdch.report.render import show_pair, write_page
from fdch.runs.encoding import EncodedPairs, lacks_known_words
from fdch.runs.method_scores import Evaluation
from fdch.runs.model_card import describe_training
from fdch.runs.run import Run

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
        training=describe_training(run),
        scores=scores,
        duplicates=evaluation.duplicates,
        reliability=evaluation.reliability,
        directions=DIRECTIONS,
        gallery=gallery,
        unknown=int(lacks_known_words(run.method, evaluation.query).sum()),
        has_pictures=isinstance(evaluation.database.images, Pictures),
        examples={
            direction: show_examples(evaluation, direction, gallery, run.method.seed)
            for direction in directions
        },
        plots={
            "lookup": lookup_plot(scores),
            "reliability": reliability_plot(evaluation.reliability),
            "lists": reliability_plot(evaluation.reliability, by_lists=True),
        },
        version=__version__,
    )


class Found(NamedTuple):
    """One answer."""

    row: int  # in the database
    distance: int
    right: bool  # whether it shares a label with the query


class Example(NamedTuple):
    """A query and its nearest answers."""

    query: int  # row among the queries
    found: tuple[Found, ...]  # nearest first; equally near ones in database order
    relevant: float  # share of the whole gallery that would have been right


def draw_examples(
    evaluation: Evaluation,
    direction: str,
    *,
    gallery: str = "modality",
    number: int = 3,
    answers: int = 6,
    seed: int = 0,
) -> list[Example]:
    """Draw queries of a direction at random and search the gallery with them."""
    query_side, found_side = direction.split("_to_")
    codes, rows = _side(evaluation.query_codes, query_side)
    held, places = _side(
        evaluation.database_codes, found_side if gallery == "modality" else gallery
    )
    salt = list(DIRECTIONS).index(direction)
    drawn = np.random.default_rng([seed, salt]).permutation(len(rows))[:number]
    distances = hamming_distances(codes[np.sort(drawn)], held)
    examples = []
    for query, away in zip(rows[np.sort(drawn)].tolist(), distances, strict=True):
        wanted = np.flatnonzero(evaluation.query.labels[query])
        labels = evaluation.database.labels[np.ix_(places, wanted)]
        right = labels.max(axis=1, initial=0)
        found = tuple(
            Found(int(places[i]), int(away[i]), bool(right[i]))
            for i in np.argsort(away, kind="stable")[:answers]
        )
        examples.append(Example(query, found, float(right.mean())))
    return examples


def _side(codes: EncodedPairs, side: str) -> tuple[Codes, NDArray[np.intp]]:
    """Return the codes of one side, and the rows that they belong to."""
    if side == "image":
        return codes.image, np.flatnonzero(codes.has_image)
    if side == "text":
        return codes.text, np.flatnonzero(codes.has_text)
    assert codes.unified is not None  # only galleries that were scored are shown
    return codes.unified, np.arange(len(codes.unified))


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
