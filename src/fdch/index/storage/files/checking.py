"""Finds damaged files by the checksums that the log has of them."""

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from fdch.index.storage.files.layout import (
    CODES,
    DIGEST_BYTES,
    damaged,
    file_version,
    hash_file,
    is_damage,
    part_file,
    sync_folder,
)
from fdch.index.storage.files.records import FileRow, PartRecord
from fdch.index.storage.files.segments import Place, Segment

MISSING = "it is missing"


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: in which file, where in it if known, and what."""

    file: str
    where: str
    what: str

    def __str__(self) -> str:
        where = f", {self.where}" if self.where else ""
        return f"{self.file}{where}: {self.what}"


def file_row(folder: Path, path: Path) -> FileRow:
    """Return path, length and checksum of a file in a folder."""
    size, content = hash_file(path)
    return path.relative_to(folder).as_posix(), size, content.hex()


def flush_files(folder: Path, inside: Path) -> list[FileRow]:
    """Flush all files below a folder in an index to disk; return their checksums."""
    paths = sorted(inside.rglob("*"))
    for path in [inside, *paths]:
        sync_folder(path)  # files too
    return [file_row(folder, path) for path in paths if path.is_file()]


def file_problems(folder: Path, files: Iterable[FileRow]) -> Iterator[Problem]:
    """Find files that are missing or whose checksum does not match."""
    for path, size, check in files:
        if not (folder / path).is_file():
            yield Problem(path, "", MISSING)
        elif file_row(folder, folder / path) != (path, size, check):
            yield Problem(path, "", "its checksum does not match")


def sidecar_rows(part: PartRecord) -> list[FileRow]:
    """Return what is known of the files that make searching a part faster."""
    return [
        (f"{CODES}/{part_file(Path(), part.part, kind).name}", size, check)
        for kind, (size, check) in part.sidecars.items()
    ]


def part_problems(place: Place, part: PartRecord) -> Iterator[Problem]:
    """Find chunks of a part whose checksum does not match."""
    for segment in place.segments(part.part, part.has_gaps):
        yield from segment_problems(segment, part.rows, part.digests(segment.kind))


def segment_problems(segment: Segment, rows: int, known: bytes) -> Iterator[Problem]:
    """Find chunks of a file of rows whose checksum does not match."""
    name = str(segment.path.relative_to(segment.folder))
    if not segment.path.is_file():
        yield Problem(name, "", MISSING)
        return
    if not segment.has_header():
        yield Problem(name, "header", "it is damaged or of another file")
    for chunk, content in segment.chunks(rows):
        check = known[chunk * DIGEST_BYTES : (chunk + 1) * DIGEST_BYTES]
        if check != segment.digest(chunk, content):
            first = chunk * segment.chunk_rows
            last = min(first + segment.chunk_rows, rows) - 1
            rows_at = f"rows {first} to {last}"
            yield Problem(name, rows_at, "their checksums do not match")


_sound: set[tuple[int, ...]] = set()  # versions of files that were found sound


class Scrub:
    """One look at the bytes that answers are made from.

    Small indexes are looked at before their first answer. Large ones are looked at in
    the background; damage ends the answers as soon as it is found.

    Args:
        problems: Finds what is wrong, at its own pace.
        files: What it reads.
    """

    # what takes about a second to read and hash
    MAX_FOREGROUND_BYTES = 2**29

    def __init__(self, problems: Iterator[Problem], files: Iterable[Path]) -> None:
        self._problems = problems
        self._found: Problem | None = None
        self._versions = [file_version(path) for path in files]
        if _sound.issuperset(self._versions):
            return
        if sum(size for *_, size, _ in self._versions) <= self.MAX_FOREGROUND_BYTES:
            self._look()
        else:
            name = "fdch index check"
            threading.Thread(target=self._look, name=name, daemon=True).start()

    def require_sound(self, folder: Path) -> None:
        """Refuse to answer from damaged files."""
        if self._found is not None:
            raise damaged(f"index '{folder}' is damaged: {self._found}")

    def _look(self) -> None:
        try:
            self._found = next(self._problems, None)
            if self._found is None:
                _sound.update(self._versions)
        except FileNotFoundError:
            pass  # compacted meanwhile; what replaced it was just written
        except Exception as problem:
            if not is_damage(problem):
                raise
            self._found = Problem("", "", str(problem))
