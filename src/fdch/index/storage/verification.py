"""Whether every byte of an index folder is as it was written, and all parts fit."""

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from fdch.errors import DamagedIndex
from fdch.index.storage.access import read_facts
from fdch.index.storage.acknowledged import Acknowledged, acknowledged
from fdch.index.storage.catalogue import Catalogue
from fdch.index.storage.consistency import check_catalogue
from fdch.index.storage.kept_files import file_digest
from fdch.index.storage.layout import (
    ACKNOWLEDGED,
    CATALOGUE,
    DRAFT,
    LOCK,
    MODEL,
    SEAL,
    WAL,
    is_damage,
    require_plain,
    require_remains,
    told,
)
from fdch.index.storage.locking import WriterLock, lock_problem
from fdch.index.storage.parts import PartRecord, Place, fact, read_parts
from fdch.index.storage.seal import Seal
from fdch.index.storage.segments import HEADER_BYTES, Segment
from fdch.index.storage.wal import EMPTY, read_log
from fdch.progress import Progress, Update, silent

_METHOD = "method"  # an index that says which one makes its codes has it inside


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


@dataclass(frozen=True)
class Verification:
    """What a look at every byte of an index found.

    Args:
        problems: What is wrong; nothing when the index is sound.
    """

    problems: tuple[Problem, ...]

    @property
    def is_clean(self) -> bool:
        """Tell whether nothing is wrong."""
        return not self.problems


def verify_folder(
    folder: Path, progress: Progress = silent, *, is_locked: bool = False
) -> Verification:
    """Look at every byte of an index; change nothing.

    Args:
        folder: The index.
        progress: Told after each step.
        is_locked: Whether the caller has the writer's lock.

    Raises:
        IndexFolderError: There is no index.
        IndexBusy: Another process is writing.
    """
    require_remains(folder)
    with ExitStack() as stack, told(folder):
        require_plain(folder)
        if not is_locked and _can_lock(folder):
            stack.callback(WriterLock(folder).release)
        return Verification(tuple(_problems(folder, progress, is_locked)))


def _can_lock(folder: Path) -> bool:
    try:
        (folder / LOCK).touch()
    except OSError:
        return (folder / LOCK).exists()
    return True


def _problems(folder: Path, progress: Progress, is_locked: bool) -> Iterator[Problem]:
    if not is_locked and (wrong := lock_problem(folder)):
        yield Problem(LOCK, "", wrong)
    if (folder / DRAFT).exists():
        yield Problem(DRAFT, "", "a repair was stopped; run 'fdch index repair' again")
    seen, wrong_records = acknowledged(folder)
    yield from (Problem(ACKNOWLEDGED, "", what) for what in wrong_records)
    progress(Update("verifying", 1, 4, "step"))
    yield from _page_problems(folder)
    progress(Update("verifying", 2, 4, "step"))
    try:
        with (
            closing(Catalogue(folder, writable=False)) as catalogue,
            catalogue.reading() as connection,
        ):
            yield from _content_problems(connection, folder, seen, progress)
    except Exception as problem:
        if not is_damage(problem):
            raise
        yield Problem(CATALOGUE, "", f"it cannot be read ({problem})")


def bad_pages(folder: Path, seal: Seal) -> Iterator[tuple[int, bytes]]:
    """Give the pages of the catalogue that are neither as sealed nor in the log."""
    log = read_log(folder / WAL)
    last = max(seal.pages, log.pages)
    with (folder / CATALOGUE).open("rb") as file:
        page = 0
        while content := file.read(seal.page_size):
            page += 1
            is_ours = page <= last or log is EMPTY
            if is_ours and page not in log.content and not seal.holds(page, content):
                yield page, content
        if log is EMPTY and page < seal.pages:
            yield from ((missing, b"") for missing in range(page + 1, seal.pages + 1))


def _page_problems(folder: Path) -> Iterator[Problem]:
    try:
        seal = Seal.read(folder)
    except DamagedIndex:
        is_there = (folder / SEAL).exists()
        yield Problem(SEAL, "", "it is not as written" if is_there else "it is missing")
        return
    for page, content in bad_pages(folder, seal):
        what = "it is not as written" if content else "it is missing"
        yield Problem(CATALOGUE, f"page {page}", what)


def _content_problems(
    connection: sqlite3.Connection,
    folder: Path,
    seen: Acknowledged | None,
    progress: Progress,
) -> Iterator[Problem]:
    place, facts = read_facts(connection, folder)
    commit = fact(connection, place, "commit")
    if seen is not None and seen.uid != place.uid:
        yield Problem(ACKNOWLEDGED, "", "it belongs to another index")
    elif seen is not None and seen.commit > commit:
        lost = f"commits {commit + 1} to {seen.commit} were acknowledged and are lost"
        yield Problem(CATALOGUE, "", lost)
    for (what,) in connection.execute("PRAGMA integrity_check(20)"):
        if what != "ok":
            yield Problem(CATALOGUE, "", what)
    yield from (Problem(CATALOGUE, *p) for p in check_catalogue(connection, place))
    progress(Update("verifying", 3, 4, "step"))
    for part in read_parts(connection, place):
        yield from _part_problems(connection, place, part)
    yield from _file_problems(connection, folder)
    query = f"SELECT count(*) FROM files WHERE path LIKE '{MODEL}/%'"
    (files,) = connection.execute(query).fetchone()
    if isinstance(facts["facts"], dict) and _METHOD in facts["facts"] and not files:
        what = "it was never kept; the index can be searched by codes only"
        yield Problem(MODEL, "", what)
    progress(Update("verifying", 4, 4, "step"))


def _part_problems(
    connection: sqlite3.Connection, place: Place, part: PartRecord
) -> Iterator[Problem]:
    segments = [place.rows(part.part)]
    if part.has_gaps:
        segments.append(place.numbers(part.part))
    for segment in segments:
        name = str(segment.path.relative_to(place.folder))
        if not segment.path.is_file():
            yield Problem(name, "", "it is missing")
            continue
        with segment.path.open("rb") as file:
            if file.read(HEADER_BYTES) != segment.header():
                yield Problem(name, "header", "it is not as written")
        for chunk, _ in bad_chunks(connection, segment, part.rows):
            first = chunk * segment.chunk_rows
            last = min(first + segment.chunk_rows, part.rows) - 1
            yield Problem(name, f"rows {first} to {last}", "they are not as written")


def bad_chunks(
    connection: sqlite3.Connection,
    segment: Segment,
    rows: int,
    path: Path | None = None,
) -> Iterator[tuple[int, bytes]]:
    """Give the chunks of a file of rows, or of a copy, that are not as written."""
    query = "SELECT chunk, digest FROM chunks WHERE part = ? AND kind = ?"
    known = dict(connection.execute(query, (segment.part, segment.kind)))
    for chunk, content in segment.chunks(rows, path):
        if known.get(chunk) != segment.digest(chunk, content):
            yield chunk, content


def _file_problems(connection: sqlite3.Connection, folder: Path) -> Iterator[Problem]:
    """Look at the files that are written once: the model's, and what speeds search."""
    known = set()
    for path, size, digest in connection.execute("SELECT * FROM files"):
        known.add(path)
        if not (folder / path).is_file():
            yield Problem(path, "", "it is missing")
        elif file_digest(folder / path) != (size, digest):
            yield Problem(path, "", "it is not as written")
    for file in sorted((folder / MODEL).rglob("*")):
        name = file.relative_to(folder).as_posix()
        if file.is_file() and name not in known:
            yield Problem(name, "", "it does not belong to the model")
