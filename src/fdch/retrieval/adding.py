"""Add pairs to a store: join them with known halves, encode them, write them."""

import filecmp
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes, binarize
from fdch.data.pairs import SKIP_BROKEN, Broken, PairedSet, Skipped
from fdch.data.pictures.batches import check_pictures
from fdch.data.pictures.images import PictureArray, PictureFiles
from fdch.data.texts import Sentences
from fdch.data.word_forms import hint_words
from fdch.errors import BrokenPicture, DataError, UnknownWords
from fdch.index.store import (
    Added,
    Cell,
    CodeStore,
    Item,
    Kind,
    Vectors,
    choose_kinds,
)
from fdch.methods._base import PICTURES_AT_A_TIME, ROWS_AT_A_TIME, HashMethod
from fdch.retrieval.ordering import find_ordering
from fdch.runs.encoding import lacks_known_words
from fdch.runs.engines import Engine
from fdch.training.context import PLAIN, Context

NOTHING_TO_ENCODE = "it has no picture and no known word"
_OTHER_ITEM = (
    "the data has no ids, so that row {id} would replace another item that the index "
    "has as '{id}'. Say which column has the ids: --columns id=NAME, or ids= in "
    "Python. If the row is to replace that item, remove the item first."
)


@dataclass(frozen=True)
class AddedPairs:
    """What `add` did."""

    new: int = 0  # items that were not there before
    replaced: int = 0  # items that took the place of those with their ids
    joined: int = 0  # of these, halves that were joined with the half known before
    skipped: tuple[Skipped, ...] = ()  # rows left out, and why

    def __add__(self, more: "AddedPairs") -> "AddedPairs":
        return AddedPairs(
            self.new + more.new,
            self.replaced + more.replaced,
            self.joined + more.joined,
            self.skipped + more.skipped,
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        skipped = [{"row": row.name, "reason": row.reason} for row in self.skipped]
        return {**asdict(self), "skipped": skipped}


def add_parts(
    store: CodeStore,
    method: HashMethod,
    engine: Engine,
    parts: Iterable[PairedSet],
    broken: Broken,
    merge: bool,
) -> Generator[AddedPairs]:
    """Encode parts of pairs and add each, all or none of it; see `Index.add`."""
    known: dict[str, Item] = {}  # the items of which parts on their way have one side

    def prepare(part: PairedSet) -> PairedSet:
        halves = [str(name) for name in part.ids[_lacks_half(part)]]
        found = {item.id: item for item in store.items(halves) if item is not None}
        known.update(found)
        return _join_halves(part, found, broken)

    for part, (kinds, encoded) in engine.run(encode_part, map(prepare, parts)):
        is_unknown = kinds == "code"
        if is_unknown.any() and broken == "refuse":
            raise UnknownWords(_explain_unusable(method, part, is_unknown.argmax()))
        unknown = [Skipped(str(n), NOTHING_TO_ENCODE) for n in part.ids[is_unknown]]
        skipped = (*part.skipped, *unknown)
        usable = part[~is_unknown]
        items = _make_items(usable, kinds[~is_unknown])
        joined = 0
        for row in np.flatnonzero(~_lacks_half(usable)).tolist():
            half = known.pop(items[row].id, None)
            if half is not None:
                joined += 1
                items[row] = _join(items[row], half) if merge else items[row]
        if part.numbered:
            refuse_other_items(store, items, encoded.codes)
        elif part.named_by_path:
            _refuse_other_pictures(store, items)
        added = store.add(items, *encoded) if items else Added(0, 0)
        yield AddedPairs(added.new, added.replaced, joined, skipped)


def _join_halves(
    pairs: PairedSet, known: Mapping[str, Item], broken: Broken
) -> PairedSet:
    """Fill the side that rows lack from items known by their ids.

    Rows that would cost their items a side are refused or skipped.
    """
    texts, images = pairs.texts, pairs.images
    sentences = texts.values.copy() if isinstance(texts, Sentences) else None
    paths = images.paths.copy() if isinstance(images, PictureFiles) else None
    lost: dict[int, DataError] = {}
    joined: list[int] = []  # rows that got a picture
    for row, item in enumerate(known.get(str(name)) for name in pairs.ids):
        if item is None:
            continue
        if images.present[row]:
            if sentences is not None and item.text is not None:
                sentences[row] = item.text
            elif item.text is not None or item.kind in ("pair", "text"):
                lost[row] = DataError(_unreadable(item, "text"))
        elif paths is not None and item.image is not None:
            paths[row] = Path(item.image)
            joined.append(row)
        elif item.image is not None or item.kind in ("pair", "image"):
            lost[row] = BrokenPicture(_unreadable(item, "picture"))
    if isinstance(texts, Sentences) and sentences is not None:
        texts = Sentences(sentences, texts.vocabulary)
    if isinstance(images, PictureFiles) and paths is not None:
        images = PictureFiles(paths, images.limits)
        for place, problem in check_pictures(images[joined]):
            row = joined[place]
            lost[row] = BrokenPicture(
                f"{problem} It is the picture that the index has of '{pairs.ids[row]}',"
                " and without it the pair would be only a text. Give picture and text "
                "together, or remove the item first."
            )
    if lost and broken == "refuse":
        raise next(iter(lost.values()))
    skipped = tuple(Skipped(str(pairs.ids[row]), str(lost[row])) for row in lost)
    kept = [row for row in range(len(pairs)) if row not in lost]
    filled = replace(pairs, texts=texts, images=images)
    return replace(filled[kept], skipped=pairs.skipped + skipped)


def encode_part(
    method: HashMethod, pairs: PairedSet, context: Context
) -> tuple[NDArray[np.object_], "Encoded"]:
    """Return the kind of each row's code, and what all but the kind "code" become."""
    kinds = gallery_kinds(method, pairs)
    rows = np.flatnonzero(kinds != "code")
    return kinds, encode_gallery(method, pairs[rows], kinds[rows], context)


def gallery_kinds(method: HashMethod, pairs: PairedSet) -> NDArray[np.object_]:
    """Choose which code each row gets; "code" where there is nothing to encode.

    A text without a known word says nothing: such a pair gets its picture's code.
    """
    has_text = pairs.texts.present & ~lacks_known_words(method, pairs)
    return choose_kinds(pairs.images.present, has_text, method.about.unified)


class Encoded(NamedTuple):
    """What an index keeps of some rows to search by."""

    codes: Codes
    vectors: Vectors | None  # None where the method gives none


def encode_gallery(
    method: HashMethod,
    pairs: PairedSet,
    kinds: NDArray[np.object_],
    context: Context = PLAIN,
) -> Encoded:
    """Encode each row by its kind: the pair, its picture or its text."""
    ordering, vectors = find_ordering(method), None
    codes = np.zeros((len(pairs), (method.bits + 7) // 8), dtype=np.uint8)
    if ordering is not None:
        vectors = np.zeros((len(pairs), ordering.bytes), dtype=np.int8)
    for kind in dict.fromkeys(kinds):
        for rows, inputs in _inputs_of(method, kind, pairs, kinds, context):
            outputs = getattr(method, f"{kind}_outputs")(*inputs)
            codes[rows] = binarize(outputs).packed
            if ordering is not None and vectors is not None:
                vectors[rows] = getattr(ordering, f"{kind}_vectors")(*inputs)
    return Encoded(Codes(codes, method.bits), vectors)


def _inputs_of(
    method: HashMethod,
    kind: Kind,
    pairs: PairedSet,
    kinds: NDArray[np.object_],
    context: Context,
) -> Iterator[tuple[NDArray[np.intp], tuple[Any, ...]]]:
    """Yield the rows of a kind, some at a time, with what the method encodes."""
    inputs, chosen = method.inputs, np.flatnonzero(kinds == kind)
    at_a_time = PICTURES_AT_A_TIME if inputs.finetune else ROWS_AT_A_TIME
    for start in range(0, len(chosen), at_a_time):
        rows = chosen[start : start + at_a_time]
        images = inputs.images(pairs.images[rows], context) if kind != "text" else None
        texts = inputs.texts(pairs.texts[rows]) if kind != "image" else None
        yield rows, tuple(each for each in (images, texts) if each is not None)


def _make_items(pairs: PairedSet, kinds: Iterable[Kind]) -> list[Item]:
    """Return what an index keeps of each row besides its code."""
    columns = list(pairs.columns.items())
    return [
        Item(
            id=str(pairs.ids[row]),
            text=pairs.texts.text(row),
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


def refuse_other_items(
    store: CodeStore, items: list[Item], codes: Codes, *, by_codes: bool = False
) -> None:
    """Refuse to replace other items by rows whose ids are only their numbers.

    A row is the same as an item if text and picture are; where it has neither to
    compare, or `by_codes`, if its code is, too.
    """
    known = store.items([item.id for item in items])
    there = [row for row, item in enumerate(known) if item is not None]
    if not there:
        return
    before = store.fetch([items[row].id for row in there])
    for row, item, code in zip(there, before.items, before.codes.packed, strict=True):
        new = items[row]
        is_same = new.text == item.text and _is_same_picture(new.image, item.image)
        if by_codes or (new.text is None and new.image is None):
            is_same = is_same and np.array_equal(codes.packed[row], code)
        if not is_same:
            raise DataError(_OTHER_ITEM.format(id=new.id))


def _refuse_other_pictures(store: CodeStore, items: list[Item]) -> None:
    """Refuse to replace other pictures by those that have their paths in a folder."""
    known = store.items([item.id for item in items])
    for new, item in zip(items, known, strict=True):
        if item is None or item.image is None or new.image is None:
            continue
        if not _is_same_picture(new.image, item.image):
            raise DataError(
                f"'{new.image}' would replace '{item.image}', another picture that "
                f"the index has as '{new.id}': pictures of a folder are named by their "
                "paths in it. Rename the new one, or list the pictures in a table with "
                "ids of its own. If it is to replace that item, remove the item first."
            )


def _is_same_picture(new: str | None, known: str | None) -> bool:
    """Return whether two paths are the same, or the file was moved or copied.

    A file that cannot be read may be another one.
    """
    if new is None or known is None or new == known:
        return new == known
    if Path(new).name != Path(known).name:
        return False
    try:
        return not Path(known).is_file() or filecmp.cmp(new, known, shallow=False)
    except OSError:
        return False


def _lacks_half(pairs: PairedSet) -> NDArray[np.bool_]:
    """Return which rows have one side only."""
    return pairs.images.present != pairs.texts.present


def _unreadable(item: Item, what: str) -> str:
    return (
        f"the index has a {what} of '{item.id}' that cannot be read again, so it "
        "cannot be joined with this half. Give picture and text together, or remove "
        "the item first."
    )


def _join(item: Item, known: Item) -> Item:
    """Give a new half the labels and cells that it lacks and the known half has."""
    return replace(
        item,
        labels=item.labels or known.labels,
        columns={**known.columns, **item.columns},
    )


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


def _explain_unusable(method: HashMethod, pairs: PairedSet, row: int) -> str:
    """Say why there is nothing to encode, with words that would have helped."""
    vocabulary, name = method.inputs.vocabulary, pairs.ids[row]
    reason = f"'{name}' has no picture, and its text no word that the model knows"
    if vocabulary is None or not isinstance(pairs.texts, Sentences):
        return f"{reason}. Leave such rows out, or skip them ({SKIP_BROKEN})."
    return (
        f"{reason}. {hint_words(vocabulary, pairs.texts.values[row] or '')} Change the "
        f"text, or skip broken rows ({SKIP_BROKEN})."
    )
