"""What a search returns: the items found for one query, nearest first."""

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from fdch.data.words import fold_accents, place_words
from fdch.errors import FdchError, count_noun
from fdch.index.storage.catalogue.word_table import stem_word
from fdch.index.store import Cell, Facets, Item

MAX_CHARACTERS = 20_000  # of a text that are looked at
MAX_MARKS = 100
MAX_DRAWN, SIDE_DRAWN = 50, 96  # pictures in a notebook, and their pixels
_SHOWN = 60


class Match(NamedTuple):
    """A word of the query that occurs in a text, from one character to another."""

    word: str
    start: int
    end: int


@dataclass(frozen=True, repr=False)
class Result:
    """One item that was found.

    Args:
        item: Its record.
        distance: Bits in which its code differs from the query's; None where the
            model knows no word of the query.
        probability: That it is relevant; None where that is not known.
        similar: Ids of the results grouped under it; None without grouping.
        matched: Where words of the query occur in its text.
    """

    item: Item
    distance: int | None
    probability: float | None
    similar: tuple[str, ...] | None = None
    matched: tuple["Match", ...] = ()

    def __repr__(self) -> str:
        apart = "" if self.distance is None else f", {self.distance} bits apart"
        return f"<Result {self.id!r}{apart}>"

    @property
    def id(self) -> str:
        """The item's id."""
        return self.item.id

    @property
    def text(self) -> str | None:
        """Its text, where it has one."""
        return self.item.text

    @property
    def image(self) -> str | None:
        """Path of its picture, where it has one."""
        return self.item.image

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of its labels."""
        return self.item.labels

    @property
    def columns(self) -> Mapping[str, Cell]:
        """Its further cells."""
        return self.item.columns

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        similar = {} if self.similar is None else {"similar": list(self.similar)}
        return {
            "id": self.id,
            "distance": self.distance,
            "probability": self.probability,
            "text": self.text,
            "image": self.image,
            "labels": list(self.labels),
            "columns": dict(self.columns),
            **similar,
            "matched": [match._asdict() for match in self.matched],
        }


@dataclass(frozen=True, repr=False)
class Results(Sequence[Result]):
    """What was found for one query, best first.

    Args:
        query: What was searched for and how, as plain values.
        results: The items found.
        scanned: Codes compared, or ruled out by bounds.
        milliseconds: How long it took, encoding included, loading the model not; in a
            batch, its share.
        notes: What is odd about the conditions, such as a value that no item has, and
            how results were sorted.
        facets: How many items have each value, where that was requested.
    """

    query: Mapping[str, Any]
    results: tuple[Result, ...]
    scanned: int
    milliseconds: float
    notes: tuple[str, ...] = ()
    facets: Facets | None = None

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, place: Any) -> Any:
        return self.results[place]

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    @property
    def ids(self) -> list[str]:
        """Ids of the items found."""
        return [result.id for result in self.results]

    def __repr__(self) -> str:
        given = (self.query.get(kind) for kind in ("text", "id", "image"))
        query = next((f" for {each[:_SHOWN]!r}" for each in given if each), "")
        return f"<{count_noun(len(self), 'result')}{query}>"

    def __str__(self) -> str:
        lines = [
            f"{bits:>4}  {probable:>4}  {name}  {text}"
            for bits, probable, name, text, _ in self._table()
        ]
        return "\n".join(lines) or "nothing was found"

    def _repr_html_(self) -> str:
        """Show a table in a notebook, with the pictures that are files here."""
        pictures = [_draw(each) for each in self.results[:MAX_DRAWN]]
        header = ("bits", "probable", "id", "text", "labels")
        cells = [
            "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row)
            for tag, row in (("th", header), *(("td", row) for row in self._table()))
        ]
        if any(pictures):
            more = [""] * (len(self.results) - len(pictures))
            drawn = ["<th></th>", *(f"<td>{each}</td>" for each in [*pictures, *more])]
            cells = [first + row for first, row in zip(drawn, cells, strict=True)]
        table = "".join(f"<tr>{row}</tr>" for row in cells)
        return f"<p>{escape(repr(self))}</p><table>{table}</table>"

    def _table(self) -> Iterator[tuple[str, ...]]:
        for each in self.results:
            known = each.probability
            probable = "?" if known is None else f"{known:.0%}"
            text, labels = each.text or each.image or "", ", ".join(each.labels)
            bits = "" if each.distance is None else str(each.distance)
            yield bits, probable, each.id, text[:_SHOWN], labels

    def to_json(self) -> dict[str, Any]:
        """Return the document of `fdch search --json`.

        `pandas.DataFrame(results.to_json()["results"])` is a frame of the results.
        """
        return {
            "query": dict(self.query),
            "results": [result.to_json() for result in self.results],
            "scanned": self.scanned,
            "milliseconds": self.milliseconds,
            "notes": list(self.notes),
            **({} if self.facets is None else {"facets": self.facets.to_json()}),
        }


def mark_words(text: str | None, words: Mapping[str, str]) -> tuple[Match, ...]:
    """Find the words of a query in a text, whole words in the same form or another.

    They come in order; of two that overlap, the second begins where the first ends.
    `words` are those of the query, by the forms in which texts hold them.

    >>> mark_words("Two dogs, one café", {"dog": "dog", "cafe": "cafes"})
    (Match(word='dog', start=4, end=8), Match(word='cafes', start=14, end=18))
    """
    wanted = {stem_word(form): word for form, word in reversed([*words.items()])}
    found: list[Match] = []
    done = 0
    for word, start, end in (
        place_words((text or "")[:MAX_CHARACTERS]) if wanted else ()
    ):
        known, first = wanted.get(stem_word(fold_accents(word))), max(start, done)
        if known is not None and first < end:
            done = end
            found.append(Match(known, first, end))
    return tuple(found[:MAX_MARKS])


def _draw(result: Result) -> str:
    """Return markup of a result's picture, nothing where it is no file to be read."""
    from fdch.data.pictures.decoding import shrink
    from fdch.data.pictures.images import PictureFiles

    if not result.image or not Path(result.image).is_file():
        return ""
    try:
        content = PictureFiles([Path(result.image)]).content(0)
        drawn = b64encode(shrink(content, SIDE_DRAWN)).decode()
    except FdchError:
        return ""
    return f'<img alt="" src="data:image/jpeg;base64,{drawn}">'
