"""Where the folder of an index is, and whether it is still the one that was opened."""

import os
from pathlib import Path

from fdch.index.storage.layout import CATALOGUE
from fdch.retrieval.index import Index


class Place:
    """Where an index was opened: a folder, a link to one, or neither (Milvus)."""

    def __init__(self, index: Index) -> None:
        path = getattr(index.store, "path", None)
        self.folder = path.absolute() if isinstance(path, Path) else None
        self._identity = identify(self.folder)
        given = getattr(index.store, "opened_as", None)
        is_link = isinstance(given, Path) and given.is_symlink()
        self._link = given if is_link else None

    @property
    def name(self) -> Path | None:
        """What to open to get the index that is here now; None where it has no path."""
        return self._link or self.folder

    def is_there(self) -> bool:
        """Say whether the folder that was opened is where it was."""
        return identify(self.folder) == self._identity

    def is_current(self) -> bool:
        """Say whether opening it again would give the same index."""
        is_same = self._link is None or self._link.resolve() == self.folder
        return is_same and self.is_there()


def identify(folder: Path | None) -> list[tuple[int, int]]:
    """Give the file system's numbers of a folder and its catalogue, if there are any.

    They change when the folder is removed, or replaced by another.
    """
    if folder is None:
        return []
    try:
        found = map(os.stat, (folder, folder / CATALOGUE))
        return [(each.st_dev, each.st_ino) for each in found]
    except OSError:
        return []
