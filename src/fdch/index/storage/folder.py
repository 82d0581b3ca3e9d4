"""An index folder: codes under ids, durable, for many readers and one writer."""

import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes
from fdch.errors import DamagedIndex, DataError
from fdch.index.column_types import read_types
from fdch.index.search.lookup import nearest, within
from fdch.index.search.rows import row_words
from fdch.index.storage.access import Access
from fdch.index.storage.catalogue.columns import (
    MAX_TYPES,
    contents,
    find_new_types,
    number_columns,
)
from fdch.index.storage.catalogue.facets import count_facets
from fdch.index.storage.catalogue.filters import filter_gallery, note_conditions
from fdch.index.storage.catalogue.identities import (
    answers_of,
    find_items,
    items_of,
    numbers_of,
)
from fdch.index.storage.catalogue.items import to_row
from fdch.index.storage.catalogue.word_table import has_words
from fdch.index.storage.catalogue.words import find_forms, join_words
from fdch.index.storage.creating import WriteModel, create_folder, free_place
from fdch.index.storage.duplicates import near_groups
from fdch.index.storage.files.checking import file_problems
from fdch.index.storage.files.layout import MODEL
from fdch.index.storage.maintenance.compaction import compact
from fdch.index.storage.maintenance.verification import Verification, verify_folder
from fdch.index.storage.snapshot import View
from fdch.index.store import (
    Added,
    Answer,
    Choose,
    CodeStore,
    ColumnType,
    Condition,
    Contents,
    Facets,
    Item,
    Known,
    Vectors,
    WordQuery,
    check_items,
    check_length,
    check_vectors,
    unknown_ids,
)
from fdch.progress import Progress, silent


