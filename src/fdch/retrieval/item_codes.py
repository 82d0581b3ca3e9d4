"""What each item of an index is encoded by: the pair, its picture or its text."""

from collections.abc import Sequence

import numpy as np

from fdch.codes import Codes
from fdch.data.pairs import PairedSet
from fdch.data.texts import Sentences
from fdch.index.store import Kind
from fdch.methods._base import HashMethod
from fdch.runs.encoding import lacks_known_words
from fdch.training.context import PLAIN, Context


def kinds_of(method: HashMethod, pairs: PairedSet) -> list[Kind | None]:
    """Say what each row's code is made of; None where there is nothing to encode.

    A text without a known word says nothing: such a pair is known by its picture.
    """
    has_image = pairs.images.present
    has_words = pairs.texts.present & ~lacks_known_words(method, pairs)
    kinds: list[Kind | None] = []
    for image, words in zip(has_image, has_words, strict=True):
        if image:
            kinds.append("pair" if words and method.about.unified else "image")
        else:
            kinds.append("text" if words else None)
    return kinds


def gallery_codes(
    method: HashMethod,
    pairs: PairedSet,
    kinds: Sequence[Kind],
    context: Context = PLAIN,
) -> Codes:
    """Encode each row by what `kinds_of` said."""
    packed = np.zeros((len(pairs), (method.bits + 7) // 8), dtype=np.uint8)
    made_of = np.array(kinds, dtype=object)
    for kind in dict.fromkeys(kinds):
        rows = np.flatnonzero(made_of == kind)
        if kind == "pair":
            codes = method.encode_pairs(pairs[rows], context)
        elif kind == "image":
            codes = method.encode_images(pairs.images[rows], context)
        else:
            codes = method.encode_texts(pairs.texts[rows], context)
        packed[rows] = codes.packed
    return Codes(packed, method.bits)


def why_unusable(method: HashMethod, pairs: PairedSet, row: int) -> str:
    """Say why there is nothing to encode, with words that would have helped."""
    vocabulary, name = method.inputs.vocabulary, pairs.ids[row]
    reason = f"'{name}' has no picture, and its text no word that the model knows"
    if vocabulary is None or not isinstance(pairs.texts, Sentences):
        return f"{reason}. Leave such rows out, or skip them (--broken skip)."
    return (
        f"{reason}. {vocabulary.hint(pairs.texts.values[row] or '')} Change the text, "
        "or skip broken rows (--broken skip)."
    )
