"""PairedSet: pictures, texts, labels and ids, row by row."""

from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from fdch.data.pictures.images import Images, PictureLimits, Pictures
from fdch.data.rows import Digest, choose, shorten
from fdch.data.texts import Texts
from fdch.errors import DataError, LabelError, SettingError, count_noun
from fdch.progress import Progress, silent

if TYPE_CHECKING:
    from fdch.data.duplicates import Grouping
    from fdch.data.split_drawing import SplitSizes

Broken = Literal["refuse", "skip"]
SKIP_BROKEN = '--broken skip, or broken="skip" in Python'  # for advice
_NAMED = 5
_SHOWN = 10  # rows in a notebook


@dataclass(frozen=True)
class Skipped:
    """A row that was left out while reading, and why."""

    name: str
    reason: str


@dataclass(frozen=True, eq=False, repr=False)
class PairedSet:
    """Pairs of a picture and a text, with labels and ids, items in rows.

    Args:
        ids: Names of the pairs, unique strings, (n,).
        images: The image side, n rows.
        texts: The text side, n rows.
        labels: 1 where a pair has a label, else 0, (n, classes).
        label_names: What the classes are called.
        columns: Further columns, for display and filters, n values each.
        name: What the data is called in reports.
        benchmark: The sizes of the split that the literature uses.
        skipped: Rows left out while reading.
        notes: Messages for the user about the data.
        numbered: Whether the ids are only row numbers, because the data has none.
        named_by_path: Whether the ids are only the paths of pictures in a folder.
        places: Where each row stands in its file, such as "line 7", if known.

    >>> len(PairedSet.read("scenes:100")[:10])
    10
    """

    ids: NDArray[np.object_]
    images: Images
    texts: Texts
    labels: NDArray[np.uint8]
    label_names: tuple[str, ...]
    columns: Mapping[str, NDArray[np.object_]] = field(default_factory=dict)
    name: str = "pairs"
    benchmark: "SplitSizes | None" = None
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[str, ...] = ()
    numbered: bool = False
    named_by_path: bool = False
    places: NDArray[np.object_] | None = None

    def __post_init__(self) -> None:
        rows = len(self.ids)
        sides: dict[str, Sized] = {"images": self.images, "texts": self.texts}
        columns = {f"column '{key}'": self.columns[key] for key in self.columns}
        for what, values in {**sides, "labels": self.labels, **columns}.items():
            if len(values) != rows:
                base = "images" if len(self.images) == rows else "ids"
                raise DataError(
                    f"{len(values)} rows of {what} were given for {rows} {base}."
                )
        shape = (rows, len(self.label_names))
        if self.labels.dtype != np.uint8 or self.labels.shape != shape:
            raise LabelError(
                f"labels are 0 or 1 (uint8) of shape {shape}; "
                f"got {self.labels.dtype} of shape {self.labels.shape}."
            )
        if rows and self.labels.size and self.labels.max() > 1:
            raise LabelError(f"labels are 0 or 1; got {self.labels.max()}.")
        if len(set(self.ids.tolist())) != rows:
            twice = name_repeated(self.ids, self.places)
            raise DataError(f"'{self.name}': ids must be unique; {twice}.")

    @classmethod
    def read(
        cls,
        source: str | Path,
        *,
        broken: Broken = "refuse",
        limits: PictureLimits | None = None,
        columns: Mapping[str, str] | None = None,
        pictures: str | Path | None = None,
        limit: int | None = None,
    ) -> "PairedSet":
        """Read a manifest, a feature file or a known data set.

        Args:
            source: `pairs.csv`, `.xlsx`, `.jsonl` or `.parquet`,
                `shards-{000..099}.tar`, a folder of pictures, `features.npz`,
                `mirflickr25k:DIR`, `nuswide:DIR`, `dcmh-mat:FILE`, `scenes` or
                `scenes:N`.
            broken: Whether a broken row is refused, or skipped and listed
                in `skipped`.
            limits: The largest pictures to accept.
            columns: A manifest's own names for id, image, text or labels, such as
                {"text": "title"}.
            pictures: The folder that the pictures of a manifest have moved to.
            limit: How many pairs to keep, drawn at random, the same ones each time;
                None for all.
        """
        from fdch.data.readers import sources as readers
        from fdch.data.readers.columns import Layout

        folder = None if pictures is None else Path(pictures)
        layout = Layout(columns or {}, folder, limit)
        return readers.read(
            source, broken=broken, limits=limits or PictureLimits(), layout=layout
        )

    @classmethod
    def from_arrays(
        cls,
        images: Any,
        texts: Any,
        labels: Any = None,
        *,
        ids: Any = None,
        label_names: Sequence[str] | None = None,
        columns: Any = None,
        name: str = "pairs",
    ) -> "PairedSet":
        """Make pairs of lists, paths, arrays, sparse matrices or columns of a frame.

        Args:
            images: Paths or contents of picture files, None where a pair has none;
                pixels or features.
            texts: Strings, None where a pair has none; or vectors of words.
            labels: 0 and 1, (n, classes), or the labels of each pair; None for none.
            ids: Names of the pairs; their row numbers by default.
            label_names: What the classes are called.
            columns: Further columns, for display and filters: a data frame, or values
                by name.
            name: What the data is called in reports.

        >>> pairs = PairedSet.from_arrays(
        ...     images=[[0.1, 0.9], [0.8, 0.2]],
        ...     texts=["a red mug", "a blue cup"],
        ...     labels=[["mug", "red"], ["cup", "blue"]],
        ... )
        >>> pairs.label_names
        ('blue', 'cup', 'mug', 'red')
        """
        from fdch.data import conversion

        image_side, text_side = conversion.as_images(images), conversion.as_texts(texts)
        rows = len(image_side)
        without = np.zeros((rows, 0), np.uint8)
        known = conversion.as_labels(without if labels is None else labels, label_names)
        return cls(
            ids=conversion.number_ids(ids, rows),
            images=image_side,
            texts=text_side,
            labels=known[0],
            label_names=known[1],
            columns={} if columns is None else conversion.as_columns(columns),
            name=name,
            numbered=ids is None,
        )

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        pairs = count_noun(len(self), "pair")
        labels = count_noun(len(self.label_names), "label")
        return f"PairedSet('{self.name}', {pairs}, {labels})"

    def _repr_html_(self) -> str:
        cells = [
            (self.ids[row], self.texts.text(row), ", ".join(self.labels_of(row)))
            for row in range(min(len(self), _SHOWN))
        ]
        rows = [[escape(str(cell or "")) for cell in row] for row in cells]
        lines = [f"<tr><td>{'</td><td>'.join(row)}</td></tr>" for row in rows]
        header = "<tr><th>id</th><th>text</th><th>labels</th></tr>"
        return f"<p>{escape(repr(self))}</p><table>{header}{''.join(lines)}</table>"

    def labels_of(self, row: int) -> tuple[str, ...]:
        """Return the names of a row's labels."""
        return tuple(self.label_names[i] for i in np.flatnonzero(self.labels[row]))

    def __getitem__(self, rows: Any) -> "PairedSet":
        wanted = choose(rows, len(self))
        return replace(
            self,
            ids=self.ids[wanted],
            images=self.images[wanted],
            texts=self.texts[wanted],
            labels=self.labels[wanted],
            columns={key: values[wanted] for key, values in self.columns.items()},
            places=None if self.places is None else self.places[wanted],
            benchmark=self.benchmark if len(wanted) == len(self) else None,
        )

    def split(
        self,
        seed: int = 0,
        *,
        query: int | None = None,
        train: int | None = None,
        groups: "Grouping | None" = None,
    ) -> tuple["PairedSet", "PairedSet", "PairedSet"]:
        """Draw a split and return its training, query and database pairs.

        The training pairs are part of the database and include those that a `Split`
        keeps apart for validation.

        Args:
            seed: Equal seeds draw equal splits.
            query: Number of queries, with `train`; by default the benchmark's own, or
                a tenth, at most 2,000.
            train: Number of training pairs, with `query`; by default the benchmark's
                own, or half, at most 5,000.
            groups: Keep pairs with the same "pictures", the same "texts" or either
                ("both") in one part.
        """
        from fdch.data.split_drawing import SplitSizes
        from fdch.data.splits import Split

        if query is not None and train is not None:
            sizes = SplitSizes(query, train)
        elif query is train:
            sizes = None
        else:
            raise DataError("give both query and train, or neither.")
        rows = Split.draw(self, seed, sizes, groups=groups).rows(self)
        learning = np.sort(np.concatenate([rows.train, rows.validation]))
        return self[learning], self[rows.query], self[rows.database]

    @cached_property
    def fingerprint(self) -> str:
        """A hash of ids, labels, texts and images, 32 hexadecimal digits."""
        digest = Digest(b"fdch pairs 1")
        for name in (*self.label_names, None, *self.ids):
            digest.add_text(name)
        digest.add_array(self.labels)
        self.texts.add_to(digest)
        self.images.add_to(digest)
        return digest.hex()

    def without_broken_pictures(
        self, broken: Broken = "refuse", progress: Progress = silent
    ) -> "PairedSet":
        """Decode every picture once; refuse at a broken one, or leave it out.

        Pictures found whole are remembered in the cache by their content.
        """
        from fdch.data.pictures.batches import find_broken_pictures

        require_broken(broken)
        if not isinstance(self.images, Pictures):
            return self
        found = find_broken_pictures(self.images, progress, first=broken == "refuse")
        if not found:
            return self
        if broken == "refuse":
            row, error = found[0]
            raise type(error)(
                f"{error} It belongs to {self._locate(row)}. "
                f"Repair or remove it, or skip broken pictures ({SKIP_BROKEN})."
            )
        kept = np.ones(len(self), dtype=np.bool_)
        kept[[row for row, _ in found]] = False
        skipped = tuple(self._skip(row, error) for row, error in found)
        return replace(
            self[kept], skipped=self.skipped + skipped, benchmark=self.benchmark
        )

    def _locate(self, row: int) -> str:
        """Name a row by its id and its place; row numbers mean little beside one."""
        name = f"'{shorten(self.ids[row])}'"
        if self.places is None:
            return name
        return str(self.places[row]) if self.numbered else f"{name}, {self.places[row]}"

    def _skip(self, row: int, error: Exception) -> Skipped:
        if self.places is None:
            return Skipped(self.ids[row], str(error))
        name = self.places[row] if self.numbered else self.ids[row]
        return Skipped(name, f"{self._locate(row)}: {error}")

    def require_training(self, least: int = 1, needs_labels: bool = True) -> None:
        """Refuse pairs that a method cannot learn from, or fewer than `least`."""
        from fdch.data.fitting import require_training

        require_training(self, least, needs_labels)


