"""Texts and pictures as codes to search with."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import sparse

from fdch.codes import Codes, binarize
from fdch.data.conversion import as_images
from fdch.data.fitting import count_words
from fdch.data.pictures.images import Images
from fdch.data.texts import Sentences, Texts, Vocabulary, WordVectors
from fdch.data.word_forms import forms_of, hint_words
from fdch.data.words import cut_words, fold_case
from fdch.errors import DataError, UnknownWords
from fdch.evaluation.calibration.model import QueryFacts
from fdch.evaluation.ordering import QueryOrder, join_orders
from fdch.export.model import ExportedModel
from fdch.methods._base import PICTURES_AT_A_TIME, HashMethod
from fdch.retrieval.ordering import find_ordering
from fdch.training.context import PLAIN, Context

Encoder = HashMethod | ExportedModel
Text = str | NDArray[Any]
Picture = str | Path | bytes | Image.Image | NDArray[Any]
MAX_READ = 20  # unknown words of a query that others are looked up for
_SHOWN = 100


@dataclass(frozen=True, eq=False)
class Queries:
    """Encoded queries, one in each place of every list."""

    descriptions: Sequence[Mapping[str, Any]]  # what is searched for, plain values
    kinds: Sequence[str]  # what the code was made of
    codes: Codes
    outputs: NDArray[np.float32] | None = None  # whose signs the codes are, if known
    without: Sequence[Sequence[str]] | None = None  # ids to leave out of the results
    avoided: Sequence[Sequence[str]] | None = None  # words that no result's text has
    words: NDArray[np.int64] | None = None  # how many known words a text has
    order: QueryOrder | None = None  # of items' vectors, where the model has them

    def facts(self, row: int) -> QueryFacts:
        """Return what the probability of a query's results depends on."""
        outputs = None if self.outputs is None else self.outputs[row]
        words = None if self.words is None else int(self.words[row])
        return QueryFacts(self.kinds[row], outputs, words)


def encode_text_queries(encoder: Encoder, texts: Sequence[Text]) -> Queries:
    """Encode texts with a known word, or vectors for methods that learned from such."""
    vocabulary = encoder.inputs.vocabulary
    given, texts = texts, list(texts)
    descriptions: list[dict[str, Any]] = []
    for place, text in enumerate(given):
        descriptions.append({"text": text if isinstance(text, str) else None})
        if vocabulary is not None and isinstance(text, str):
            read = read_query(vocabulary, text)
            texts[place] = read.text
            descriptions[-1]["unknown_words"] = list(read.unknown)
            descriptions[-1]["read_as"] = dict(read.read_as)
    words = encoder.inputs.texts(_texts(texts), remember=False)
    is_known = np.asarray(abs(words).sum(axis=1)).ravel() > 0
    if not is_known.all():
        place = int(is_known.argmin())
        which = "" if len(texts) == 1 else f"text {place + 1} of {len(texts)}: "
        raise UnknownWords(which + _no_known_word(given[place], vocabulary))
    outputs, ordering = encoder.text_outputs(words), find_ordering(encoder)
    return Queries(
        descriptions,
        ["text"] * len(texts),
        binarize(outputs),
        outputs,
        words=count_words(words, encoder.inputs.static_width),
        order=None if ordering is None else ordering.weigh_texts(words, outputs),
    )


def encode_image_queries(
    encoder: Encoder, pictures: Sequence[Picture], context: Context = PLAIN
) -> Queries:
    """Encode pictures, or ready features; their features are not cached."""
    context = Context(context.progress, context.device, remember=False)
    found, orders, ordering = [], [], find_ordering(encoder)
    for images in _split_by_kind(pictures):
        features = encoder.inputs.images(images, context)
        found.append(encoder.image_outputs(features))
        if ordering is not None:
            orders.append(ordering.weigh_images(features, found[-1]))
    outputs, order = np.concatenate(found), join_orders(orders) if orders else None
    names = [str(p) if isinstance(p, str | Path) else None for p in pictures]
    descriptions = [{"image": name} for name in names]
    kinds = ["image"] * len(names)
    return Queries(descriptions, kinds, binarize(outputs), outputs, order=order)


