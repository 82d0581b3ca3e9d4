"""Add pairs to a store: join them with known halves, encode them, write them."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes
from fdch.data.pairs import Broken, PairedSet, Skipped
from fdch.data.texts import Sentences
from fdch.errors import UnknownWords
from fdch.index.store import CodeStore, Item, choose_kinds
from fdch.methods._base import HashMethod
from fdch.retrieval.items import (
    fill_halves,
    find_lost_halves,
    join,
    lacks_half,
    make_items,
)
from fdch.runs.encoding import lacks_known_words
from fdch.training.context import PLAIN, Context


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
    pairs = fill_halves(pairs, known)
    is_joined = is_half & ~lacks_half(pairs)
    lost = find_lost_halves(pairs, known, is_joined)
    if lost and broken == "refuse":
        raise next(iter(lost.values()))
    kinds = gallery_kinds(method, pairs)
    is_unknown = kinds == "code"
    is_unknown[list(lost)] = False
    if is_unknown.any() and broken == "refuse":
        raise UnknownWords(_explain_unusable(method, pairs, int(is_unknown.argmax())))
    skipped = [Skipped(str(pairs.ids[i]), str(why)) for i, why in lost.items()]
    skipped += [
        Skipped(str(name), "it has no picture and no known word")
        for name in pairs.ids[is_unknown]
    ]
    is_kept = ~is_unknown
    is_kept[list(lost)] = False
    if not is_kept.any():
        return AddedPairs(skipped=tuple(skipped))
    pairs, kinds, is_joined = pairs[is_kept], kinds[is_kept], is_joined[is_kept]
    codes = encode_gallery(method, pairs, kinds, context)
    items = make_items(pairs, kinds)
    if merge:
        for row in np.flatnonzero(is_joined):
            items[row] = join(items[row], known[items[row].id])
    added = store.add(items, codes)
    return AddedPairs(added.new, added.replaced, int(is_joined.sum()), tuple(skipped))


def gallery_kinds(method: HashMethod, pairs: PairedSet) -> NDArray[np.object_]:
    """Say which code each row gets; "code" where there is nothing to encode.

    A text without a known word says nothing: such a pair gets its picture's code.
    """
    has_text = pairs.texts.present & ~lacks_known_words(method, pairs)
    return choose_kinds(pairs.images.present, has_text, method.about.unified)


def encode_gallery(
    method: HashMethod,
    pairs: PairedSet,
    kinds: NDArray[np.object_],
    context: Context = PLAIN,
) -> Codes:
    """Encode each row by its kind: the pair, its picture or its text."""
    packed = np.zeros((len(pairs), (method.bits + 7) // 8), dtype=np.uint8)
    for kind in dict.fromkeys(kinds):
        rows = np.flatnonzero(kinds == kind)
        if kind == "pair":
            codes = method.encode_pairs(pairs[rows], context)
        elif kind == "image":
            codes = method.encode_images(pairs.images[rows], context)
        else:
            codes = method.encode_texts(pairs.texts[rows], context)
        packed[rows] = codes.packed
    return Codes(packed, method.bits)


def _explain_unusable(method: HashMethod, pairs: PairedSet, row: int) -> str:
    """Say why there is nothing to encode, with words that would have helped."""
    vocabulary, name = method.inputs.vocabulary, pairs.ids[row]
    reason = f"'{name}' has no picture, and its text no word that the model knows"
    if vocabulary is None or not isinstance(pairs.texts, Sentences):
        return f"{reason}. Leave such rows out, or skip them (--broken skip)."
    return (
        f"{reason}. {vocabulary.hint(pairs.texts.values[row] or '')} Change the text, "
        "or skip broken rows (--broken skip)."
    )
