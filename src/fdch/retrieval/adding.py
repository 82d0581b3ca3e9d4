"""Pairs on their way into a store: joined with known halves, encoded, added."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fdch.data.pairs import Broken, PairedSet, Skipped
from fdch.errors import UnknownWords
from fdch.index.store import CodeStore, Item
from fdch.methods._base import HashMethod
from fdch.retrieval.item_codes import gallery_codes, kinds_of, why_unusable
from fdch.retrieval.items import (
    items_of,
    joined,
    lacks_half,
    lost_halves,
    with_known_halves,
)
from fdch.training.context import Context


@dataclass(frozen=True)
class AddedPairs:
    """What `add` did.

    Args:
        new: Items that were not there before.
        replaced: Items that took the place of those with their ids.
        joined: Of these, halves that were joined with the half known before.
        skipped: Rows left out, and why.
    """

    new: int = 0
    replaced: int = 0
    joined: int = 0
    skipped: tuple[Skipped, ...] = ()

    def __add__(self, more: "AddedPairs") -> "AddedPairs":
        return AddedPairs(
            self.new + more.new,
            self.replaced + more.replaced,
            self.joined + more.joined,
            self.skipped + more.skipped,
        )

    def to_json(self) -> dict[str, Any]:
        """Give plain values."""
        skipped = [{"row": row.name, "reason": row.reason} for row in self.skipped]
        return {**asdict(self), "skipped": skipped}


def add_pairs(
    store: CodeStore,
    method: HashMethod,
    pairs: PairedSet,
    broken: Broken,
    merge: bool,
    context: Context,
) -> AddedPairs:
    """Encode pairs and add them, all at once; see `Index.add`.

    Args:
        store: Where to.
        method: What encodes them.
        pairs: As many as fit into memory.
        broken: Whether a row without anything to encode is refused or skipped.
        merge: Whether a row that is joined keeps what it lacks itself.
        context: Device and progress of encoding.
    """
    is_half = lacks_half(pairs)
    known: dict[str, Item] = {}
    for item in store.items([str(name) for name in pairs.ids[is_half]]):
        if item is not None:
            known[item.id] = item
    pairs = with_known_halves(pairs, known)
    is_joined = is_half & ~lacks_half(pairs)
    lost = lost_halves(pairs, known, is_joined)
    if lost and broken == "refuse":
        raise next(iter(lost.values()))
    kept = np.ones(len(pairs), dtype=np.bool_)
    kept[list(lost)] = False
    skipped = [Skipped(str(pairs.ids[i]), str(why)) for i, why in lost.items()]
    pairs, is_joined = pairs[kept], is_joined[kept]
    kinds = kinds_of(method, pairs)
    usable = np.array([kind is not None for kind in kinds], dtype=np.bool_)
    if not usable.all() and broken == "refuse":
        raise UnknownWords(why_unusable(method, pairs, int(usable.argmin())))
    skipped += [
        Skipped(str(name), "it has no picture and no known word")
        for name in pairs.ids[~usable]
    ]
    if not usable.any():
        return AddedPairs(skipped=tuple(skipped))
    pairs, is_joined = pairs[usable], is_joined[usable]
    chosen = [kind for kind in kinds if kind is not None]
    codes = gallery_codes(method, pairs, chosen, context)
    items = items_of(pairs, chosen)
    if merge:
        for row in np.flatnonzero(is_joined):
            items[row] = joined(items[row], known[items[row].id])
    added = store.add(items, codes)
    return AddedPairs(added.new, added.replaced, int(is_joined.sum()), tuple(skipped))
