"""Files that are written once, and compared with their checksums."""

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from fdch.index.storage.layout import CODES, DIGEST_BYTES, part_file, sync_folder
from fdch.index.storage.records import FileRow, PartRecord


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with an index.

    Args:
        file: Path inside the folder.
        where: Which part of the file, or "".
        what: What is wrong there.
    """

    file: str
    where: str
    what: str

    def __str__(self) -> str:
        where = f", {self.where}" if self.where else ""
        return f"{self.file}{where}: {self.what}"


def file_row(folder: Path, path: Path) -> FileRow:
    """Return path, length and checksum of a file in a folder."""
    with path.open("rb") as file:
        content = hashlib.file_digest(
            file, lambda: hashlib.blake2b(digest_size=DIGEST_BYTES)
        )
        size = os.fstat(file.fileno()).st_size
    return path.relative_to(folder).as_posix(), size, content.hexdigest()


def flush_files(folder: Path, inside: Path) -> list[FileRow]:
    """Flush all files below a folder in an index to disk; return their checksums."""
    paths = sorted(inside.rglob("*"))
    for path in [inside, *paths]:
        sync_folder(path)  # files too
    return [file_row(folder, path) for path in paths if path.is_file()]


def file_problems(folder: Path, files: Iterable[FileRow]) -> Iterator[Problem]:
    """Find files that are missing or not as written."""
    for path, size, check in files:
        if not (folder / path).is_file():
            yield Problem(path, "", "it is missing")
        elif file_row(folder, folder / path) != (path, size, check):
            yield Problem(path, "", "it is not as written")


def sidecar_rows(part: PartRecord) -> list[FileRow]:
    """Return what is known of the files that make searching a part faster."""
    return [
        (f"{CODES}/{part_file(Path(), part.part, kind).name}", size, check)
        for kind, (size, check) in part.sidecars.items()
    ]
