"""Scoring: codes and labels in, both directions' scores out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from fdch.codes import Codes, to_array
from fdch.errors import LabelError, SettingError
from fdch.evaluation.comparing.resampling import mean_intervals
from fdch.evaluation.documents import Ends
from fdch.evaluation.hash_lookup import LookupCurve, LookupTotals
from fdch.evaluation.health import code_health
from fdch.evaluation.histograms import Histograms, histogram_blocks
from fdch.evaluation.measures import DIRECTIONS, GALLERIES, PARTNER
from fdch.evaluation.metrics import average_precision, chance, ndcg_at, precision_at
from fdch.evaluation.ordering import Coded, ordered_blocks
from fdch.evaluation.partner import PartnerPlaces, place_partners
from fdch.evaluation.protocol import Protocol
from fdch.evaluation.scores import (
    MAPS,
    DirectionScores,
    Key,
    Scores,
    Values,
    without_nan,
)
from fdch.progress import Progress, Update, silent

# the scores of single queries, (queries,) each, by measure
Columns = dict[str, NDArray[np.float64]]
# by gallery and direction
Scored = dict[tuple[str, str], tuple[Columns, LookupCurve]]
Rows = NDArray[np.intp]
CHANCE = "chance"
PRECISION_AT, NDCG_AT = (1, 10, 100), (10,)
CANDIDATES = 16_384  # nearest items that are ordered, where a method orders


@dataclass(frozen=True, eq=False)
class CodedPairs:
    """The codes of pairs: of each modality, and of the pair where there are any.

    Pairs without a picture have no row among the image codes, those without a
    text none among the text codes.
    """

    image: Coded
    text: Coded
    unified: Coded | None = None
    # rows of pairs with both sides among the image codes and among the text codes;
    # None where that is not known: partner recall is not scored then
    both: tuple[Rows, Rows] | None = None


def evaluate_codes(
    query_codes: "Codes | ArrayLike",  # in quotes: help() prints the name alone
    database_codes: "Codes | ArrayLike",
    query_labels: "ArrayLike | sparse.sparray",
    database_labels: "ArrayLike | sparse.sparray",
    *,
    cutoff: int | None = None,
    progress: Progress = silent,
) -> DirectionScores:
    """Score codes of any program, in one direction.

    Args:
        query_codes: Codes of the queries: -1 and +1, (queries, bits), packed bits of
            uint8, eight to the byte, or Codes.
        database_codes: Codes of the items they search among, likewise.
        query_labels: 0/1, (queries, classes), dense or sparse.
        database_labels: 0/1, (database, classes), likewise.
        cutoff: Rank after which rankings are cut; None for the whole database.
        progress: Called after each block of queries.

    Returns:
        Means over the queries that have a relevant item in the database, without
        intervals.

    >>> codes, labels = [[1, 1, -1], [-1, -1, 1]], [[1, 0], [0, 1]]
    >>> evaluate_codes(codes, codes, labels, labels).map
    1.0
    """
    queries = Coded(_as_codes(query_codes), _as_labels(query_labels))
    gallery = Coded(_as_codes(database_codes), _as_labels(database_labels))
    return _average(*_score(queries, gallery, cutoff, progress))


def _as_codes(values: Codes | ArrayLike) -> Codes:
    if isinstance(values, Codes):
        return values
    array = to_array(values)
    if array.dtype == np.uint8 and array.ndim == 2:
        return Codes(array, 8 * array.shape[1])
    return Codes.from_signs(array)


def _as_labels(values: ArrayLike | sparse.sparray) -> NDArray[Any]:
    if isinstance(values, sparse.sparray | sparse.spmatrix):
        return values.toarray()
    try:
        return to_array(values)
    except ValueError:
        raise LabelError(
            "labels must be (items, classes) of 0 and 1; got rows of different lengths."
        ) from None


def score_galleries(
    method: str,
    queries: CodedPairs,
    database: CodedPairs,
    protocol: Protocol,
    *,
    galleries: Sequence[str] = GALLERIES,
    progress: Progress = silent,
) -> Scores:
    """Score both directions against each gallery, with the health of the codes.

    The "modality" gallery holds codes of the other modality, the "unified" one
    codes of whole pairs; it is left out where there are none. With the modality
    gallery, queries also look for their own other halves among all queries. The
    protocol's cut-off is applied.

    Returns:
        Means over queries with bootstrap intervals, and every query's own scores.

    >>> from fdch.codes import binarize
    >>> both = Coded(binarize([[1, 1], [-1, -1]]), np.eye(2))
    >>> pairs = CodedPairs(both, both, both=(np.arange(2), np.arange(2)))
    >>> protocol = Protocol("data", "split", queries=2, database=2, train=0)
    >>> found = score_galleries("mine", pairs, pairs, protocol)
    >>> found.partner["modality"]["image_to_text"].recall_at[1]
    1.0
    """
    held = _list_galleries(method, database, galleries)
    if queries.image.order is not None:
        protocol = replace(protocol, ordered=CANDIDATES)
    scored: Scored = {}
    both = queries.image, queries.text
    for gallery, sides in held.items():
        for direction, own, other in zip(DIRECTIONS, both, sides, strict=True):
            found = _score(own, other, protocol.cutoff, progress)
            scored[gallery, direction] = found
    partners = _place_partners(queries) if "modality" in galleries else {}
    values = _list_values(scored, partners)
    ends = mean_intervals({key: without_nan(each) for key, each in values.items()})
    scores: dict[str, dict[str, DirectionScores]] = {}
    for (gallery, direction), (columns, curve) in scored.items():
        own_ends = {m: ends[gallery, direction, m] for m in columns if m != CHANCE}
        part = _average(columns, curve, own_ends)
        scores.setdefault(gallery, {})[direction] = part
    partner = {}
    for direction, places in partners.items():
        names = places.recalls()
        own_ends = {m: ends["modality", direction, PARTNER + m] for m in names}
        partner[direction] = places.scores(own_ends)
    sets = {"image": database.image, "text": database.text, "unified": database.unified}
    return Scores(
        method,
        queries.image.codes.bits,
        protocol,
        scores,
        {name: code_health(part.codes) for name, part in sets.items() if part},
        {"modality": partner} if partner else {},
        values,
    )


def _list_galleries(
    method: str, database: CodedPairs, wanted: Sequence[str]
) -> dict[str, tuple[Coded, Coded]]:
    """Return what pictures and what texts search, by gallery; refuse others."""
    held = {"modality": (database.text, database.image)}
    if database.unified is not None:
        held["unified"] = (database.unified, database.unified)
    if tuple(wanted) == ("unified",) and database.unified is None:
        raise SettingError(
            f"{method} has no codes of whole pairs, which the gallery 'unified' needs; "
            "score the gallery 'modality'."
        )
    if not set(wanted) & set(held) or not set(wanted) <= set(GALLERIES):
        raise SettingError(
            f"cannot score galleries {', '.join(wanted) or 'of no name'}; "
            f"these codes allow {', '.join(held)}."
        )
    return {name: held[name] for name in held if name in wanted}


def _list_values(
    scored: Scored, partners: Mapping[str, PartnerPlaces]
) -> dict[Key, Values]:
    """Return every query's own scores by gallery, direction and measure."""
    values = {
        (*place, measure): column.astype("f4")
        for place, (columns, _) in scored.items()
        for measure, column in columns.items()
        if measure != CHANCE
    }
    for direction, places in partners.items():
        for measure, column in places.recalls().items():
            key = "modality", direction, PARTNER + measure
            values[key] = column.astype("f4")
    return values


