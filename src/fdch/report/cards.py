"""Pairs and example queries as pages show them."""

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes, hamming_distances
from fdch.data.pairs import PairedSet
from fdch.evaluation import DIRECTIONS
from fdch.report.render import picture_uri
from fdch.runs.encoding import EncodedPairs
from fdch.runs.method_scores import Evaluation


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


def show_pair(
    pairs: PairedSet,
    row: int,
    size: int,
    side: str = "",
    wanted: Collection[str] = (),
    found: Found | None = None,
) -> dict[str, Any]:
    """Return what a page shows of a pair: one side or both, and its labels.

    Labels come with whether the query has them too.
    """
    return {
        "name": str(pairs.ids[row]),
        "text": pairs.texts.text(row) if side != "image" else None,
        "labels": [(name, name in wanted) for name in pairs.labels_of(row)],
        "picture": picture_uri(pairs, row, size) if side != "text" else None,
        "found": found,
    }
