"""Rows of pairs as items of an index, and halves joined with what is known."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fdch.data.images import PictureArray, PictureFiles
from fdch.data.pairs import PairedSet
from fdch.data.texts import Sentences, WordVectors
from fdch.index.store import Cell, Item, Kind

WORDS_SHOWN = 20


def items_of(pairs: PairedSet, kinds: Sequence[Kind]) -> list[Item]:
    """Give what an index keeps of each row besides its code."""
    columns = list(pairs.columns.items())
    return [
        Item(
            id=str(pairs.ids[row]),
            text=_text(pairs, row),
            image=_image(pairs, row),
            labels=tuple(
                pairs.label_names[i] for i in np.flatnonzero(pairs.labels[row])
            ),
            columns={
                name: _cell(values[row])
                for name, values in columns
                if values[row] is not None
            },
            kind=kind,
        )
        for row, kind in enumerate(kinds)
    ]


def lacks_half(pairs: PairedSet) -> NDArray[np.bool_]:
    """Tell which rows have one side only."""
    return pairs.images.present != pairs.texts.present


def with_known_halves(pairs: PairedSet, known: Mapping[str, Item]) -> PairedSet:
    """Fill the sides that rows lack with those of the items known by their ids.

    Args:
        pairs: Rows, some with one side only.
        known: What the index has under their ids.
    """
    items = [known.get(str(name)) for name in pairs.ids]
    texts, images = pairs.texts, pairs.images
    if isinstance(texts, Sentences):
        sentences = texts.values.copy()
        for row, item in enumerate(items):
            if item is not None and sentences[row] is None:
                sentences[row] = item.text
        texts = Sentences(sentences, texts.vocabulary)
    if isinstance(images, PictureFiles):
        paths = images.paths.copy()
        for row, item in enumerate(items):
            if item is not None and item.image is not None and paths[row] is None:
                paths[row] = Path(item.image)
        images = PictureFiles(paths, images.limits)
    return replace(pairs, texts=texts, images=images)


def joined(item: Item, known: Item | None) -> Item:
    """Give a new half the labels and cells that it lacks and the known half has."""
    if known is None:
        return item
    return replace(
        item,
        labels=item.labels or known.labels,
        columns={**known.columns, **item.columns},
    )


def _text(pairs: PairedSet, row: int) -> str | None:
    texts = pairs.texts
    if isinstance(texts, Sentences):
        text: str | None = texts.values[row]
        return text
    if isinstance(texts, WordVectors) and texts.words is not None:
        numbers = texts.matrix.indices[
            texts.matrix.indptr[row] : texts.matrix.indptr[row + 1]
        ]
        return " ".join(texts.words[number] for number in numbers[:WORDS_SHOWN]) or None
    return None


def _image(pairs: PairedSet, row: int) -> str | None:
    images, path = pairs.images, None
    if isinstance(images, PictureFiles):
        path = images.paths[row]
    elif isinstance(images, PictureArray) and images.paths is not None:
        path = images.paths[int(images.rows[row])]
    return None if path is None else str(Path(path).absolute())


def _cell(value: Any) -> Cell:
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, str | int | float | bool) else str(value)
