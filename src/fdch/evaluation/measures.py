"""The names of directions, galleries and measures, and what tables call them."""

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

from fdch.errors import SettingError, suggestion

DIRECTIONS = {"image_to_text": "image → text", "text_to_image": "text → image"}
GALLERIES = ("modality", "unified")
_Part = TypeVar("_Part")
PARTNER = "partner_"  # begins the names of measures that need no labels


class Measure(NamedTuple):
    """A measure's short title and what it means."""

    title: str
    meaning: str


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
    "partner_recall_at_10": Measure(
        "partner@10", "queries whose own other half is among the first 10 of all"
    ),
}
# what a person looks at; the others say how far the order of ties could move mAP
MAIN = tuple(name for name in MEASURES if not name.startswith("map_"))


def require_measure(name: str) -> None:
    """Refuse a measure that there is not."""
    if name not in MEASURES:
        raise SettingError(
            f"unknown measure {name!r}{suggestion(name, MEASURES) or '.'}"
        )


def flatten(
    parts: Mapping[str, Mapping[str, _Part]],
) -> list[tuple[str, str, _Part]]:
    """List what there is by gallery and direction.

    >>> flatten({"modality": {"image_to_text": 0.5}})
    [('modality', 'image_to_text', 0.5)]
    """
    return [
        (gallery, direction, part)
        for gallery, directions in parts.items()
        for direction, part in directions.items()
    ]
