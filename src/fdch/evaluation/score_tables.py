"""Scores laid out for a terminal: means, partners, intervals."""

from typing import TYPE_CHECKING

from fdch.evaluation.comparing.resampling import CONFIDENCE
from fdch.evaluation.measures import DIRECTIONS, MAIN, MEASURES, flatten
from fdch.evaluation.tables import Cell, Table

if TYPE_CHECKING:
    from fdch.evaluation.scores import Scores


def score_tables(scores: "Scores") -> list[Table]:
    """Lay out all that there is of means, partner recall and intervals."""
    tables = [means_table(scores)]
    if any(scores.partner.values()):
        tables.append(partner_table(scores))
    if scores.intervals():
        tables.append(interval_table(scores))
    return tables


def means_table(scores: "Scores") -> Table:
    """Lay out the means, a row to each gallery and direction, and the protocol."""
    parts = flatten(scores.scores)
    precisions = sorted({k for *_, part in parts for k in part.precision_at})
    gains = sorted({k for *_, part in parts for k in part.ndcg_at})
    rows: list[tuple[Cell, ...]] = [
        (
            gallery,
            DIRECTIONS[name],
            part.map,
            part.map_stable,
            part.map_best,
            part.map_worst,
            *(part.precision_at.get(k) for k in precisions),
            *(part.ndcg_at.get(k) for k in gains),
        )
        for gallery, name, part in parts
    ]
    ranked = (*(f"P@{k}" for k in precisions), *(f"NDCG@{k}" for k in gains))
    skipped = f"; {scores.skipped_queries} queries without an answer left out"
    return Table(
        ("gallery", "direction", "mAP", "stable", "best", "worst", *ranked),
        tuple(rows),
        (
            f"{scores.method}, {scores.bits} bits; chance {scores.chance:.4f}"
            + (skipped if scores.skipped_queries else ""),
            str(scores.protocol),
        ),
    )


def partner_table(scores: "Scores") -> Table:
    """Lay out how often an item's own other half is found, and where."""
    parts = flatten(scores.partner)
    ranks = sorted({k for *_, part in parts for k in part.recall_at})
    rows: list[tuple[Cell, ...]] = [
        (
            gallery,
            DIRECTIONS[name],
            *(part.recall_at.get(k) for k in ranks),
            f"{part.median_rank:,.1f}",
        )
        for gallery, name, part in parts
    ]
    pairs = max(part.queries for *_, part in parts)
    return Table(
        ("gallery", "own partner", *(f"first {k}" for k in ranks), "median rank"),
        tuple(rows),
        (f"each query's own other half among those of {pairs:,} query pairs",),
    )


def interval_table(scores: "Scores") -> Table:
    """Lay out the intervals of the main measures."""
    ends = scores.intervals()

    def show(gallery: str, direction: str, measure: str) -> str:
        low, high = ends.get((gallery, direction, measure), (None, None))
        return "-" if low is None else f"{low:.4f}–{high:.4f}"  # noqa: RUF001

    rows = tuple(
        (gallery, DIRECTIONS[name], *(show(gallery, name, measure) for measure in MAIN))
        for gallery, name, _ in flatten(scores.scores)
    )
    titles = (MEASURES[measure].title for measure in MAIN)
    return Table(
        ("gallery", "interval", *titles),
        rows,
        (f"{CONFIDENCE:.0%} of the means of resampled queries (bootstrap)",),
    )
