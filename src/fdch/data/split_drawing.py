"""Sizes of the parts of a split, and drawing these at random, in units kept whole.

A unit is a single pair, or a group of pairs with the same picture or text. Parts are
filled with the units in a random order; one that is larger than what is left of a part
is left for the next.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fdch.data.duplicates import Grouping, number_groups
from fdch.data.pairs import PairedSet
from fdch.errors import DataError, SettingError

# a part may stay this much smaller where groups do not fit exactly
MIN_FILLED = 0.9
_SAME = {"pictures": "picture", "texts": "text", "both": "picture or text"}

Ids = tuple[str, ...]


@dataclass(frozen=True)
class SplitSizes:
    """How many pairs to draw.

    >>> SplitSizes(query=2000, train=5000).held_out
    500
    """

    query: int  # pairs to search with, 0 for none; all others are the database
    train: int  # pairs of the database to learn from
    validation: int | None = None  # held out of these; None for a tenth
    labelled: int | None = None  # of the others, with their labels; None for all
    unlabelled: int = 0  # further pairs of the database to learn from without labels

    def __post_init__(self) -> None:
        if self.query < 0 or not 0 <= self.held_out < self.train:
            raise SettingError(
                f"a split needs 0 or more queries, a training pair and fewer "
                f"validation than training pairs; got {self.query} queries and "
                f"{self.train} for training, {self.held_out} of them for validation."
            )
        learning = self.train - self.held_out
        if not 0 <= self.with_labels <= learning or self.unlabelled < 0:
            raise SettingError(
                f"of {learning} training pairs without validation, from 0 to all keep "
                "their labels, and no fewer than 0 pairs are added without; got "
                f"{self.with_labels} and {self.unlabelled}."
            )

    @property
    def with_labels(self) -> int:
        """Training pairs that keep their labels, validation not counted."""
        learning = self.train - self.held_out
        return learning if self.labelled is None else self.labelled

    @property
    def held_out(self) -> int:
        """Pairs for validation, given or a tenth of the training."""
        return self.train // 10 if self.validation is None else self.validation

    @classmethod
    def without_queries(cls, usable: int) -> "SplitSizes":
        """All pairs for training, a tenth of them, at most 1,000, for validation."""
        return cls(query=0, train=max(1, usable), validation=min(1000, usable // 10))

    @classmethod
    def usual(cls, usable: int) -> "SplitSizes":
        """A tenth for queries, half for training; at most 2,000 and 5,000."""
        query = min(2000, max(1, usable // 10))
        return cls(query=query, train=min(5000, max(1, usable // 2)))


def draw_ids(
    pairs: PairedSet,
    seed: int,
    sizes: SplitSizes | None,
    barred: Collection[str],
    groups: Grouping | None,
) -> tuple[Ids, Ids, Ids, Ids]:
    """Draw the ids of queries, training, validation, and without labels.

    See `Split.draw`.
    """
    both = pairs.images.present & pairs.texts.present
    complete = find_usable(pairs)
    usable = int(complete.sum())
    wanted = sizes or pairs.benchmark or SplitSizes.usual(usable)
    units = _find_units(pairs, complete, groups)
    names = np.array(sorted(units), dtype=object)
    np.random.default_rng(seed).shuffle(names)
    known = [name for name in names if any(each in barred for each in units[name])]

    def fill(part: str, size: int, names: Sequence[str]) -> tuple[Ids, list[str]]:
        """Take units in order where they fit; return their ids, and the units left."""
        taken: list[str] = []
        left: list[str] = []
        for name in names:
            if len(taken) + len(units[name]) <= size:
                taken += units[name]
            else:
                left.append(name)
        if len(taken) >= (MIN_FILLED if groups else 1) * size:
            return tuple(taken), left
        reason = f"{usable:,} of {len(pairs):,} pairs have an image, a text and a label"
        if known and part == "queries":
            many = sum(len(units[name]) for name in known)
            reason += f", {many:,} were learned from and cannot be queries"
        if groups:
            largest = max((len(units[name]) for name in left), default=0)
            reason += (
                f"; those with the same {_SAME[groups]} stay together, in the database "
                f"where one lacks any of these (the largest group left has {largest:,})"
            )
        raise DataError(
            f"only {len(taken):,} of {size:,} {part} can be drawn: {reason}. Give more "
            "pairs, or change the sizes or the grouping of the split."
        )

    held_back = set(known)
    free = [name for name in names if name not in held_back]
    query, left = fill("queries", wanted.query, free)
    learning = wanted.train - wanted.held_out
    train, left = fill("training pairs", learning, left + known)
    held_out, left = fill("validation pairs", wanted.held_out, left)
    more, _ = fill("pairs without labels", wanted.unlabelled, left)
    hidden = train[wanted.with_labels :]
    unlabelled = tuple(sorted(pairs.ids[both & ~complete]))
    return query, train[: wanted.with_labels], held_out, hidden + more + unlabelled


def find_usable(pairs: PairedSet) -> NDArray[np.bool_]:
    """Return which pairs have both sides, and a label where any pair has one."""
    both = pairs.images.present & pairs.texts.present
    return both & pairs.labels.any(axis=1) if pairs.labels.any() else both


def _find_units(
    pairs: PairedSet, complete: NDArray[np.bool_], groups: Grouping | None
) -> dict[str, Sequence[str]]:
    """Return the units that are drawn together, by their smallest id.

    These are groups with no member that cannot be drawn.
    """
    if groups is None:
        return {name: (name,) for name in pairs.ids[complete]}
    numbers = number_groups(pairs, groups)
    undrawable = set(numbers[~complete].tolist())
    members: dict[int, list[str]] = {}
    for number, name in zip(numbers.tolist(), pairs.ids, strict=True):
        if number not in undrawable:
            members.setdefault(number, []).append(name)
    return {min(names): sorted(names) for names in members.values()}
