"""Pairs to codes: of each modality present, and unified ones; what those mean."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fdch.codes import Codes, binarize
from fdch.data.duplicates import shared_pairs
from fdch.data.fitting import count_words
from fdch.data.pairs import PairedSet, require_pairs, share_labels
from fdch.data.texts import Sentences, Texts
from fdch.errors import DataError
from fdch.evaluation import Coded, CodedPairs
from fdch.evaluation.calibration.fitting import (
    MAX_ITEMS,
    MAX_PAIRS,
    MIN_PAIRS,
    EncodedSides,
    fit_calibration,
)
from fdch.evaluation.calibration.model import Calibration
from fdch.evaluation.ordering import QueryOrder, join_orders
from fdch.index.storage.catalogue.word_table import split_words, stem_word
from fdch.methods._base import (
    PICTURES_AT_A_TIME,
    ROWS_AT_A_TIME,
    HashMethod,
    require_method,
)
from fdch.progress import Progress, Update, silent
from fdch.runs.engines import Engine, cut_into_parts
from fdch.training.context import PLAIN, Context

WORD_HASHES = 2**20


@dataclass(frozen=True, eq=False)
class EncodedPairs:
    """The codes of pairs, some of which may lack a picture or a text."""

    image: Codes  # codes of the rows with a picture
    text: Codes  # codes of the rows with a text
    unified: Codes | None  # of all rows: the pair's own, else of its one side
    has_image: NDArray[np.bool_]  # which rows have a picture, (rows,)
    has_text: NDArray[np.bool_]  # which rows have a text, (rows,)
    # what orders them, by side and row as in the codes; empty where distances do
    orders: Mapping[str, QueryOrder] = field(default_factory=dict)
    vectors: Mapping[str, NDArray[np.int8]] = field(default_factory=dict)

    @property
    def item_vectors(self) -> NDArray[np.int8] | None:
        """What orders each row as an item, by what its code is made of, if anything."""
        if not self.vectors or "unified" in self.vectors:
            return self.vectors.get("unified")
        shape = len(self.has_image), self.vectors["image"].shape[1]
        found = np.zeros(shape, np.int8)
        found[self.has_text] = self.vectors["text"]
        found[self.has_image] = self.vectors["image"]
        return found

    def with_labels(self, labels: NDArray[np.uint8]) -> CodedPairs:
        """Join the codes with their rows' labels, for scoring."""

        def join(side: str, codes: Codes, own: NDArray[np.uint8]) -> Coded:
            return Coded(codes, own, self.orders.get(side), self.vectors.get(side))

        return CodedPairs(
            join("image", self.image, labels[self.has_image]),
            join("text", self.text, labels[self.has_text]),
            None if self.unified is None else join("unified", self.unified, labels),
            (
                np.flatnonzero(self.has_text[self.has_image]),
                np.flatnonzero(self.has_image[self.has_text]),
            ),
        )


def encode_in_parts(
    engine: Engine, pairs: PairedSet, progress: Progress = silent
) -> tuple[PairedSet, EncodedPairs]:
    """Encode pairs with an engine; return those that it kept, with their codes."""
    parts = cut_into_parts(pairs, engine.pictures_at_a_time, ROWS_AT_A_TIME)
    found: list[EncodedPairs] = []
    kept: set[str] = set()
    skipped = pairs.skipped
    done = 0
    for part, codes in engine.run(encode_pairs, parts):
        found.append(codes)
        kept.update(part.ids)
        skipped += part.skipped
        done += len(part) + len(part.skipped)
        progress(Update("encoding", done, len(pairs), "pair"))
    if not kept:
        raise DataError(
            f"none of the {len(pairs):,} rows of '{pairs.name}' can be encoded; the "
            f"first because: {skipped[0].reason} Repair the pictures."
        )
    rows = [name in kept for name in pairs.ids]
    return replace(pairs[rows], skipped=skipped), _join(found)


def _join(found: Sequence[EncodedPairs]) -> EncodedPairs:
    unified = [each.unified for each in found if each.unified is not None]
    first = found[0]
    return EncodedPairs(
        Codes.concatenate([each.image for each in found]),
        Codes.concatenate([each.text for each in found]),
        Codes.concatenate(unified) if unified else None,
        np.concatenate([each.has_image for each in found]),
        np.concatenate([each.has_text for each in found]),
        {
            side: join_orders([each.orders[side] for each in found])
            for side in first.orders
        },
        {
            side: np.concatenate([each.vectors[side] for each in found])
            for side in first.vectors
        },
    )