class CodeFolder(CodeStore):
    """Codes under ids in a folder. Threads may share one.

    >>> import tempfile
    >>> from fdch.codes import binarize
    >>> with tempfile.TemporaryDirectory() as place:
    ...     with CodeFolder.create(Path(place) / "index", 3, "a model") as folder:
    ...         codes = binarize([[1, 1, 1], [1, 1, -1]])
    ...         _ = folder.add([Item("a"), Item("b")], codes)
    ...         folder.search(binarize([[1, -1, -1]]), k=1)[0].ids
    ('b',)
    """

    def __init__(self, access: Access) -> None:
        self._access = access
        self.path, self.bits = access.place.folder, access.place.bits
        self.vector_bytes = access.place.vector_bytes
        self.name = str(self.path)
        self.opened_as = access.opened_as  # which may be a link to it
        self.model = access.about.model
        self.facts = dict(access.about.facts)
        self.identity = access.place.uid.hex()  # copies have the same
        # a folder that is forgotten or left open at the end is closed as well
        self._close = weakref.finalize(self, access.close)

    @classmethod
    def create(
        cls,
        path: str | Path,
        bits: int,
        model: str | WriteModel,
        facts: Mapping[str, object] | None = None,
        vector_bytes: int = 0,
        types: Mapping[str, ColumnType] | None = None,
    ) -> Self:
        """Make an empty index, as `create_folder` does, and open it for writing."""
        create_folder(Path(path), bits, model, facts or {}, vector_bytes, types or {})
        return cls.open(path, writable=True)

    @classmethod
    def open(cls, path: str | Path, writable: bool = False) -> Self:
        """Open an index, to be changed where it is writable; only one at a time can."""
        return cls(Access(Path(path), writable=writable))

    @staticmethod
    def require_free(path: str | Path) -> None:
        """Refuse a place where `create` could not make an index."""
        free_place(Path(path))

    def __len__(self) -> int:
        with self._access.reading() as view:
            return view.items

    def add(
        self, items: Sequence[Item], codes: Codes, vectors: Vectors | None = None
    ) -> Added:
        """Add items, all or none; an item with a known id replaces that one."""
        check_length(self, codes)
        check_vectors(self.name, self.vector_bytes, len(codes), vectors)
        rows = [to_row(item) for item in items]
        check_items(items, codes)
        if not rows:
            return Added(0, 0)
        with self._access.changing() as change:
            known = numbers_of(change.view, [row.id for row in rows])
            numbers = change.append_codes(row_words(codes), vectors)
            change.drop_items(known.values())
            change.put_items(numbers, rows)
            change.put_types(find_new_types(change.view, rows))
        return Added(len(rows) - len(known), len(known))

    def add_numbered(self, codes: Codes, vectors: Vectors | None = None) -> range:
        """Add codes whose ids are running numbers, millions a second; give these."""
        check_length(self, codes)
        check_vectors(self.name, self.vector_bytes, len(codes), vectors)
        with self._access.changing() as change:
            numbers = change.append_codes(row_words(codes), vectors)
            change.put_range(numbers)
        return numbers

    def remove(self, ids: Iterable[str]) -> list[str]:
        """Remove items; give those of the ids that were not there."""
        wanted = list(dict.fromkeys(ids))
        with self._access.changing() as change:
            known = numbers_of(change.view, wanted)
            change.drop_items(known.values())
        return [id for id in wanted if id not in known]

    def items(self, ids: Sequence[str]) -> list[Item | None]:
        """Return item records, None for an unknown id."""
        with self._access.reading() as view:
            return find_items(view, ids)

    def fetch(self, ids: Sequence[str]) -> Known:
        """Return items, codes and vectors as of one commit; refuse ids not there."""
        with self._access.reading() as view:
            numbers = numbers_of(view, ids)
            if unknown := [id for id in ids if id not in numbers]:
                raise unknown_ids(self.name, unknown)
            return _read_known(view, np.array([numbers[id] for id in ids], np.int64))

    def search(
        self,
        queries: Codes,
        k: int | None = None,
        radius: int | None = None,
        where: Sequence[Condition] = (),
        choose: Choose | None = None,
        words: Sequence[WordQuery] | None = None,
    ) -> list[Answer]:
        """Find for each query the k nearest items, all within the radius, or both."""
        check_length(self, queries)
        with self._access.reading() as view:
            gallery = filter_gallery(view, where)
            if k is not None and radius is None:
                found = nearest(gallery, queries, k)
            else:
                radius = self.bits if radius is None else radius
                found = within(gallery, queries, radius, most=k)
            for row, query in enumerate(words or ()):
                code = queries[[row]]
                found[row] = join_words(view, gallery, code, query, found[row], k)
            return answers_of(view, found, choose)

    def words_obstacle(self) -> str:
        """Say why items cannot be found by words: none has a text."""
        with self._access.reading() as view:
            return "" if has_words(view.connection) else "no item here has a text"

    def holds_words(self, words: Sequence[str]) -> list[bool]:
        """Return for each word whether a text has it in some form."""
        with self._access.reading() as view:
            return [bool(find_forms(view, word)) for word in words]

    def model_folder(self) -> Path:
        """Return the folder with the model's files, none of them damaged."""
        folder = self.path / MODEL
        if not folder.is_dir():
            raise DamagedIndex(
                f"index '{self.path}' has lost its model, the folder '{MODEL}' in it. "
                "Restore it from a copy, or create the index again."
            )
        for problem in file_problems(self.path, self._access.about.files):
            raise DamagedIndex(
                f"the model in index '{self.path}' is damaged: {problem}. Restore "
                "that file from a copy."
            )
        return folder

    def describe(self) -> dict[str, object]:
        """Say what there is: items, bytes, parts; plain values for JSON."""
        size = 0
        for path in self.path.rglob("*"):
            with suppress(FileNotFoundError):  # compacted away meanwhile
                size += path.stat().st_size if path.is_file() else 0
        with self._access.reading() as view:
            snapshot = view.snapshot
            return {
                "items": view.items,
                "bits": self.bits,
                "model": self.model,
                "vector_bytes": self.vector_bytes,
                "removed": int(snapshot.starts[-1]) - view.items,
                "parts": len(snapshot.parts),
                "compacted": sum(part.is_compacted for part in snapshot.parts),
                "bytes": size,
                "columns": list(number_columns(view)),
                "commit": snapshot.state.counts.commit,
                "facts": self.facts,
            }

    def contents(self, most: int = 20) -> Contents:
        """Return what filters can use: so many values of each column."""
        with self._access.reading() as view:
            return contents(view, most)

    def facets(
        self,
        where: Sequence[Condition] = (),
        most: int = 20,
        near: tuple[Codes, int] | None = None,
        words: WordQuery | None = None,
    ) -> Facets:
        """Count values of items under conditions, near a code and with some words."""
        if near is not None:
            check_length(self, near[0])
        with self._access.reading() as view:
            return count_facets(view, where, most, near, words)

    def notes(self, where: Sequence[Condition]) -> tuple[str, ...]:
        """Say what is odd about conditions, such as a value that no item has."""
        with self._access.reading() as view:
            return note_conditions(view, where)

    def types(self) -> dict[str, ColumnType]:
        """Return how the cells of each column are compared."""
        with self._access.reading() as view:
            return dict(view.snapshot.about.types)

    def set_types(self, types: Mapping[str, ColumnType]) -> None:
        """Choose how the cells of some columns are compared, and keep that."""
        chosen, known = read_types(types), self.types()
        if len(known | chosen) > MAX_TYPES:
            raise DataError(f"an index keeps the types of {MAX_TYPES:,} columns.")
        if known | chosen != known:
            with self._access.changing() as change:
                change.put_types(chosen)

    def sample(self, count: int, seed: int = 0) -> tuple[list[str], Codes]:
        """Draw so many items at random: their ids and codes."""
        with self._access.reading() as view:
            numbers = view.snapshot.draw(count, seed)
            codes = view.snapshot.codes(view.snapshot.positions(numbers))
            return [item.id for item in items_of(view, numbers)], codes

    def batches(self, size: int) -> Iterator[Known]:
        """Return all items, codes and vectors as of one commit, so many at a time."""
        with self._access.reading() as view:
            numbers = view.snapshot.living()
            for start in range(0, len(numbers), size):
                yield _read_known(view, numbers[start : start + size])

    def compact(self, progress: Progress = silent) -> None:
        """Reclaim the space of removed items, and make searching faster."""
        compact(self._access, progress)

    def duplicates(
        self, radius: int, progress: Progress = silent
    ) -> list[tuple[str, ...]]:
        """Group items whose codes are no farther apart than the radius.

        At radius 0 their vectors are equal too, where the index stores some.
        Groups have two ids or more, in order of insertion; the largest come first.
        """
        if radius < 0:
            raise DataError(f"a radius is 0 or more; got {radius}.")
        with self._access.reading() as view:
            groups = near_groups(view.snapshot, radius, progress)
            return [tuple(i.id for i in items_of(view, group)) for group in groups]

    def verify(self, progress: Progress = silent) -> Verification:
        """Look at every byte of the index and say what is wrong."""
        with self._access.exclusive():
            is_locked = self._access.lock is not None
            return verify_folder(self.path, progress, is_locked=is_locked)

    def close(self) -> None:
        """Let go of the files."""
        self._close()


def _read_known(view: View, numbers: NDArray[np.int64]) -> Known:
    snapshot = view.snapshot
    positions = snapshot.positions(numbers)
    codes, vectors = snapshot.codes(positions), snapshot.vectors(positions)
    return Known(items_of(view, numbers), codes, vectors)
