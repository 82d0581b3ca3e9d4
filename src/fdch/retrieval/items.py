"""Make items of rows of pairs, and join halves with the halves known before."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fdch.data.pairs import PairedSet
from fdch.data.pictures.images import (
    PictureArray,
    PictureFiles,
    Pictures,
    check_pictures,
)
from fdch.data.texts import Sentences, WordVectors
from fdch.errors import BrokenPicture, DataError
from fdch.index.store import Cell, Item, Kind

WORDS_SHOWN = 20


def make_items(pairs: PairedSet, kinds: Iterable[Kind]) -> list[Item]:
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
    """Say which rows have one side only."""
    return pairs.images.present != pairs.texts.present


def fill_halves(pairs: PairedSet, known: Mapping[str, Item]) -> PairedSet:
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


def find_lost_halves(
    pairs: PairedSet, known: Mapping[str, Item], is_joined: NDArray[np.bool_]
) -> dict[int, DataError]:
    """Say which rows would cost their items a half, and why.

    Args:
        pairs: Rows, with the halves that could be filled.
        known: What the index has under their ids.
        is_joined: Which rows got a half from there.
    """
    lost: dict[int, DataError] = {}
    for row in np.flatnonzero(lacks_half(pairs)):
        item = known.get(str(pairs.ids[row]))
        if item is None:
            continue
        has_picture = item.image is not None or item.kind in ("pair", "image")
        has_text = item.text is not None or item.kind in ("pair", "text")
        if has_picture and not pairs.images.present[row]:
            lost[int(row)] = BrokenPicture(_unreadable(item, "picture"))
        elif has_text and not pairs.texts.present[row]:
            lost[int(row)] = DataError(_unreadable(item, "text"))
    if isinstance(pairs.images, Pictures):
        rows = np.flatnonzero(is_joined)
        for place, problem in check_pictures(pairs.images[rows]):
            item = known[str(pairs.ids[rows[place]])]
            if item.image == _image(pairs, int(rows[place])):
                lost[int(rows[place])] = BrokenPicture(
                    f"{problem} It is the picture that the index has of '{item.id}', "
                    "and without it the pair would be only a text. Give picture and "
                    "text together, or remove the item first."
                )
    return lost


def _unreadable(item: Item, what: str) -> str:
    return (
        f"the index has a {what} of '{item.id}' that cannot be read again, so it "
        "cannot be joined with this half. Give picture and text together, or remove "
        "the item first."
    )


def join(item: Item, known: Item) -> Item:
    """Give a new half the labels and cells that it lacks and the known half has."""
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