def encode_pairs(
    method: HashMethod, pairs: PairedSet, context: Context = PLAIN
) -> EncodedPairs:
    """Encode every row of a set by whatever it has, with what orders it."""
    return _join(
        [_encode_part(method, *each) for each in _parts(method, pairs, context)]
    )


def _encode_part(
    method: HashMethod, part: PairedSet, images: NDArray[Any], texts: csr_array
) -> EncodedPairs:
    """Encode rows; `images` and `texts` are the inputs of those that have them."""
    shown, read = part.images.present, part.texts.present
    both = shown & read
    halves = images[both[shown]], texts[both[read]]

    def encode(outputs: Callable[..., NDArray[Any]], *inputs: Any) -> Codes:
        if not inputs[0].shape[0]:
            return Codes(np.zeros((0, (method.bits + 7) // 8), np.uint8), method.bits)
        return binarize(outputs(*inputs))

    def overlay(image: NDArray[Any], text: NDArray[Any], pair: Any) -> NDArray[Any]:
        """Take what belongs to a pair, else what belongs to its one side."""
        whole = np.zeros((len(part), image.shape[1]), image.dtype)
        whole[read], whole[shown] = text, image
        whole[both] = pair
        return whole

    image, text = (
        encode(method.image_outputs, images),
        encode(method.text_outputs, texts),
    )
    unified = None
    if method.about.unified:
        pair = encode(method.pair_outputs, *halves)
        packed = overlay(image.packed, text.packed, pair.packed)
        unified = Codes(packed, method.bits)
    if (ordering := method.ordering) is None:
        return EncodedPairs(image, text, unified, shown, read)
    orders = {
        "image": ordering.weigh_images(images),
        "text": ordering.weigh_texts(texts),
    }
    vectors = {
        "image": ordering.image_vectors(images),
        "text": ordering.text_vectors(texts),
    }
    if method.about.unified:
        own = ordering.pair_vectors(*halves)
        vectors["unified"] = overlay(vectors["image"], vectors["text"], own)
    return EncodedPairs(image, text, unified, shown, read, orders, vectors)


def real_outputs(
    method: HashMethod, pairs: PairedSet, context: Context = PLAIN
) -> dict[str, NDArray[np.float32]]:
    """Return the real outputs of whole pairs, (pairs, bits), by side."""
    found: dict[str, list[NDArray[np.float32]]] = {}
    for _, images, texts in _parts(method, pairs, context):
        given = {"image": (images,), "text": (texts,), "pair": (images, texts)}
        for side in given if method.about.unified else ("image", "text"):
            outputs = getattr(method, f"{side}_outputs")(*given[side])
            found.setdefault(side, []).append(outputs)
    return {side: np.concatenate(parts) for side, parts in found.items()}


class _PartsAsOne:
    """Reports work on the pictures of one part after the other as one task."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress, self._total = progress, total
        self._before = self._part = 0
        self._last = -1

    def begin(self, part: int) -> None:
        """Begin a part of so many pictures."""
        self._before += self._part
        self._part = part

    def __call__(self, update: Update) -> None:
        if update.unit != "picture":
            self._progress(update)
            return
        done = self._before + self._part * update.done // max(update.total, 1)
        if done > self._last:
            self._last = done
            self._progress(replace(update, done=done, total=self._total))


def _parts(
    method: HashMethod, pairs: PairedSet, context: Context
) -> Iterator[tuple[PairedSet, NDArray[Any], csr_array]]:
    """Yield some rows at a time, with the inputs of their pictures and texts.

    Features of many pictures are computed at once; where vectors order items, few rows
    follow at a time, since what orders the queries is wide.
    """
    inputs = method.inputs
    size = PICTURES_AT_A_TIME if inputs.finetune else ROWS_AT_A_TIME
    step = size if method.ordering is None else PICTURES_AT_A_TIME
    progress = _PartsAsOne(context.progress, int(pairs.images.present.sum()))
    context = replace(context, progress=progress)
    for start in range(0, len(pairs), size) or [0]:
        rows = pairs[start : start + size]
        shown, read = rows.images.present, rows.texts.present
        progress.begin(int(shown.sum()))
        images = inputs.images(rows.images[shown], context)
        texts = inputs.texts(rows.texts[read])
        for first in range(0, len(rows), step) or [0]:
            some = slice(first, first + step)
            before = shown[:first].sum(), read[:first].sum()
            own_images = slice(before[0], before[0] + shown[some].sum())
            own_texts = slice(before[1], before[1] + read[some].sum())
            yield rows[some], images[own_images], texts[own_texts]


def calibrate(
    method: HashMethod,
    pairs: PairedSet,
    training: PairedSet | None = None,
    context: Context = PLAIN,
) -> Calibration | None:
    """Find how probable results are, on pairs not trained on.

    Args:
        method: A fitted method.
        pairs: Held-out pairs, which have both sides; those without labels are left out.
        training: The training pairs: with them as items to search, few held-out pairs
            are enough, and a large index is judged better.
        context: Device and progress.

    Returns:
        None where fewer than ten of the pairs have labels, or no two share one.
    """
    require_method(method)
    require_pairs(pairs, *([] if training is None else [training]))
    if training is not None:
        pairs, training = share_labels(pairs, training)
        if found := shared_pairs(pairs, training):
            raise DataError(
                f"{len(found):,} of the held-out pairs are also among the training "
                f"pairs, such as '{found[0]}'. Give pairs that the method was not "
                "trained on."
            )
    held_out = pairs[pairs.labels.any(axis=1)][:MAX_PAIRS]
    if len(held_out) < MIN_PAIRS:
        return None
    items = None
    if training is not None and training.labels.any():
        labelled = np.flatnonzero(training.labels.any(axis=1))
        step = max(1, -(-len(labelled) // MAX_ITEMS))
        searched = training[labelled[::step]]
        items = encode_sides(method, searched, context)
        items = replace(items, held=hold_words(searched.texts))
    encoded = encode_sides(method, held_out, context)
    encoded = replace(encoded, held=hold_words(held_out.texts))
    shortened = _shorten(method, held_out)
    return fit_calibration(encoded, items, shortened, method.trained_on)


def encode_sides(
    method: HashMethod, pairs: PairedSet, context: Context = PLAIN
) -> EncodedSides:
    """Return the real outputs of whole pairs with their labels and known words."""
    words = count_words(method.inputs.texts(pairs.texts), method.inputs.static_width)
    found = EncodedSides(real_outputs(method, pairs, context), words, pairs.labels)
    if (ordering := method.ordering) is None:
        return found
    coded = encode_pairs(method, pairs, context)
    orders, vectors = dict(coded.orders), dict(coded.vectors)
    if method.about.unified:
        vectors["pair"] = vectors.pop("unified")
        codes = binarize(found.outputs["pair"])
        orders["pair"] = ordering.weigh_items(codes, vectors["pair"])
    return replace(found, orders=orders, vectors=vectors)


def _shorten(method: HashMethod, pairs: PairedSet) -> EncodedSides | None:
    """Encode some words of each text, mostly few, as people type them."""
    inputs = method.inputs
    if not isinstance(pairs.texts, Sentences) or inputs.vocabulary is None:
        return None
    random = np.random.default_rng(0)
    texts: list[str] = []
    for row in range(len(pairs)):
        text = pairs.texts.text(row) or ""
        words = np.array(text.split(), dtype=object)
        number = int(np.ceil(len(words) ** random.random()))
        some = " ".join(words[np.sort(random.permutation(len(words))[:number])])
        texts.append(some if inputs.vocabulary.number_words(some) else text)
    vectors = inputs.texts(Sentences(texts), remember=False)
    words = count_words(vectors, inputs.static_width)
    outputs, held = method.text_outputs(vectors), hold_words(Sentences(texts))
    orders = {}
    if method.ordering is not None:
        orders["text"] = method.ordering.weigh_texts(vectors, outputs)
    return EncodedSides({"text": outputs}, words, pairs.labels, held, orders)


def lacks_known_words(method: HashMethod, pairs: PairedSet) -> NDArray[np.bool_]:
    """Return which rows have a text, but not a single word that the method knows.

    All such texts get one and the same code, which says nothing about them.
    """
    words = abs(method.inputs.texts(pairs.texts)).sum(axis=1)
    return pairs.texts.present & (words == 0)


def hold_words(texts: Texts) -> csr_array | None:
    """Mark the words of texts as an index finds them, (texts, hashes of words)."""
    if not isinstance(texts, Sentences):
        return None
    columns = [
        np.unique([crc32(stem_word(w).encode()) % WORD_HASHES for w in split_words(t)])
        for t in texts.values
    ]
    starts = np.cumsum([0, *map(len, columns)])
    places = np.concatenate([np.empty(0, np.int64), *columns]).astype(np.int64)
    shape = (len(columns), WORD_HASHES)
    return csr_array((np.ones(len(places), np.float32), places, starts), shape)