def require_broken(broken: str) -> None:
    """Refuse anything but the two ways to treat a broken row."""
    if broken not in ("refuse", "skip"):
        raise SettingError(f"broken is 'refuse' or 'skip'; got '{broken}'.")


def require_pairs(*given: object) -> None:
    """Refuse anything that is not a PairedSet, such as a file name."""
    for each in given:
        if not isinstance(each, PairedSet):
            raise DataError(
                f"give a PairedSet; got {type(each).__name__}. "
                "PairedSet.read('pairs.csv') makes one, and PairedSet.from_arrays of "
                "lists, arrays and columns of a data frame."
            )


def share_labels(*given: PairedSet) -> tuple[PairedSet, ...]:
    """Give sets of pairs the same classes in the same order, by their names."""
    names = tuple(dict.fromkeys(name for each in given for name in each.label_names))
    return tuple(_order_labels(each, names) for each in given)


def _order_labels(pairs: PairedSet, names: tuple[str, ...]) -> PairedSet:
    if pairs.label_names == names:
        return pairs
    places = {name: place for place, name in enumerate(names)}
    labels = np.zeros((len(pairs), len(names)), np.uint8)
    for column, name in enumerate(pairs.label_names):
        labels[:, places[name]] |= pairs.labels[:, column]
    return replace(pairs, labels=labels, label_names=names)


def name_repeated(
    ids: Sequence[str] | NDArray[np.object_], places: NDArray[np.object_] | None = None
) -> str:
    """Name the first few ids that occur twice, with their places; count the others.

    Places are rows from 1 unless others are given.
    """
    first: dict[str, int] = {}
    found: list[str] = []
    for row, name in enumerate(ids):
        if (before := first.setdefault(name, row)) != row:
            rows = f"rows {before + 1} and {row + 1}"
            where = rows if places is None else f"{places[before]} and {places[row]}"
            found.append(f"'{shorten(name)}' in {where}")
    more = len(found) - _NAMED
    return ", ".join(found[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")
