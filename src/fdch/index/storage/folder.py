"""An index folder: codes under ids, durable, for many readers and one writer."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Self

import numpy as np

from fdch.codes import Codes
from fdch.errors import DataError, ModelMismatch
from fdch.index.search.lookup import nearest, within
from fdch.index.search.rows import row_words
from fdch.index.storage.access import Access, View
from fdch.index.storage.creating import WriteModel, create_folder
from fdch.index.storage.filters import Allowed
from fdch.index.storage.identities import (
    answers_of,
    numbers_of,
    rows_of,
    running_numbers,
)
from fdch.index.storage.items import from_row, to_row
from fdch.index.storage.open_folder import OpenFolder
from fdch.index.storage.unknown_ids import unknown_ids
from fdch.index.store import Added, Answer, Condition, Item


class CodeFolder(OpenFolder):
    """Codes under ids in a folder. Threads may share one.

    >>> import tempfile
    >>> from fdch.codes import binarize
    >>> with tempfile.TemporaryDirectory() as place:
    ...     with CodeFolder.create(Path(place) / "index", 3, "a model") as folder:
    ...         codes = binarize([[1, 1, 1], [1, 1, -1]])
    ...         _ = folder.add([Item("a"), Item("b")], codes)
    ...         folder.nearest(binarize([[1, -1, -1]]), k=1)[0].ids
    ('b',)
    """

    def __init__(self, access: Access) -> None:
        super().__init__(access)
        self._allowed = Allowed()

    @classmethod
    def create(
        cls,
        path: str | Path,
        bits: int,
        model: str | WriteModel,
        facts: Mapping[str, object] | None = None,
    ) -> Self:
        """Make an empty index, as `create_folder` does, and open it for writing."""
        create_folder(Path(path), bits, model, facts or {})
        return cls.open(path, writable=True)

    @classmethod
    def open(
        cls, path: str | Path, writable: bool = False, model: str | None = None
    ) -> Self:
        """Open an index.

        Args:
            path: Its folder.
            writable: Whether to change it; only one at a time can.
            model: Refuse an index of another model than this.

        Raises:
            IndexFolderError: Saying what is wrong with the folder and what to do.
        """
        opened = cls(Access(Path(path), writable=writable))
        if model is not None:
            opened.require_model(model)
        return opened

    def __len__(self) -> int:
        with self._access.reading() as view:
            return view.items

    def add(self, items: Sequence[Item], codes: Codes) -> Added:
        """Add items, all or none; an item with a known id replaces that one."""
        self._require_length(codes)
        if len(items) != len(codes):
            raise DataError(
                f"{len(items)} items were given {len(codes)} codes. Give one code to "
                "each item."
            )
        rows = [to_row(item) for item in items]
        _require_unique([row.id for row in rows])
        if not rows:
            return Added(0, 0)
        with self._access.changing() as change:
            known = numbers_of(
                change.connection, change.snapshot, [row.id for row in rows]
            )
            numbers = change.append_codes(row_words(codes))
            change.drop_items(known.values())
            change.put_items(numbers, rows)
        return Added(len(rows) - len(known), len(known))

    def add_numbered(self, codes: Codes) -> range:
        """Add codes whose ids are running numbers; give these numbers.

        Nothing else is kept of such items, so that millions a second can be added:
        100 million of 64 bits in seconds, where each takes 8 bytes on disk.

        Raises:
            DataError: One of the ids is taken.
        """
        self._require_length(codes)
        with self._access.changing() as change:
            numbers = change.append_codes(row_words(codes))
            change.put_range(numbers)
        return numbers

    def remove(self, ids: Iterable[str]) -> list[str]:
        """Remove items; give those of the ids that were not there."""
        wanted = list(dict.fromkeys(ids))
        with self._access.changing() as change:
            known = numbers_of(change.connection, change.snapshot, wanted)
            change.drop_items(known.values())
        return [id for id in wanted if id not in known]

    def items(self, ids: Sequence[str]) -> list[Item | None]:
        """Give what is known of items, None for an unknown id."""
        with self._access.reading() as view:
            return _items(view, ids)

    def codes(self, ids: Sequence[str]) -> Codes:
        """Give the codes of items.

        Raises:
            DataError: Naming the ids that are not there, and some like them.
        """
        with self._access.reading() as view:
            return _codes(view, ids)

    def known(self, ids: Sequence[str]) -> tuple[list[Item], Codes]:
        """Give items and their codes, both as of one commit.

        Raises:
            DataError: Naming the ids that are not there, and some like them.
        """
        with self._access.reading() as view:
            codes = _codes(view, ids)
            return [item for item in _items(view, ids) if item is not None], codes

    def nearest(
        self, queries: Codes, k: int, where: Sequence[Condition] = ()
    ) -> list[Answer]:
        """Find for each query the k nearest items that fulfil all conditions."""
        self._require_length(queries)
        with self._access.reading() as view:
            found = nearest(self._allowed.gallery(view, where), queries, k)
            return answers_of(view.connection, view.snapshot, found)

    def within(
        self,
        queries: Codes,
        radius: int,
        where: Sequence[Condition] = (),
        most: int | None = None,
    ) -> list[Answer]:
        """Find for each query all items no farther than the radius."""
        self._require_length(queries)
        with self._access.reading() as view:
            gallery = self._allowed.gallery(view, where)
            found = within(gallery, queries, radius, most=most)
            return answers_of(view.connection, view.snapshot, found)

    def _require_length(self, codes: Codes) -> None:
        if codes.bits != self.bits:
            raise ModelMismatch(
                f"index '{self.path}' holds codes of {self.bits} bits (model "
                f"{self.model}); these have {codes.bits}. Encode with the index's own "
                "model, or make a new index."
            )


def _items(view: View, ids: Sequence[str]) -> list[Item | None]:
    rows = rows_of(view.connection, view.snapshot, ids)
    running = running_numbers(view.snapshot, (id for id in ids if id not in rows))
    found = {id: from_row(id, content) for id, (_, content) in rows.items()}
    return [found.get(id) or (Item(id) if id in running else None) for id in ids]


def _codes(view: View, ids: Sequence[str]) -> Codes:
    numbers = numbers_of(view.connection, view.snapshot, ids)
    gone = [id for id in ids if id not in numbers]
    if gone:
        raise unknown_ids(view, gone, len(ids))
    wanted = np.array([numbers[id] for id in ids], dtype=np.int64)
    return view.snapshot.codes(view.snapshot.positions(wanted))


def _require_unique(ids: list[str]) -> None:
    id, count = Counter(ids).most_common(1)[0] if ids else ("", 0)
    if count > 1:
        raise DataError(
            f"id '{id}' stands {count} times among the items to add. Give each item an "
            "id of its own."
        )
