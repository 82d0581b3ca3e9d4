"""Whether the folder that was opened is the one that is there."""

import os
from pathlib import Path

from fdch.index.storage.layout import CATALOGUE


class Place:
    """The folder of an index, which nobody should move while it is served.

    Args:
        folder: None where an index has no folder; it then stays where it is.

    >>> Place(None).is_same()
    True
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._numbers = self._look()

    def is_same(self) -> bool:
        """Whether the folder is there, and no other in its place."""
        return self._look() == self._numbers

    def _look(self) -> list[tuple[int, int]] | None:
        """Give the file system's numbers of the folder and its catalogue."""
        if self._folder is None:
            return None
        try:
            found = map(os.stat, (self._folder, self._folder / CATALOGUE))
            return [(each.st_dev, each.st_ino) for each in found]
        except OSError:
            return []
