"""A record of the pictures that a change touches, on disk until it is made.

A picture is written before the index knows it, and deleted after the index has
forgotten it. A service killed in between leaves a file that belongs to no item; the
next one finds it here.
"""

import json
import logging
from collections.abc import Mapping
from pathlib import Path

from fdch.index.storage.layout import write_durably

FILE = "unfinished.json"
_log = logging.getLogger("fdch.service")


class Unfinished:
    """The record of one writer, in the folder of pictures; None to keep none."""

    def __init__(self, folder: Path | None) -> None:
        self._path = None if folder is None else folder / FILE

    def begin(self, owners: Mapping[str, str]) -> None:
        """Put a change on record: ids of the items by the names of their pictures."""
        if self._path is not None:
            self._path.parent.mkdir(exist_ok=True)
            write_durably(self._path, json.dumps(owners).encode())

    def owners(self) -> dict[str, str]:
        """Give the pictures and ids of a change that was cut off."""
        if self._path is None or not self._path.exists():
            return {}
        try:
            found = json.loads(self._path.read_bytes())
            return {str(file): str(owner) for file, owner in found.items()}
        except (OSError, ValueError, AttributeError, RecursionError) as problem:
            _log.warning("'%s' cannot be read: %s", self._path, problem)
            return {}

    def end(self) -> None:
        """Drop the record; if a power cut brings it back, that does no harm."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)
