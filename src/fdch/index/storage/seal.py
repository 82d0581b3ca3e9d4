"""A checksum for every page of the catalogue.

SQLite checks the shape of its pages and not what they say. The seal is written
after the log was copied into the database and before the log is used again: so
every page is at all times either as sealed or in the log.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from fdch.errors import DamagedIndex
from fdch.index.storage.layout import (
    CATALOGUE,
    DIGEST_BYTES,
    SEAL,
    WAL,
    digest,
    write_durably,
)
from fdch.index.storage.segments import REPAIR
from fdch.index.storage.wal import EMPTY, WriteAheadLog, read_log

_MAGIC = b"fdchseal"
_HEAD = struct.Struct("<8s16sII")


@dataclass(frozen=True)
class Seal:
    """Checksums of the pages of a database, one after the other."""

    uid: bytes
    page_size: int
    digests: bytes

    @property
    def pages(self) -> int:
        """Count the pages."""
        return len(self.digests) // DIGEST_BYTES

    def holds(self, page: int, content: bytes | bytearray) -> bool:
        """Tell whether a page, counted from 1, is as it was sealed."""
        expected = self.digests[(page - 1) * DIGEST_BYTES : page * DIGEST_BYTES]
        return digest(content, self.uid, "page", page) == expected

    def write(self, folder: Path) -> None:
        """Put the seal on disk."""
        content = _HEAD.pack(_MAGIC, self.uid, self.page_size, self.pages)
        content += self.digests
        write_durably(folder / SEAL, content + digest(content, self.uid, "seal"))

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the seal of a folder.

        Raises:
            DamagedIndex: It is missing or not as written.
        """
        try:
            content = (folder / SEAL).read_bytes()
        except FileNotFoundError:
            raise DamagedIndex(f"'{folder / SEAL}' is missing. {REPAIR}") from None
        body, check = content[:-DIGEST_BYTES], content[-DIGEST_BYTES:]
        if len(body) >= _HEAD.size:
            magic, uid, page_size, pages = _HEAD.unpack_from(body)
            fits = len(body) == _HEAD.size + pages * DIGEST_BYTES
            if magic == _MAGIC and fits and check == digest(body, uid, "seal"):
                return cls(uid, page_size, body[_HEAD.size :])
        raise DamagedIndex(f"'{folder / SEAL}' is damaged. {REPAIR}")

    @classmethod
    def of(cls, folder: Path, uid: bytes, page_size: int) -> Self:
        """Seal a database as it lies on disk."""
        digests = bytearray()
        with (folder / CATALOGUE).open("rb") as file:
            while content := file.read(page_size):
                page = len(digests) // DIGEST_BYTES + 1
                digests += digest(content, uid, "page", page)
        return cls(uid, page_size, bytes(digests))

    def after(self, folder: Path) -> Self:
        """Give the seal that holds once the log is copied into the database."""
        log = read_log(folder / WAL)
        if log is EMPTY:
            return self
        digests = bytearray(self.digests).ljust(log.pages * DIGEST_BYTES, b"\0")
        for page, content in _pages(folder, log):
            place = (page - 1) * DIGEST_BYTES
            digests[place : place + DIGEST_BYTES] = digest(
                content, self.uid, "page", page
            )
        sealed = bytes(digests[: log.pages * DIGEST_BYTES])
        return type(self)(self.uid, self.page_size, sealed)


def _pages(folder: Path, log: WriteAheadLog) -> Iterator[tuple[int, bytes]]:

    with (folder / WAL).open("rb") as file:
        for page, place in log.content.items():
            file.seek(place)
            yield page, file.read(log.page_size)