def _texts(texts: Sequence[Text]) -> Texts:
    if all(isinstance(text, str) for text in texts):
        return Sentences(list(map(str, texts)))
    if any(isinstance(text, str) for text in texts):
        raise DataError("give texts or ready vectors, not both at once.")
    vectors = [np.ravel(np.asarray(text)) for text in texts]
    for text, vector in zip(texts, vectors, strict=True):
        if vector.dtype.kind not in "biuf":
            raise DataError(
                "search with a text, or a vector of numbers; got "
                f"{type(text).__name__}."
            )
    return WordVectors(sparse.csr_array(np.stack(vectors)))


def _split_by_kind(pictures: Sequence[Picture]) -> Iterator[Images]:
    """Yield runs of pictures of one kind that fit into memory."""
    kinds = [_kind(picture) for picture in pictures]
    start = 0
    for stop in range(1, len(pictures) + 1):
        is_last = stop == len(pictures) or stop - start == PICTURES_AT_A_TIME
        if is_last or kinds[stop] != kinds[start]:
            yield as_images(list(pictures[start:stop]))
            start = stop


def _kind(picture: Picture) -> object:
    if isinstance(picture, np.ndarray):
        return picture.shape
    if isinstance(picture, Image.Image):
        return picture.size
    if not isinstance(picture, str | Path | bytes):
        raise DataError(
            "search with a picture's path, its file's content, a picture of Pillow or "
            f"its pixels as an array; got {type(picture).__name__}."
        )
    return bytes if isinstance(picture, bytes) else Path


def _no_known_word(text: Text, vocabulary: Vocabulary | None) -> str:
    if vocabulary is None or not isinstance(text, str):
        return "the text vector is all zero; give one with a word in it."
    said = f"no word of '{text[:_SHOWN]}' is known to the model."
    if not text.strip():
        said = "the text is empty; enter some words."
    return f"{said} {hint_words(vocabulary, text)}"


class ReadText(NamedTuple):
    """A query's text, with known words in place of unknown ones."""

    text: str  # what to encode
    read_as: Mapping[str, str]  # known words by the unknown ones they replace
    unknown: tuple[str, ...]  # what is left that the model does not know


def read_query(vocabulary: Vocabulary, text: str) -> ReadText:
    """Replace unknown words by known forms, else by known words near in meaning.

    A model with static embeddings reads unknown words anyway; it gets forms alone.

    >>> read_query(Vocabulary(("mug", "red")), "red mugs, qwertz").read_as
    {'mugs': 'mug'}
    """
    words = list(dict.fromkeys(_unknown_words(vocabulary, text)))[:MAX_READ]
    found = {word: _find_known(vocabulary, word) for word in words}
    read_as = {word: known for word, known in found.items() if known is not None}
    unknown = tuple(vocabulary.unknown(text, read_as))
    return ReadText(
        _replace(vocabulary, text, read_as) if read_as else text, read_as, unknown
    )


def can_read(vocabulary: Vocabulary, text: str) -> bool:
    """Return whether a text has a word that the model knows, or is read as one."""
    return vocabulary.reads(text) or bool(read_query(vocabulary, text).read_as)


def _unknown_words(vocabulary: Vocabulary, text: str) -> list[str]:
    chunks = (chunk for chunk in fold_case(text).split() if chunk not in vocabulary)
    return [w for chunk in chunks for w in cut_words(chunk) if w not in vocabulary]


def _replace(vocabulary: Vocabulary, text: str, read_as: Mapping[str, str]) -> str:
    """Write a text again with the words that it is read as."""
    parts: list[str] = []
    for chunk in text.split():
        words = [] if fold_case(chunk) in vocabulary else cut_words(chunk)
        if any(word in read_as for word in words):
            parts += (read_as.get(word, word) for word in words)
        else:
            parts.append(chunk)
    return " ".join(parts)


def _find_known(vocabulary: Vocabulary, word: str) -> str | None:
    forms = forms_of(vocabulary.words)
    found = forms.find_form(word)
    if found is None and not vocabulary.static_width:
        found = forms.find_meaning(word)
    return found
