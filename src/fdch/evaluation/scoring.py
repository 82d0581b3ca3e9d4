"""Scoring: codes and labels in, both directions' scores out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes
from fdch.errors import LabelError, SettingError
from fdch.evaluation.health import code_health
from fdch.evaluation.histograms import Histograms, histogram_blocks
from fdch.evaluation.lookup import Average, Empty, LookupTotals
from fdch.evaluation.metrics import average_precision, chance, precision_at
from fdch.evaluation.protocol import Protocol
from fdch.evaluation.scores import GALLERIES, DirectionScores, Scores
from fdch.progress import Progress, Update, silent

Labels = NDArray[np.generic]


@dataclass(frozen=True)
class Measures:
    """What is reported besides mean average precision.

    Args:
        precision_at: Ranks at which precision is taken.
        average: Whether lookup curves pool the queries ("micro") or average them.
        empty: What a query that retrieves nothing adds to a macro precision.
    """

    precision_at: tuple[int, ...] = (1, 10, 100)
    average: Average = "micro"
    empty: Empty = "zero"


DEFAULT_MEASURES = Measures()


class Coded(NamedTuple):
    """Codes with the labels of their items, 0/1, (items, classes)."""

    codes: Codes
    labels: Labels


@dataclass(frozen=True, eq=False)
class CodedPairs:
    """The codes of pairs: of each modality, and of the pair where there are any.

    Pairs without a picture have no row among the image codes, those without a
    text none among the text codes.
    """

    image: Coded
    text: Coded
    unified: Coded | None = None


def score(
    query_codes: Codes,
    database_codes: Codes,
    query_labels: Labels,
    database_labels: Labels,
    *,
    cutoff: int | None = None,
    measures: Measures = DEFAULT_MEASURES,
    threads: int | None = None,
    progress: Progress = silent,
) -> DirectionScores:
    """Score one direction: queries of one modality against a gallery.

    Args:
        query_codes: Codes of the queries.
        database_codes: Codes of the gallery.
        query_labels: 0/1, (queries, classes).
        database_labels: 0/1, (database, classes).
        cutoff: Rank after which rankings are cut; None for the whole database.
        measures: What is reported besides mean average precision.
        threads: Threads to count with; None for one per core.
        progress: Told after each block of queries.

    Returns:
        Means over the queries that have a relevant item in the gallery.

    >>> from fdch.codes import binarize
    >>> codes, labels = binarize([[1, 1], [-1, -1]]), np.eye(2)
    >>> score(codes, codes, labels, labels).map
    1.0
    """
    curve = LookupTotals(measures.average, measures.empty)
    columns: list[NDArray[np.float64]] = []
    done = 0
    for block in histogram_blocks(
        query_codes,
        database_codes,
        query_labels,
        database_labels,
        stable=True,
        cutoff=cutoff,
        threads=threads,
    ):
        columns.append(_per_query(block, cutoff, measures))
        curve.add(block)
        done += len(block)
        progress(Update("scoring", done, len(query_codes), "query"))
    return _means(np.concatenate(columns, axis=1), curve, measures)


def evaluate_codes(
    method: str,
    queries: CodedPairs,
    database: CodedPairs,
    protocol: Protocol,
    *,
    galleries: Sequence[str] = GALLERIES,
    measures: Measures = DEFAULT_MEASURES,
    progress: Progress = silent,
) -> Scores:
    """Score both directions against each gallery, with the health of the codes.

    The "modality" gallery holds codes of the other modality, the "unified" one
    codes of whole pairs; it is left out where there are none.

    Args:
        method: Name that the scores carry.
        queries: Codes of the query pairs.
        database: Codes of the database pairs.
        protocol: How the codes were made; its cut-off is applied.
        galleries: Galleries asked for.
        measures: What is reported besides mean average precision.
        progress: Told after each block of queries.
    """
    _check_sizes(queries, database, protocol)
    held = {"modality": (database.text, database.image)}
    if database.unified is not None:
        held["unified"] = (database.unified, database.unified)
    if not set(galleries) & set(held) or not set(galleries) <= set(GALLERIES):
        raise SettingError(
            f"cannot score galleries {', '.join(galleries) or 'of no name'}; "
            f"these codes allow {', '.join(held)}."
        )

    def ask(asking: Coded, asked: Coded) -> DirectionScores:
        return score(
            asking.codes,
            asked.codes,
            asking.labels,
            asked.labels,
            cutoff=protocol.cutoff,
            measures=measures,
            progress=progress,
        )

    scores = {
        gallery: {
            "image_to_text": ask(queries.image, for_images),
            "text_to_image": ask(queries.text, for_texts),
        }
        for gallery, (for_images, for_texts) in held.items()
        if gallery in galleries
    }
    sets = {"image": database.image, "text": database.text, "unified": database.unified}
    health = {name: code_health(part.codes) for name, part in sets.items() if part}
    return Scores(method, queries.image.codes.bits, protocol, scores, health)


def _per_query(
    counts: Histograms, cutoff: int | None, measures: Measures
) -> NDArray[np.float64]:
    """Give every score of every query, (scores, queries)."""
    assert counts.stable is not None  # it was asked for
    return np.stack(
        [
            average_precision(counts, "expected", cutoff),
            counts.stable,
            average_precision(counts, "best", cutoff),
            average_precision(counts, "worst", cutoff),
            chance(counts, cutoff),
            *(precision_at(counts, k) for k in measures.precision_at),
        ]
    )


def _means(
    columns: NDArray[np.float64], curve: LookupTotals, measures: Measures
) -> DirectionScores:
    valid = ~np.isnan(columns[0])
    if not valid.any():
        raise LabelError(
            f"none of the {valid.size} queries shares a label with the database, so "
            "there is nothing to score; check that both have the same classes."
        )
    expected, stable, best, worst, at_random, *precisions = (
        columns[:, valid].mean(axis=1).tolist()
    )
    return DirectionScores(
        map=expected,
        map_stable=stable,
        map_best=best,
        map_worst=worst,
        precision_at=dict(zip(measures.precision_at, precisions, strict=True)),
        chance=at_random,
        queries=int(valid.sum()),
        skipped=int((~valid).sum()),
        lookup=curve.curve(),
    )


def _check_sizes(queries: CodedPairs, database: CodedPairs, protocol: Protocol) -> None:
    asking = max(len(queries.image.codes), len(queries.text.codes))
    if asking != protocol.queries:
        raise SettingError(
            f"the protocol says {protocol.queries} queries; codes of {asking} came."
        )
    parts = [database.image, database.text, database.unified]
    most = max(len(part.codes) for part in parts if part)
    if most > protocol.database:
        raise SettingError(
            f"the protocol says {protocol.database} pairs in the database; "
            f"codes of {most} came."
        )
