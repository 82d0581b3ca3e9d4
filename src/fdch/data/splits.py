"""Training, validation, query and database pairs: drawn once, and saved."""

import json
from collections import Counter
from collections.abc import Collection
from dataclasses import asdict, dataclass, replace
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fdch.data.duplicates import GROUPINGS, Grouping
from fdch.data.pairs import PairedSet
from fdch.data.rows import Digest, list_names, unreadable
from fdch.data.split_drawing import SplitSizes, draw_ids
from fdch.errors import DataError, SettingError
from fdch.files import load_json, write_bytes

FORMAT = 1
_MAX_BYTES = 2**30
_ID_LISTS = ("query", "train", "validation", "unlabelled")
_ADVICE = "Give the split.json of a run, or draw a new split."


@dataclass(frozen=True)
class Parts:
    """The pairs of a split; training and validation pairs are part of the database."""

    train: PairedSet
    validation: PairedSet
    query: PairedSet
    database: PairedSet
    # training pairs, and pairs to learn from without labels: these have none here
    learning: PairedSet


class Rows(NamedTuple):
    """Row numbers of each part, ascending."""

    train: NDArray[np.intp]
    validation: NDArray[np.intp]
    query: NDArray[np.intp]
    database: NDArray[np.intp]
    unlabelled: NDArray[np.intp]


