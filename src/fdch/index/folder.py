"""An index folder: codes under ids, durable, for many readers and one writer."""

import weakref
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from fdch.codes import Codes
from fdch.errors import DataError, ModelMismatch
from fdch.index.access import Access, View, create_folder
from fdch.index.answers import answers_of
from fdch.index.changes import append_rows, drop_items, put_items, put_range, set_fact
from fdch.index.compaction import compact
from fdch.index.contents import columns, describe, facets
from fdch.index.duplicates import near_groups
from fdch.index.filters import Allowed
from fdch.index.identities import ids_of, numbers_of, rows_of, running_numbers
from fdch.index.items import from_row, to_row
from fdch.index.kept_model import keep_model, model_folder
from fdch.index.lookup import nearest, within
from fdch.index.rows import row_words
from fdch.index.store import Added, Answer, Cell, Condition, Item
from fdch.index.verification import Verification, verify_folder
from fdch.progress import Progress, silent


class CodeFolder:
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
        self._access = access
        self._allowed = Allowed()
        # a folder that is forgotten or left open at the end is closed as well
        self._close = weakref.finalize(self, access.close)

    @classmethod
    def create(
        cls,
        path: str | Path,
        bits: int,
        model: str,
        facts: Mapping[str, object] | None = None,
    ) -> Self:
        """Make an empty index and open it for writing.

        Args:
            path: A folder that is not there yet, or empty.
            bits: Length of the codes.
            model: Fingerprint of the model that makes the codes.
            facts: What else to keep, plain values for JSON.
        """
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

    @property
    def path(self) -> Path:
        """Give the folder."""
        return self._access.place.folder

    @property
    def bits(self) -> int:
        """Give the length of the codes."""
        return self._access.place.bits

    @property
    def model(self) -> str:
        """Give the fingerprint of the model that makes the codes."""
        return str(self._access.facts["model"])

    @property
    def facts(self) -> dict[str, object]:
        """Give what else was kept when the index was made."""
        return dict(self._access.facts["facts"])

    def require_model(self, model: str) -> None:
        """Refuse codes or queries of another model.

        Raises:
            ModelMismatch: With both fingerprints.
        """
        if model != self.model:
            raise ModelMismatch(
                f"index '{self.path}' holds codes of model {self.model}; these are of "
                f"model {model}. Use the run it was made with, or make a new index."
            )

    def __len__(self) -> int:
        with self._access.reading() as view:
            return view.count("items")

    def add(self, items: Sequence[Item], codes: Codes) -> Added:
        """Add items, all or none; an item with a known id replaces that one."""
        self._require_length(codes)
        if len(items) != len(codes):
            raise DataError(f"{len(items)} items were given {len(codes)} codes.")
        rows = [to_row(item) for item in items]
        _require_unique([row.id for row in rows])
        if not rows:
            return Added(0, 0)
        place = self._access.place
        with self._access.changing() as view:
            known = rows_of(view.connection, (row.id for row in rows))
            others = (row.id for row in rows if row.id not in known)
            running = set(running_numbers(view.snapshot, others).values())
            numbers = append_rows(view.connection, place, row_words(codes))
            drop_items(view.connection, known, running)
            put_items(view.connection, place.uid, numbers, rows)
            replaced = len(known) + len(running)
            _count(view, len(rows) - replaced)
        return Added(len(rows) - replaced, replaced)

    def add_codes(self, codes: Codes) -> range:
        """Add codes whose ids are running numbers; give these numbers.

        Nothing else is kept of such items, so that millions a second can be added.

        Raises:
            DataError: One of the ids is taken.
        """
        self._require_length(codes)
        with self._access.changing() as view:
            rows = row_words(codes)
            numbers = append_rows(view.connection, self._access.place, rows)
            put_range(view.connection, numbers)
            _count(view, len(numbers))
        return numbers

    def remove(self, ids: Iterable[str]) -> list[str]:
        """Remove items; give those of the ids that were not there."""
        wanted = list(dict.fromkeys(ids))
        with self._access.changing() as view:
            known = rows_of(view.connection, wanted)
            others = [id for id in wanted if id not in known]
            running = running_numbers(view.snapshot, others)
            drop_items(view.connection, known, set(running.values()))
            _count(view, -len(known) - len(running))
        return [id for id in others if id not in running]

    def items(self, ids: Sequence[str]) -> list[Item | None]:
        """Give what is known of items, None for an unknown id."""
        with self._access.reading() as view:
            rows = rows_of(view.connection, ids)
            others = (id for id in ids if id not in rows)
            running = running_numbers(view.snapshot, others)
        found = {id: from_row(id, content) for id, (_, content) in rows.items()}
        return [found.get(id) or (Item(id) if id in running else None) for id in ids]

    def codes(self, ids: Sequence[str]) -> Codes:
        """Give the codes of items.

        Raises:
            DataError: Naming the ids that are not there.
        """
        with self._access.reading() as view:
            numbers = numbers_of(view.connection, view.snapshot, ids)
            gone = [id for id in ids if id not in numbers]
            if gone:
                listed = ", ".join(f"'{id}'" for id in gone[:10])
                raise DataError(
                    f"{len(gone)} of {len(ids)} ids are not in index '{self.path}': "
                    f"{listed}{', ...' if len(gone) > 10 else ''}."
                )
            wanted = np.array([numbers[id] for id in ids], dtype=np.int64)
            return view.snapshot.codes(view.snapshot.positions(wanted))

    def nearest(
        self, queries: Codes, k: int, where: Sequence[Condition] = ()
    ) -> list[Answer]:
        """Find for each query the k nearest items that fulfil all conditions."""
        self._require_length(queries)
        with self._access.reading() as view:
            allowed = self._allowed.positions(view, where)
            found = nearest(view.snapshot.gallery, queries, k, allowed=allowed)
            return answers_of(view, found)

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
            allowed = self._allowed.positions(view, where)
            gallery = view.snapshot.gallery
            found = within(gallery, queries, radius, most=most, allowed=allowed)
            return answers_of(view, found)

    def keep_model(self, folder: Path) -> None:
        """Keep the files that lie in a folder, which the caller then forgets."""
        keep_model(self._access, folder)

    def model_folder(self) -> Path:
        """Give the folder with the model's files.

        Raises:
            DamagedIndex: There is none.
        """
        return model_folder(self.path)

    def describe(self) -> dict[str, object]:
        """Say what there is: items, bytes, parts; plain values for JSON."""
        with self._access.reading() as view:
            known = describe(view)
        return known | {"model": self.model, "facts": self.facts}

    def columns(self) -> list[str]:
        """Name what filters can ask for."""
        with self._access.reading() as view:
            return columns(view)

    def facets(self, most: int = 20) -> dict[str, list[tuple[Cell, int]]]:
        """Give each column's most frequent values, with the number of their items."""
        with self._access.reading() as view:
            return facets(view, most)

    def compact(self, progress: Progress = silent) -> None:
        """Reclaim the space of removed items, and make searching faster."""
        compact(self._access, progress)

    def duplicates(
        self, radius: int, progress: Progress = silent
    ) -> list[tuple[str, ...]]:
        """Group items whose codes are no farther apart than the radius.

        Returns:
            Ids of the items of each group of two or more, in order of insertion; the
            largest groups first.
        """
        if radius < 0:
            raise DataError(f"a radius is 0 or more; got {radius}.")
        with self._access.reading() as view:
            groups = near_groups(view.snapshot, radius, progress)
            return [
                tuple(ids_of(view.connection, view.snapshot, group)) for group in groups
            ]

    def verify(self, progress: Progress = silent) -> Verification:
        """Look at every byte of the index and say what is wrong.

        Raises:
            IndexBusy: Another process is writing.
        """
        with self._access.alone():
            is_locked = self._access.lock is not None
            return verify_folder(self.path, progress, is_locked=is_locked)

    def close(self) -> None:
        """Let go of the files; leave the folder sealed."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _require_length(self, codes: Codes) -> None:
        if codes.bits != self.bits:
            raise ModelMismatch(
                f"index '{self.path}' holds codes of {self.bits} bits (model "
                f"{self.model}); these have {codes.bits}."
            )


def _count(view: View, more: int) -> None:
    set_fact(view.connection, "items", view.count("items") + more)


def _require_unique(ids: list[str]) -> None:
    id, count = Counter(ids).most_common(1)[0] if ids else ("", 0)
    if count > 1:
        raise DataError(f"id '{id}' stands {count} times among the items to add.")
