"""Where the folder of an index is, and whether it is still the one that was opened."""

import os
from pathlib import Path

from fdch.index.storage.layout import CATALOGUE
from fdch.retrieval.index import Index


def find_folder(index: Index) -> Path | None:
    """Return the folder of an index; None where it has none."""
    path = getattr(index.store, "path", None)
    return path.absolute() if isinstance(path, Path) else None


def find_link(index: Index) -> Path | None:
    """Return the link by which an index was opened, if it was one."""
    path = getattr(index.store, "opened_as", None)
    return path if isinstance(path, Path) and path.is_symlink() else None


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