def _score(
    queries: Coded, gallery: Coded, cutoff: int | None, progress: Progress
) -> tuple[Columns, LookupCurve]:
    """Return the scores of every query, and the curve of all of them."""
    totals = LookupTotals()
    blocks: list[Columns] = []
    done = 0
    is_ordered = queries.order is not None
    for counts in _count(queries, gallery, cutoff):
        blocks.append(_score_queries(counts, is_ordered, cutoff))
        if not is_ordered:
            totals.add(counts)
        done += len(counts)
        progress(Update("scoring", done, len(queries.codes), "query"))
    columns = {
        name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]
    }
    if np.isnan(columns["map"]).all():
        raise LabelError(
            f"none of the {done} queries shares a label with the database, so "
            "there is nothing to score; check that both have the same classes."
        )
    if is_ordered:  # hash lookup goes by distance nonetheless
        sides = (queries.codes, gallery.codes, queries.labels, gallery.labels)
        for counts in histogram_blocks(*sides):
            totals.add(counts)
    return columns, totals.curve()


def _count(queries: Coded, gallery: Coded, cutoff: int | None) -> Iterator[Histograms]:
    """Count items by distance, or by place where candidates are ordered."""
    if queries.order is None:
        return histogram_blocks(
            queries.codes,
            gallery.codes,
            queries.labels,
            gallery.labels,
            stable=True,
            graded=True,
            cutoff=cutoff,
        )
    first = max(*PRECISION_AT, *NDCG_AT)
    return ordered_blocks(queries, gallery, CANDIDATES, first, cutoff)


def _score_queries(counts: Histograms, is_ordered: bool, cutoff: int | None) -> Columns:
    """Return every score of every query; NaN where a query has no relevant item."""
    assert counts.stable is not None  # it was requested
    averages = dict.fromkeys(MAPS, counts.stable)
    if not is_ordered:  # otherwise nothing is tied
        averages["map"] = average_precision(counts, "expected", cutoff)
        averages["map_best"] = average_precision(counts, "best", cutoff)
        averages["map_worst"] = average_precision(counts, "worst", cutoff)
    return {
        **averages,
        **{f"precision_at_{k}": precision_at(counts, k) for k in PRECISION_AT},
        **{f"ndcg_at_{k}": ndcg_at(counts, k) for k in NDCG_AT},
        CHANCE: chance(counts, cutoff),
    }


def _average(
    columns: Columns, curve: LookupCurve, intervals: Mapping[str, Ends] | None = None
) -> DirectionScores:
    """Return the means over queries that have a relevant item."""
    valid = ~np.isnan(columns["map"])
    means = {name: float(values[valid].mean()) for name, values in columns.items()}
    return DirectionScores(
        **{name: means[name] for name in (*MAPS, CHANCE)},
        precision_at={k: means[f"precision_at_{k}"] for k in PRECISION_AT},
        queries=int(valid.sum()),
        skipped=int((~valid).sum()),
        lookup=curve,
        ndcg_at={k: means[f"ndcg_at_{k}"] for k in NDCG_AT},
        intervals=intervals or {},
    )


def _place_partners(queries: CodedPairs) -> dict[str, PartnerPlaces]:
    """Place the other half of each query among those of all queries, by direction."""
    if queries.both is None or len(queries.both[0]) == 0:
        return {}
    images, texts = (
        queries.image.take(queries.both[0]),
        queries.text.take(queries.both[1]),
    )
    sides = zip(DIRECTIONS, (images, texts), (texts, images), strict=True)
    return {
        direction: place_partners(own, other, CANDIDATES)
        for direction, own, other in sides
    }
