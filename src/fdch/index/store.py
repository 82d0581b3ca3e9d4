"""What every store of codes promises, be it a folder or a server.

A store keeps codes of one length, made by one model, under the user's own ids,
with what is shown and filtered by. It sees codes and never a method.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, Self, get_args

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes
from fdch.errors import DataError, ModelMismatch, SettingError

Cell = str | int | float | bool | None
Kind = Literal["pair", "image", "text", "code"]
Operator = Literal["=", "!=", "<", "<=", ">", ">=", "^=", "in"]
ColumnType = Literal["number", "date", "boolean", "text"]
LABEL = "label"
MAX_VECTOR_BYTES = 1024
Vectors = NDArray[np.int8]  # one to each item, (items, bytes)
_HALF = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True)
class Item:
    """The record of an indexed item: everything but its code.

    Args:
        id: The user's own name for it.
        text: Its text, where it has one.
        image: Path of its picture, where it has one.
        labels: Names of its labels.
        columns: Further cells, for display and filters.
        kind: What its code was made of; "code" where only the code was given.
    """

    id: str
    text: str | None = None
    image: str | None = None
    labels: tuple[str, ...] = ()
    columns: Mapping[str, Cell] = field(default_factory=dict)
    kind: Kind = "code"


@dataclass(frozen=True)
class ColumnFacts:
    """What a column holds.

    Args:
        type: How its cells are compared.
        counts: How many cells are of each type, and how many items have none: "empty".
        examples: Some cells that fit the type.
        misfits: Some cells that do not, each behind the id of its item.
    """

    type: ColumnType
    counts: Mapping[str, int]
    examples: Sequence[str] = ()
    misfits: Sequence[tuple[str, str]] = ()

    def to_json(self) -> dict[str, object]:
        """Return plain values."""
        misfits = [{"id": id, "value": value} for id, value in self.misfits]
        return {
            "type": self.type,
            "counts": dict(self.counts),
            "examples": list(self.examples),
            "misfits": misfits,
        }


@dataclass(frozen=True)
class Contents:
    """What filters can use, with numbers of items.

    Args:
        facets: The most frequent values of each column.
        extremes: The smallest and the largest number of each column of numbers.
        kinds: What codes were made of.
        uncounted: Why nothing of this is known; None where it is.
        distinct: How many values each column has.
        columns: What each column holds, by type.
    """

    facets: Mapping[str, Sequence[tuple[Cell, int]]] = field(default_factory=dict)
    extremes: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    kinds: Mapping[str, int] = field(default_factory=dict)
    uncounted: str | None = None
    distinct: Mapping[str, int] = field(default_factory=dict)
    columns: Mapping[str, ColumnFacts] = field(default_factory=dict)


@dataclass(frozen=True)
class Facets:
    """How many of the items that a search can return have each value.

    Args:
        items: How many items there are.
        columns: The most frequent values of each column, with their counts. Of a
            column's values, conditions on that column itself rule out none; those on
            labels count for labels, too.
        uncounted: Columns that are not counted, and why.
    """

    items: int
    columns: Mapping[str, Sequence[tuple[Cell, int]]] = field(default_factory=dict)
    uncounted: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        """Return plain values."""
        columns = {
            name: [{"value": value, "count": count} for value, count in counted]
            for name, counted in self.columns.items()
        }
        return {**vars(self), "columns": columns, "uncounted": dict(self.uncounted)}


@dataclass(frozen=True)
class Condition:
    """What an item must fulfil to be found; several conditions must all hold.

    How values are compared depends on the column's type: see docs/search.md. An item
    without the cell fulfils no condition, not even "!=".

    Args:
        column: Name of a column, or "label": any of the item's labels; for "!=",
            all of them.
        operator: How to compare; "^=" demands a beginning.
        values: One value; several only for "in".
    """

    column: str
    operator: Operator
    values: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.operator not in get_args(Operator):
            known = ", ".join(get_args(Operator))
            raise SettingError(
                f"'{self.operator}' compares nothing in a condition on "
                f"'{self.column}'; write one of {known}."
            )
        if not isinstance(self.values, tuple) or not all(
            isinstance(value, str) for value in self.values
        ):
            raise SettingError(
                f"the values of a condition on '{self.column}' are a tuple of texts; "
                f"got {self.values!r}."
            )


@dataclass(frozen=True)
class WordQuery:
    """Words that texts are matched with, beside the code of the same query.

    Args:
        words: As `index/storage/catalogue/word_table.py` splits texts.
        weight: Bits by which an item is nearer whose text matches all of them.
        radius: The largest Hamming distance of an item that matches; None for any.
        also: Other words that match in place of some of them.
    """

    words: tuple[str, ...]
    weight: float
    radius: int | None = None
    also: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Answer:
    """What was found for one query: nearest first, ties in order of insertion.

    With a `Choose`, in its order instead.

    Args:
        ids: Of the items found.
        distances: Hamming distances, (found,).
        codes: Codes of the items found.
        scanned: How many codes were compared or ruled out by bounds.
        items: Their records when they were found; None where the store's
            `items` must be read afterwards.
        vectors: Of the items found; None where the store has none.
        shares: Of the query's words that each matches, 0 to 1; None where no words
            were matched.
        words: Of the query, those that count, by the form in which texts hold them. A
            word of most texts does not count.
    """

    ids: tuple[str, ...]
    distances: NDArray[np.uint16]
    codes: Codes
    scanned: int
    items: tuple[Item | None, ...] | None = None
    vectors: Vectors | None = None
    shares: NDArray[np.float64] | None = None
    words: Mapping[str, str] = field(default_factory=dict)


class Known(NamedTuple):
    """Items with their codes and vectors, as of one moment."""

    items: list[Item]
    codes: Codes
    vectors: Vectors | None  # None where the store has none


# Orders the candidates found for one query, before anything is read of the items.
# It takes the number of the query, from 0; distances of the candidates, nearest first,
# ties in order of insertion; their codes; their vectors, where the store has some; the
# shares of the query's words that each matches, where words were given. It returns the
# places of the candidates to keep, the best first.
Choose = Callable[
    [int, NDArray[np.uint16], Codes, Vectors | None, NDArray[np.float64] | None],
    NDArray[np.intp],
]


@dataclass(frozen=True)
class Added:
    """What an `add` did."""

    new: int
    replaced: int


class CodeStore(Protocol):
    """Codes under ids. `add` and `remove` return when the change is on disk."""

    name: str  # what it was opened by: a folder's path, or a server's address
    bits: int  # length of the codes
    model: str  # fingerprint of the model that makes the codes
    vector_bytes: int  # of each item's vector; 0 where the store has none
    keeps_types: bool = True  # whether `set_types` can change types that are there

    def words_obstacle(self) -> str:
        """Say why items cannot be found by the words of their texts, "" if they can."""

    def holds_words(self, words: Sequence[str]) -> list[bool]:
        """Return for each word of a `WordQuery` whether a text has it in some form.

        None has where there is a `words_obstacle`.
        """
        return [False] * len(words)

    def __len__(self) -> int:
        """Count the items."""

    def add(
        self, items: Sequence[Item], codes: Codes, vectors: Vectors | None = None
    ) -> Added:
        """Add items, all or none; an item with a known id replaces that one.

        `vectors`, (items, vector_bytes), are needed where the store has them.
        """

    def remove(self, ids: Iterable[str]) -> list[str]:
        """Remove items; return those of the ids that were not there."""

    def items(self, ids: Sequence[str]) -> list[Item | None]:
        """Return item records, None for an unknown id."""

    def fetch(self, ids: Sequence[str]) -> Known:
        """Return items, codes and vectors as of one moment.

        DataError names ids that are not there.
        """

    def sample(self, count: int, seed: int = 0) -> tuple[list[str], Codes]:
        """Return ids and codes of at most so many items, drawn at random if it can."""

    def search(
        self,
        queries: Codes,
        k: int | None = None,
        radius: int | None = None,
        where: Sequence[Condition] = (),
        choose: Choose | None = None,
        words: Sequence[WordQuery] | None = None,
    ) -> list[Answer]:
        """Find for each query the nearest items that fulfil all conditions.

        They are the k nearest, all within the radius, or the k nearest within it.
        With `choose`, these are candidates among which it chooses. With `words`, one
        to each query, the best k of those that match them are candidates too, within
        a radius of their own; only where there is no `words_obstacle`.
        """

    def contents(self, most: int = 20) -> Contents:
        """Count what filters can use, up to so many values of each column."""

    def facets(
        self,
        where: Sequence[Condition] = (),
        most: int = 20,
        near: tuple[Codes, int] | None = None,
        words: WordQuery | None = None,
    ) -> Facets:
        """Count values of items that fulfil conditions.

        With `near`, of those within a radius of a code; with `words`, of those whose
        texts match one that counts, only where there is no `words_obstacle`.
        """

    def notes(self, where: Sequence[Condition]) -> tuple[str, ...]:
        """Say what is odd about conditions, such as a value that no item has."""

    def types(self) -> dict[str, ColumnType]:
        """Return how the cells of each column are compared."""

    def set_types(self, types: Mapping[str, ColumnType]) -> None:
        """Choose how the cells of some columns are compared, and keep that."""

    def model_folder(self) -> Path:
        """Return a folder with the model's files; DamagedIndex if there are none."""

    def describe(self) -> dict[str, object]:
        """Return items, bits, model, then bytes and the like; plain values for JSON."""

    def close(self) -> None:
        """Close files or connections."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()


def choose_kinds(
    has_image: NDArray[np.bool_], has_text: NDArray[np.bool_], is_unified: bool
) -> NDArray[np.object_]:
    """Choose which code each item gets: of the pair, of its picture or of its text.

    "code" is for an item with neither, which has only a code that it is given.
    `is_unified`: the model makes one code of a pair.

    >>> has_image, has_text = np.array([[1, 1, 0, 0], [1, 0, 1, 0]], dtype=bool)
    >>> choose_kinds(has_image, has_text, True).tolist()
    ['pair', 'image', 'text', 'code']
    >>> choose_kinds(has_image, has_text, False).tolist()
    ['image', 'image', 'text', 'code']
    """
    cases = [has_image & has_text & is_unified, has_image, has_text]
    return np.select(cases, ["pair", "image", "text"], "code").astype(object)


def check_vector_bytes(width: int) -> None:
    """Refuse a length of vectors that no store has."""
    if not 0 <= width <= MAX_VECTOR_BYTES:
        raise SettingError(
            f"an item's vector has 1 to {MAX_VECTOR_BYTES} bytes, 0 for none; got "
            f"{width}."
        )


def check_length(store: CodeStore, codes: Codes) -> None:
    """Refuse codes of another length than those of a store."""
    if codes.bits != store.bits:
        raise ModelMismatch(
            f"index '{store.name}' holds codes of {store.bits} bits (model "
            f"{store.model}); these have {codes.bits}. Encode with the index's own "
            "model, or make a new index."
        )


def check_items(items: Sequence[Item], codes: Codes) -> None:
    """Refuse items to add that have not one code each, and an id of their own."""
    if len(items) != len(codes):
        raise DataError(
            f"{len(items)} items were given {len(codes)} codes. Give one code to each "
            "item."
        )
    for id, count in Counter(item.id for item in items).most_common(1):
        if count > 1:
            raise DataError(
                f"id '{id}' occurs {count} times. Give each item an id of its own."
            )


def check_vectors(name: str, width: int, items: int, vectors: Vectors | None) -> None:
    """Refuse vectors that do not fit the store of a name and the items to add."""
    given = None if vectors is None else (vectors.dtype, vectors.shape)
    if given != ((np.dtype(np.int8), (items, width)) if width else None):
        keeps = f"vectors as int8 of shape {(items, width)}" if width else "no vectors"
        raise ModelMismatch(
            f"index '{name}' keeps {keeps} of {items} items; got "
            f"{'none' if given is None else f'{given[0]} of shape {given[1]}'}. Encode "
            "with the index's own model, or make a new index."
        )


def unknown_ids(name: str, unknown: Sequence[str]) -> DataError:
    """Make the error of ids that a store does not have."""
    listed = ", ".join(f"'{id}'" for id in unknown[:10])
    return DataError(
        f"index '{name}' has no item {listed}{', ...' if len(unknown) > 10 else ''}. "
        "Check the spelling; searching by words shows the ids of what is found."
    )


def is_whole(text: str) -> bool:
    """Return whether a text has no half character (surrogate), which no store keeps."""
    return not _HALF.search(text)


def require_several(what: str, given: object) -> None:
    """Refuse one text where several are wanted: its letters are not meant."""
    if isinstance(given, str | bytes):
        raise DataError(f"several {what} are a list, such as [{given[:40]!r}].")
    if not isinstance(given, Iterable):
        raise DataError(f"{what} are a list; got {type(given).__name__}.")


def read_ids(given: Iterable[object]) -> list[str]:
    """Take ids as `PairedSet.from_arrays` does: numbers are their digits.

    >>> read_ids(np.arange(2))
    ['0', '1']
    """
    require_several("ids", given)
    return [str(each) for each in given]
