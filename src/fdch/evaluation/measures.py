"""The names of directions, galleries and measures, and what tables call them."""

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

from fdch.errors import SettingError, suggestion

DIRECTIONS = {"image_to_text": "image → text", "text_to_image": "text → image"}
GALLERIES = ("modality", "unified")
_Part = TypeVar("_Part")
PARTNER = "partner_"  # begins the names of measures that need no labels
MEDIAN_RANK = f"{PARTNER}median_rank"


class Measure(NamedTuple):
    """A measure's short title and what it means."""

    title: str
    meaning: str
    is_rank: bool = False  # a median rank: lower is better, no mean over queries

    @property
    def places(self) -> int:
        """Digits to show after the point."""
        return 1 if self.is_rank else 4


MEASURES: Mapping[str, Measure] = {
    "map": Measure("mAP", "mAP, expected over the orders of tied items"),
    "map_stable": Measure("mAP stable", "mAP, tied items in database order"),
    "map_best": Measure("mAP best", "mAP, best order of tied items"),
    "map_worst": Measure("mAP worst", "mAP, worst order of tied items"),
    "precision_at_1": Measure("P@1", "share of relevant items at rank 1"),
    "precision_at_10": Measure("P@10", "share of relevant items among the first 10"),
    "ndcg_at_10": Measure(
        "NDCG@10", "NDCG of the first 10, graded by the number of shared labels"
    ),
    "partner_recall_at_1": Measure(
        "partner@1", "queries whose own other half is the first of all"
    ),
    "partner_recall_at_10": Measure(
        "partner@10", "queries whose own other half is among the first 10 of all"
    ),
    "partner_recall_at_50": Measure(
        "partner@50", "queries whose own other half is among the first 50 of all"
    ),
    MEDIAN_RANK: Measure(
        "partner rank",
        "rank of a query's own other half among all, median over queries",
        is_rank=True,
    ),
}
# what a person looks at first, and what LaTeX has tables of
MAIN = (
    *("map", "precision_at_1", "precision_at_10", "ndcg_at_10"),
    "partner_recall_at_10",
)


def require_measure(name: str) -> None:
    """Refuse an unknown measure."""
    if name not in MEASURES:
        raise SettingError(
            f"unknown measure {name!r}{suggestion(name, MEASURES) or '.'}"
        )


def flatten(
    parts: Mapping[str, Mapping[str, _Part]],
) -> list[tuple[str, str, _Part]]:
    """List all entries with their gallery and direction.

    >>> flatten({"modality": {"image_to_text": 0.5}})
    [('modality', 'image_to_text', 0.5)]
    """
    return [
        (gallery, direction, part)
        for gallery, directions in parts.items()
        for direction, part in directions.items()
    ]
