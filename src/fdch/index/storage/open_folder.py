"""What can be done with an open index folder besides adding and searching."""

import weakref
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from fdch.codes import Codes
from fdch.errors import DamagedIndex, DataError, ModelMismatch
from fdch.index.storage.access import Access
from fdch.index.storage.compaction import compact
from fdch.index.storage.contents import columns, contents, describe
from fdch.index.storage.duplicates import near_groups
from fdch.index.storage.identities import ids_of, items_of
from fdch.index.storage.kept_files import file_problems
from fdch.index.storage.layout import MODEL
from fdch.index.storage.sampling import sample_items
from fdch.index.storage.verification import Verification, verify_folder
from fdch.index.store import Contents, Item
from fdch.progress import Progress, silent


class OpenFolder:
    """An index folder that is open: what it is, and its upkeep."""

    def __init__(self, access: Access) -> None:
        self._access = access
        # a folder that is forgotten or left open at the end is closed as well
        self._close = weakref.finalize(self, access.close)

    @property
    def path(self) -> Path:
        """Give the folder."""
        return self._access.place.folder

    @property
    def opened_as(self) -> Path:
        """Return the path that the folder was opened by, which may be a link to it."""
        return self._access.opened_as

    @property
    def name(self) -> str:
        """Give the folder's path."""
        return str(self.path)

    @property
    def bits(self) -> int:
        """Give the length of the codes."""
        return self._access.place.bits

    @property
    def model(self) -> str:
        """Give the fingerprint of the model that makes the codes."""
        return self._access.about.model

    @property
    def identity(self) -> str:
        """Return what tells this index from all others; copies have the same."""
        return self._access.place.uid.hex()

    @property
    def facts(self) -> dict[str, object]:
        """Give what else was kept when the index was made."""
        return dict(self._access.about.facts)

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

    def model_folder(self) -> Path:
        """Return the folder with the model's files, each as it was written.

        Raises:
            DamagedIndex: One is missing or damaged.
        """
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
        with self._access.reading() as view:
            known = describe(view)
        return known | {"model": self.model, "facts": self.facts}

    def columns(self) -> list[str]:
        """Name what filters can ask for."""
        with self._access.reading() as view:
            return columns(view)

    def contents(self, most: int = 20) -> Contents:
        """Tell what filters can ask for: so many values of each column."""
        with self._access.reading() as view:
            return contents(view, most)

    def sample(self, count: int, seed: int = 0) -> tuple[list[str], Codes]:
        """Draw so many items at random: their ids and codes."""
        with self._access.reading() as view:
            return sample_items(view, count, seed)

    def batches(self, size: int) -> Iterator[tuple[list[Item], Codes]]:
        """Return all items and their codes as of one commit, so many at a time."""
        with self._access.reading() as view:
            numbers = view.snapshot.living()
            for start in range(0, len(numbers), size):
                some = numbers[start : start + size]
                codes = view.snapshot.codes(view.snapshot.positions(some))
                yield items_of(view.connection, view.snapshot, some), codes

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
        """Let go of the files."""
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