@dataclass(frozen=True)
class Split:
    """Which pairs, by id, are for what; the rest is only in the database.

    >>> split = Split.draw(PairedSet.read("scenes:100"), seed=0)
    >>> len(split.query), len(split.train), len(split.validation)
    (10, 45, 5)
    """

    seed: int  # it was drawn with
    data: str  # fingerprint of the pairs it was drawn from
    query: tuple[str, ...]  # ids to search with
    train: tuple[str, ...]  # ids to learn from
    validation: tuple[str, ...]  # ids to choose settings by
    groups: Grouping | None = None  # what pairs of different parts never share
    unlabelled: tuple[str, ...] = ()  # ids to learn from without labels

    def __post_init__(self) -> None:
        if self.groups not in (None, *GROUPINGS):
            raise DataError(
                f"a split is grouped by {', '.join(GROUPINGS)}; got {self.groups!r}."
            )
        twice = [name for name, count in Counter(self._ids).items() if count > 1]
        if twice:
            raise DataError(
                f"a split must not hold an id twice: {list_names(twice)}. Queries, "
                "training and validation pairs must not overlap."
            )

    @classmethod
    def draw(
        cls,
        pairs: PairedSet,
        seed: int = 0,
        sizes: SplitSizes | None = None,
        barred: Collection[str] = (),
        groups: Grouping | None = None,
    ) -> "Split":
        """Draw a split at random; the order of the rows does not matter.

        Only pairs with an image, a text and a label are drawn; all others go
        to the database, where those with both sides can be learned from without
        labels. Where no pair has a label, none is needed.

        Args:
            pairs: What to draw from.
            seed: Equal seeds draw equal splits.
            sizes: How many; the benchmark's sizes when not given, or a tenth
                (at most 2,000) for queries and half (at most 5,000) for training.
            barred: Ids that are not drawn as queries.
            groups: Keep pairs with the same "pictures", the same "texts" or linked by
                either ("both") in one part: query, training, validation or the rest
                of the database. Parts may then be up to a tenth smaller.
        """
        if not isinstance(seed, Integral) or seed < 0:
            raise SettingError(f"a seed is a whole number, 0 or more; got {seed!r}.")
        if not isinstance(sizes, SplitSizes | None):
            raise SettingError(
                "sizes of a split are SplitSizes(query=2000, train=5000), of "
                f"fdch.data.split_drawing; got {sizes!r}."
            )
        drawn = draw_ids(pairs, seed, sizes, barred, groups)
        *labelled, unlabelled = drawn
        return cls(seed, pairs.fingerprint, *labelled, groups, unlabelled)

    @property
    def _ids(self) -> tuple[str, ...]:
        return (*self.query, *self.train, *self.validation, *self.unlabelled)

    @property
    def fingerprint(self) -> str:
        """A hash of the lists of ids, whatever their order, and of the grouping."""
        digest = Digest(b"fdch split 1")
        for names in (self.query, self.train, self.validation):
            for name in (*sorted(names), None):
                digest.add_text(name)
        if self.groups:
            digest.add_text(self.groups)
        if self.unlabelled:  # splits of before there were any keep their hash
            for name in (None, *sorted(self.unlabelled)):
                digest.add_text(name)
        return digest.hex()

    def parts(self, pairs: PairedSet, check: bool = True) -> Parts:
        """Return the pairs of each part, rows in the order of the data.

        With `check`, refuse data with another fingerprint than the split's own.
        """
        rows = self.rows(pairs, check)
        learning = np.sort(np.concatenate([rows.train, rows.unlabelled]))
        labels = pairs.labels[learning]
        labels[np.isin(learning, rows.unlabelled)] = 0
        return Parts(
            pairs[rows.train],
            pairs[rows.validation],
            pairs[rows.query],
            pairs[rows.database],
            replace(pairs[learning], labels=labels),
        )

    def rows(self, pairs: PairedSet, check: bool = True) -> Rows:
        """Return the row numbers of each part, with the checks of `parts`."""
        self.require_match(pairs, check)
        where = {name: row for row, name in enumerate(pairs.ids)}
        train, validation, query, unlabelled = (
            np.sort(np.array([where[name] for name in names], dtype=np.intp))
            for names in (self.train, self.validation, self.query, self.unlabelled)
        )
        database = np.delete(np.arange(len(pairs), dtype=np.intp), query)
        return Rows(train, validation, query, database, unlabelled)

    def require_match(self, pairs: PairedSet, check: bool = True) -> None:
        """Refuse pairs that this split was not drawn from."""
        known = set(pairs.ids)
        unknown = [name for name in self._ids if name not in known]
        if unknown:
            raise DataError(
                f"{len(unknown)} ids of the split are not in '{pairs.name}': "
                f"{list_names(unknown, 3)}. Give the data that it was drawn from."
            )
        if check and self.data != pairs.fingerprint:
            raise DataError(
                f"the split was drawn from data {self.data}; '{pairs.name}' is "
                f"{pairs.fingerprint}. Give the same data, or draw a new split."
            )

    def save(self, path: str | Path) -> None:
        """Write the split as JSON, atomically."""
        content = {"format": FORMAT, "fingerprint": self.fingerprint, **asdict(self)}
        write_bytes(Path(path), (json.dumps(content, indent=1) + "\n").encode())

    @classmethod
    def read(
        cls, path: str | Path, pairs: PairedSet | None = None, check: bool = True
    ) -> "Split":
        """Read a file of `save`; check it against the data where given, as `parts`."""
        try:
            split = cls._parse(load_json(Path(path), _MAX_BYTES))
        except OSError as error:
            raise unreadable(Path(path), error) from error
        except ValueError as error:
            reason = str(error).rstrip(".")
            raise DataError(f"'{path}' is not a split: {reason}. {_ADVICE}") from None
        if pairs is not None:
            split.require_match(pairs, check)
        return split

    @classmethod
    def _parse(cls, content: Any) -> "Split":
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ValueError(f"this version of fdch reads format {FORMAT}")
        seed, data = content.get("seed"), content.get("data")
        if type(seed) is not int or not isinstance(data, str):
            raise ValueError("its seed or its data is missing or of the wrong kind")
        lists: dict[str, Any] = {}
        for name in _ID_LISTS:
            ids = content.get(name, [])  # older files have none without labels
            if not isinstance(ids, list) or not all(isinstance(i, str) for i in ids):
                raise ValueError("its ids are not lists of texts")
            lists[name] = tuple(ids)
        split = cls(seed, data, groups=content.get("groups"), **lists)
        if content.get("fingerprint") != split.fingerprint:
            raise ValueError(
                f"it was changed; its ids have the fingerprint {split.fingerprint}"
            )
        return split
