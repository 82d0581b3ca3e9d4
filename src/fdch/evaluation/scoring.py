"""Scoring: codes and labels in, both directions' scores out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fdch.codes import Codes
from fdch.errors import LabelError, SettingError
from fdch.evaluation.comparing.resampling import mean_intervals
from fdch.evaluation.hash_lookup import Average, Empty, LookupTotals
from fdch.evaluation.health import code_health
from fdch.evaluation.histograms import Histograms, histogram_blocks
from fdch.evaluation.measures import DIRECTIONS, GALLERIES, PARTNER
from fdch.evaluation.metrics import average_precision, chance, ndcg_at, precision_at
from fdch.evaluation.ordering import Coded, ordered_blocks
from fdch.evaluation.partner import (
    RECALL_AT,
    PartnerScores,
    ordered_places,
    partner_places,
)
from fdch.evaluation.protocol import Protocol
from fdch.evaluation.scores import DirectionScores, Key, Scores, Values, without_nan
from fdch.progress import Progress, Update, silent

# the scores of single queries, (queries,) each, by measure
Columns = dict[str, NDArray[np.float64]]
Rows = NDArray[np.intp]
CHANCE = "chance"


@dataclass(frozen=True)
class Measures:
    """What is reported besides mean average precision."""

    precision_at: tuple[int, ...] = (1, 10, 100)
    average: Average = "micro"  # lookup curves pool the queries, or average them
    empty: Empty = "zero"  # what an empty ball adds to a macro precision
    ndcg_at: tuple[int, ...] = (10,)
    recall_at: tuple[int, ...] = RECALL_AT
    candidates: int = 16_384  # nearest items that are ordered, where a method orders


DEFAULT_MEASURES = Measures()


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
    query_codes: Codes | ArrayLike,
    database_codes: Codes | ArrayLike,
    query_labels: ArrayLike,
    database_labels: ArrayLike,
    *,
    cutoff: int | None = None,
    measures: Measures = DEFAULT_MEASURES,
    progress: Progress = silent,
) -> DirectionScores:
    """Score codes of any program, in one direction.

    Args:
        query_codes: Codes of the queries: -1 and +1, (queries, bits), packed bits of
            uint8, eight to the byte, or Codes.
        database_codes: Codes of the items they search among, likewise.
        query_labels: 0/1, (queries, classes).
        database_labels: 0/1, (database, classes).
        cutoff: Rank after which rankings are cut; None for the whole database.
        measures: What is reported besides mean average precision.
        progress: Called after each block of queries.

    Returns:
        Means over the queries that have a relevant item in the database, without
        intervals.

    >>> codes, labels = [[1, 1, -1], [-1, -1, 1]], [[1, 0], [0, 1]]
    >>> evaluate_codes(codes, codes, labels, labels).map
    1.0
    """
    queries = Coded(_as_codes(query_codes), np.asarray(query_labels))
    gallery = Coded(_as_codes(database_codes), np.asarray(database_labels))
    return _score(queries, gallery, cutoff, measures, progress)[0]


def _as_codes(values: Codes | ArrayLike) -> Codes:
    if isinstance(values, Codes):
        return values
    array = np.asarray(values)
    if array.dtype == np.uint8 and array.ndim == 2:
        return Codes(array, 8 * array.shape[1])
    return Codes.from_signs(array)


def score_galleries(
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
    _require_sizes(queries, database, protocol)
    held = {"modality": (database.text, database.image)}
    if database.unified is not None:
        held["unified"] = (database.unified, database.unified)
    if not set(galleries) & set(held) or not set(galleries) <= set(GALLERIES):
        raise SettingError(
            f"cannot score galleries {', '.join(galleries) or 'of no name'}; "
            f"these codes allow {', '.join(held)}."
        )
    if queries.image.order is not None:
        protocol = replace(protocol, ordered=measures.candidates)
    scores: dict[str, dict[str, DirectionScores]] = {}
    values: dict[Key, Values] = {}
    for gallery in (name for name in held if name in galleries):
        sides = zip(
            DIRECTIONS, (queries.image, queries.text), held[gallery], strict=True
        )
        for direction, own, other in sides:
            part, columns = _score(own, other, protocol.cutoff, measures, progress)
            scores.setdefault(gallery, {})[direction] = part
            for measure in part.means():
                values[gallery, direction, measure] = columns[measure].astype("f4")
    partner: dict[str, dict[str, PartnerScores]] = {}
    if "modality" in scores:
        partner = _score_partners(queries, measures, values)
    sets = {"image": database.image, "text": database.text, "unified": database.unified}
    health = {name: code_health(part.codes) for name, part in sets.items() if part}
    bits = queries.image.codes.bits
    found = Scores(method, bits, protocol, scores, health, partner, values)
    known = {key: without_nan(each) for key, each in values.items()}
    return found.with_intervals(mean_intervals(known))


def _require_sizes(
    queries: CodedPairs, database: CodedPairs, protocol: Protocol
) -> None:
    """Refuse codes of other numbers of pairs than the protocol says."""
    number = max(len(queries.image.codes), len(queries.text.codes))
    if number != protocol.queries:
        raise SettingError(
            f"the protocol says {protocol.queries} queries; codes of {number} came."
        )
    parts = [database.image, database.text, database.unified]
    most = max(len(part.codes) for part in parts if part)
    if most > protocol.database:
        raise SettingError(
            f"the protocol says {protocol.database} pairs in the database; "
            f"codes of {most} came."
        )


def _score(
    queries: Coded,
    gallery: Coded,
    cutoff: int | None,
    measures: Measures,
    progress: Progress,
) -> tuple[DirectionScores, Columns]:
    """Give the means over queries, and the scores of every query."""
    curve = LookupTotals(measures.average, measures.empty)
    blocks: list[Columns] = []
    done = 0
    is_ordered = queries.order is not None
    for counts in _count(queries, gallery, cutoff, measures):
        blocks.append(_score_queries(counts, is_ordered, cutoff, measures))
        if not is_ordered:
            curve.add(counts)
        done += len(counts)
        progress(Update("scoring", done, len(queries.codes), "query"))
    if is_ordered:  # a table of codes is looked up by distance all the same
        sides = (queries.codes, gallery.codes, queries.labels, gallery.labels)
        for counts in histogram_blocks(*sides):
            curve.add(counts)
    columns = {
        name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]
    }
    return _means(columns, curve, measures), columns


def _count(
    queries: Coded, gallery: Coded, cutoff: int | None, measures: Measures
) -> Iterator[Histograms]:
    """Count items by distance, or by place where candidates are ordered."""
    if queries.order is None:
        return histogram_blocks(
            queries.codes,
            gallery.codes,
            queries.labels,
            gallery.labels,
            stable=True,
            graded=bool(measures.ndcg_at),
            cutoff=cutoff,
        )
    first = max((1, *measures.precision_at, *measures.ndcg_at))
    return ordered_blocks(queries, gallery, measures.candidates, first, cutoff)


def _score_queries(
    counts: Histograms, is_ordered: bool, cutoff: int | None, measures: Measures
) -> Columns:
    """Give every score of every query; NaN where a query has no relevant item."""
    assert counts.stable is not None  # it was requested
    if is_ordered:  # nothing is tied
        averages = dict.fromkeys(("map", "map_best", "map_worst"), counts.stable)
    else:
        averages = {
            "map": average_precision(counts, "expected", cutoff),
            "map_best": average_precision(counts, "best", cutoff),
            "map_worst": average_precision(counts, "worst", cutoff),
        }
    return {
        **averages,
        "map_stable": counts.stable,
        CHANCE: chance(counts, cutoff),
        **{f"precision_at_{k}": precision_at(counts, k) for k in measures.precision_at},
        **{f"ndcg_at_{k}": ndcg_at(counts, k) for k in measures.ndcg_at},
    }


def _means(
    columns: Columns, curve: LookupTotals, measures: Measures
) -> DirectionScores:
    valid = ~np.isnan(columns["map"])
    if not valid.any():
        raise LabelError(
            f"none of the {valid.size} queries shares a label with the database, so "
            "there is nothing to score; check that both have the same classes."
        )
    means = {name: float(values[valid].mean()) for name, values in columns.items()}
    return DirectionScores(
        map=means["map"],
        map_stable=means["map_stable"],
        map_best=means["map_best"],
        map_worst=means["map_worst"],
        chance=means[CHANCE],
        precision_at={k: means[f"precision_at_{k}"] for k in measures.precision_at},
        queries=int(valid.sum()),
        skipped=int((~valid).sum()),
        lookup=curve.curve(),
        ndcg_at={k: means[f"ndcg_at_{k}"] for k in measures.ndcg_at},
    )


def _score_partners(
    queries: CodedPairs, measures: Measures, values: dict[Key, Values]
) -> dict[str, dict[str, PartnerScores]]:
    """Score how queries find their other halves; add every query's own recall."""
    if queries.both is None or len(queries.both[0]) == 0:
        return {}
    images, texts = (
        side.take(rows)
        for side, rows in zip((queries.image, queries.text), queries.both, strict=True)
    )
    found: dict[str, PartnerScores] = {}
    for direction, (own, other) in zip(
        DIRECTIONS, ((images, texts), (texts, images)), strict=True
    ):
        if own.order is None:
            places = partner_places(own.codes, other.codes)
        else:
            places = ordered_places(own, other, measures.candidates)
        found[direction] = places.scores(measures.recall_at)
        for k in measures.recall_at:
            name = f"{PARTNER}recall_at_{k}"
            values["modality", direction, name] = places.found_by(k).astype("f4")
    return {"modality": found}
