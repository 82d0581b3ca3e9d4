"""Pairs to codes: of each modality present, and unified ones; what those mean."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fdch.codes import Codes, binarize
from fdch.data.pairs import PairedSet
from fdch.evaluation import Coded, CodedPairs
from fdch.evaluation.calibration import Calibration, fit_calibration
from fdch.index.store import choose_kinds
from fdch.methods._base import PICTURES_AT_A_TIME, ROWS_AT_A_TIME, HashMethod
from fdch.training.context import PLAIN, Context


@dataclass(frozen=True, eq=False)
class EncodedPairs:
    """The codes of pairs, some of which may lack a picture or a text."""

    image: Codes  # codes of the rows with a picture
    text: Codes  # codes of the rows with a text
    unified: Codes | None  # of all rows: the pair's own, else of its one side
    has_image: NDArray[np.bool_]  # which rows have a picture, (rows,)
    has_text: NDArray[np.bool_]  # which rows have a text, (rows,)

    def with_labels(self, labels: NDArray[np.uint8]) -> CodedPairs:
        """Join the codes with their rows' labels, for scoring."""
        return CodedPairs(
            Coded(self.image, labels[self.has_image]),
            Coded(self.text, labels[self.has_text]),
            None if self.unified is None else Coded(self.unified, labels),
            (
                np.flatnonzero(self.has_text[self.has_image]),
                np.flatnonzero(self.has_image[self.has_text]),
            ),
        )


def encode_pairs(
    method: HashMethod, pairs: PairedSet, context: Context = PLAIN
) -> EncodedPairs:
    """Encode every row of a set by whatever it has."""
    has_image, has_text = pairs.images.present, pairs.texts.present
    text = method.encode_texts(pairs.texts[has_text], context)
    if not method.about.unified:
        image = method.encode_images(pairs.images[has_image], context)
        return EncodedPairs(image, text, None, has_image, has_text)
    kinds = choose_kinds(has_image, has_text, method.about.unified)
    both, alone = kinds == "pair", kinds == "image"
    images = np.zeros((len(pairs), text.packed.shape[1]), dtype=np.uint8)
    images[alone] = method.encode_images(pairs.images[alone], context).packed
    unified = images.copy()
    unified[kinds == "text"] = text.packed[~has_image[has_text]]
    whole = np.flatnonzero(both)
    for part, pictures, texts in _input_parts(method, pairs[both], context):
        images[whole[part]] = binarize(method.image_outputs(pictures)).packed
        unified[whole[part]] = binarize(method.pair_outputs(pictures, texts)).packed
    image, pair = (Codes(part, method.bits) for part in (images[has_image], unified))
    return EncodedPairs(image, text, pair, has_image, has_text)


def real_outputs(
    method: HashMethod, pairs: PairedSet, context: Context = PLAIN, of: str = "outputs"
) -> dict[str, NDArray[np.float32]]:
    """Give the real outputs of whole pairs, (pairs, bits), by side.

    With `of="vectors"`, the vectors to order by, of a method that gives some.
    """
    found: dict[str, list[NDArray[np.float32]]] = {}
    for _, images, texts in _input_parts(method, pairs, context):
        given = {"image": (images,), "text": (texts,), "pair": (images, texts)}
        for side in given if method.about.unified else ("image", "text"):
            outputs = getattr(method, f"{side}_{of}")(*given[side])
            found.setdefault(side, []).append(outputs)
    return {side: np.concatenate(parts) for side, parts in found.items()}


def _input_parts(
    method: HashMethod, pairs: PairedSet, context: Context
) -> Iterator[tuple[slice, NDArray[Any], csr_array]]:
    """Give the rows of whole pairs, some at a time, each picture read once."""
    inputs = method.inputs
    at_a_time = PICTURES_AT_A_TIME if inputs.finetune else ROWS_AT_A_TIME
    for start in range(0, len(pairs), at_a_time):
        rows = slice(start, start + at_a_time)
        part = pairs[rows]
        yield rows, inputs.images(part.images, context), inputs.texts(part.texts)


def calibrate(
    method: HashMethod, pairs: PairedSet, context: Context = PLAIN
) -> Calibration | None:
    """Find how probable a result at a distance is, on pairs not trained on.

    None where no two of the pairs, which have both sides and labels, share a label.
    """
    if len(pairs) < 2:
        return None
    return fit_calibration(real_outputs(method, pairs, context), pairs.labels)


def lacks_known_words(method: HashMethod, pairs: PairedSet) -> NDArray[np.bool_]:
    """Tell which rows have a text, but not a single word that the method knows.

    All such texts get one and the same code, which says nothing about them.
    """
    words = abs(method.inputs.texts(pairs.texts)).sum(axis=1)
    return pairs.texts.present & (words == 0)
