"""Drawing the parts of a split at random, in units that stay whole.

A unit is a single pair, or a group of pairs with the same picture or text. Parts are
filled with the units in a random order; one that is larger than what is left of a part
is left for the next.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fdch.data.duplicates import Grouping, number_groups
from fdch.data.pairs import PairedSet
from fdch.errors import DataError

if TYPE_CHECKING:
    from fdch.data.splits import SplitSizes

# a part may stay this much smaller where groups do not fit exactly
MIN_FILLED = 0.9
_NAMED = 3
_SAME = {"pictures": "picture", "texts": "text", "both": "picture or text"}

Units = Mapping[str, Sequence[str]]  # ids by the smallest of them
Ids = tuple[str, ...]


def draw_ids(
    pairs: PairedSet,
    seed: int,
    sizes: "SplitSizes | None",
    barred: Collection[str],
    groups: Grouping | None,
) -> tuple[Ids, Ids, Ids, Ids]:
    """Draw the ids of queries, training, validation, and without labels.

    See `Split.draw`.
    """
    from fdch.data.splits import SplitSizes

    both = pairs.images.present & pairs.texts.present
    complete = find_usable(pairs)
    unlabelled: Ids = tuple(sorted(pairs.ids[both & ~complete]))
    usable = int(complete.sum())
    wanted = sizes or pairs.benchmark or SplitSizes.usual(usable)
    units = _units(pairs, complete, groups)
    _require_enough(wanted, usable, _count(units, units), len(pairs), groups)
    names = np.array(sorted(units), dtype=object)
    np.random.default_rng(seed).shuffle(names)
    kept_back = {name for name in units if any(each in barred for each in units[name])}
    free = [name for name in names if name not in kept_back]
    _require_queries(wanted.query, _count(units, free), _count(units, names), pairs)
    query, left = _fill("queries", wanted.query, free, units, groups)
    left += [name for name in names if name in kept_back]
    learning = wanted.train - wanted.held_out
    train, left = _fill("training pairs", learning, left, units, groups)
    held_out, left = _fill("validation pairs", wanted.held_out, left, units, groups)
    more, _ = _fill("pairs without labels", wanted.unlabelled, left, units, groups)
    hidden = train[wanted.with_labels :]
    return query, train[: wanted.with_labels], held_out, hidden + more + unlabelled


def find_usable(pairs: PairedSet) -> NDArray[np.bool_]:
    """Return which pairs have both sides, and a label where any pair has one."""
    both = pairs.images.present & pairs.texts.present
    return both & pairs.labels.any(axis=1) if pairs.labels.any() else both


def _units(
    pairs: PairedSet, complete: NDArray[np.bool_], groups: Grouping | None
) -> Units:
    """Return what is drawn together: groups with no member that cannot be drawn."""
    if groups is None:
        return {name: (name,) for name in pairs.ids[complete]}
    numbers = number_groups(pairs, groups)
    undrawable = set(numbers[~complete].tolist())
    members: dict[int, list[str]] = {}
    for number, name in zip(numbers.tolist(), pairs.ids, strict=True):
        if number not in undrawable:
            members.setdefault(number, []).append(name)
    return {min(names): sorted(names) for names in members.values()}


def _fill(
    part: str, size: int, names: Sequence[str], units: Units, groups: Grouping | None
) -> tuple[Ids, list[str]]:
    """Take units in order where they fit; return their ids, and the units left."""
    taken: list[str] = []
    left: list[str] = []
    for name in names:
        if len(taken) + len(units[name]) <= size:
            taken += units[name]
        else:
            left.append(name)
    if len(taken) < MIN_FILLED * size:
        largest = sorted((len(units[name]) for name in left), reverse=True)[:_NAMED]
        shown = ", ".join(f"{number:,}" for number in largest)
        raise DataError(
            f"only {len(taken):,} of {size:,} {part} can be drawn without dividing a "
            f"group of pairs with the same {_SAME[groups or 'both']}; the largest "
            f"groups left have {shown} pairs. Change the sizes of the split, or "
            "choose another grouping."
        )
    return tuple(taken), left


def _count(units: Units, names: Iterable[str]) -> int:
    return sum(len(units[name]) for name in names)


def _require_enough(
    wanted: "SplitSizes", usable: int, drawable: int, there: int, groups: str | None
) -> None:
    needed = wanted.query + wanted.train + wanted.unlabelled
    if needed > usable:
        learning = needed - wanted.query
        raise DataError(
            f"the split needs {needed:,} pairs with image, text and label "
            f"({wanted.query:,} queries and {learning:,} for training); of "
            f"{there:,} pairs {usable:,} have all three. Give more pairs, or smaller "
            "sizes."
        )
    if groups and needed > drawable:
        raise DataError(
            f"the split needs {needed:,} pairs; of {usable:,} with image, text and "
            f"label {usable - drawable:,} have the same {_SAME[groups]} as pairs that "
            "lack one of these, and stay in the database with them. Give smaller "
            "sizes, or choose another grouping."
        )


def _require_queries(wanted: int, free: int, usable: int, pairs: PairedSet) -> None:
    if wanted > free:
        raise DataError(
            f"of the {usable:,} pairs of '{pairs.name}' with image, text and label "
            f"{usable - free:,} were learned from and cannot be queries; {free:,} "
            f"are left, and the split needs {wanted:,} queries. Give data with more "
            "pairs that are new."
        )
