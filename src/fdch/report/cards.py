"""Pairs and example queries as pages show them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes, hamming_distances
from fdch.evaluation import DIRECTIONS
from fdch.runs.encoding import EncodedPairs
from fdch.runs.method_scores import Evaluation


@dataclass(frozen=True)
class Found:
    """One answer."""

    row: int  # its row in the database
    distance: int  # bits in which its code differs from the query's
    right: bool  # whether it shares a label with the query


@dataclass(frozen=True)
class Card:
    """A pair as the page shows it."""

    name: str
    text: str | None  # its text, where there is one to show
    # names of its labels, each with whether the query has it too
    labels: tuple[tuple[str, bool], ...]
    picture: str | None  # its picture as text, where there is one to show
    found: Found | None = None  # distance and rightness, for an answer


@dataclass(frozen=True)
class Example:
    """A query and its nearest answers."""

    query: int  # row among the queries
    # answers, nearest first; equally near ones in database order
    found: tuple[Found, ...]
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
    return [
        _example(evaluation, int(rows[place]), away, places, answers)
        for place, away in zip(np.sort(drawn), distances, strict=True)
    ]


def _side(codes: EncodedPairs, side: str) -> tuple[Codes, NDArray[np.intp]]:
    """Give the codes of one side, and the rows that they belong to."""
    if side == "image":
        return codes.image, np.flatnonzero(codes.has_image)
    if side == "text":
        return codes.text, np.flatnonzero(codes.has_text)
    assert codes.unified is not None  # only galleries that were scored are shown
    return codes.unified, np.arange(len(codes.unified))


def _example(
    evaluation: Evaluation,
    query: int,
    distances: NDArray[np.uint16],
    places: NDArray[np.intp],
    answers: int,
) -> Example:
    wanted = np.flatnonzero(evaluation.query.labels[query])
    right = evaluation.database.labels[np.ix_(places, wanted)].max(axis=1, initial=0)
    nearest = np.argsort(distances, kind="stable")[:answers]
    found = tuple(
        Found(int(places[i]), int(distances[i]), bool(right[i])) for i in nearest
    )
    return Example(query, found, float(right.mean()))
