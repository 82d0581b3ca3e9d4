"""Files of rows mended: put back, begun anew, made whole, or given up in part."""

import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fdch.index.storage.access import View, read_facts
from fdch.index.storage.catalogue import Catalogue
from fdch.index.storage.changes import put_chunks
from fdch.index.storage.kept_files import file_digest
from fdch.index.storage.layout import ASIDE, CODES, free_path, sync_folder
from fdch.index.storage.numbering import Window, mend_numbers
from fdch.index.storage.parts import OpenPart, PartRecord, Place, read_parts
from fdch.index.storage.restoring import MOST_WOUNDS, restored, write_at
from fdch.index.storage.segments import HEADER_BYTES, Segment
from fdch.index.storage.verification import bad_chunks


@dataclass
class Mended:
    """What was done to files of rows.

    Args:
        told: What was put right.
        lost: Between which numbers it is lost which code is whose.
    """

    told: list[str] = field(default_factory=list)
    lost: list[Window] = field(default_factory=list)


def mend_files(folder: Path) -> Mended:
    """Make every part's files be there, headed, long enough and well numbered."""
    (folder / CODES).mkdir(exist_ok=True)
    with (
        closing(Catalogue(folder, writable=False)) as catalogue,
        catalogue.reading() as connection,
    ):
        place, _ = read_facts(connection, folder)
        parts = read_parts(connection, place)
        segments = [(segment, part) for part in parts for segment in _of(place, part)]
        done = Mended(_put_back(connection, segments))
        done.told += [line for one in segments for line in _mend_shape(*one)]
        for segment, part in segments:
            if segment.kind == "numbers":
                told, lost = mend_numbers(connection, segment, part)
                done.told += told
                done.lost += lost
    return done


def _mend_shape(segment: Segment, part: PartRecord) -> list[str]:
    """Make a file be there, with a header and as long as it was."""
    told = []
    if not segment.path.exists():
        segment.begin()
    if not _is_headed(segment, segment.path):
        write_at(segment.path, 0, segment.header())
        told.append(f"{segment.path.relative_to(segment.folder)}, header")
    if segment.path.stat().st_size < segment.size(part.rows):
        os.truncate(segment.path, segment.size(part.rows))
    return told


def _of(place: Place, part: PartRecord) -> list[Segment]:
    rows = place.rows(part.part)
    return [rows, place.numbers(part.part)] if part.has_gaps else [rows]


def _is_headed(segment: Segment, path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(HEADER_BYTES) == segment.header()


def _put_back(
    connection: sqlite3.Connection, segments: list[tuple[Segment, PartRecord]]
) -> list[str]:
    """Put files back that are missing in their place; never over a file that is right.

    Of several files that say that they belong there, the one is taken of which the
    most is as written. What stands in its way is put aside.
    """
    moves: list[tuple[Path, Segment]] = []
    for segment, part in segments:
        own = segment.path
        if own.exists() and _is_headed(segment, own):
            continue
        found = [
            path
            for path in sorted(own.parent.iterdir())
            if path.is_file() and not path.is_symlink() and _is_headed(segment, path)
        ]
        # only its header may be damaged, so that the file there counts as well
        found = [own, *found] if own.exists() else found
        if found:
            sound = [_count_sound(connection, segment, part, path) for path in found]
            best = found[sound.index(max(sound))]
            if best != own:
                moves.append((best, segment))
    drafts = [(_moved(path, path.parent, ".moved"), segment) for path, segment in moves]
    for draft, segment in drafts:
        if segment.path.exists():
            aside = segment.folder / ASIDE
            aside.mkdir(exist_ok=True)
            _moved(segment.path, aside, "")
        draft.rename(segment.path)
        sync_folder(segment.path.parent)
    return [f"{s.path.relative_to(s.folder)}, its name" for _, s in moves]


def _count_sound(
    connection: sqlite3.Connection, segment: Segment, part: PartRecord, path: Path
) -> int:
    bad = sum(1 for _ in bad_chunks(connection, segment, part.rows, path))
    return -(-part.rows // segment.chunk_rows) - bad


def _moved(path: Path, folder: Path, ending: str) -> Path:
    """Rename a file to a name that is free."""
    free = free_path(folder / f"{path.name}{ending}")
    path.rename(free)
    return free


def lost_numbers(view: View, told: list[str]) -> NDArray[np.int64]:
    """Give the numbers of items whose codes are not as written and cannot be.

    Their chunks count as written from the same commit on that takes these items out.

    Args:
        view: The index, inside the transaction that will take them out.
        told: Gets a line for each chunk that could be put right.
    """
    lost = [np.empty(0, dtype=np.int64)]
    told += _drop_sidecars(view)
    place = view.snapshot.place
    for part in view.snapshot.parts:
        for segment in _of(place, part.record):
            name = f"{segment.path.relative_to(place.folder)}"
            wrong = bad_chunks(view.connection, segment, part.record.rows)
            for chunk, content in wrong:
                is_worth_it = segment.kind == "rows" and len(lost) <= MOST_WOUNDS
                if is_worth_it and _restore_chunk(view, segment, chunk, content):
                    told.append(f"{name}, chunk {chunk}")
                    continue
                check = [(chunk, segment.digest(chunk, content))]
                put_chunks(view.connection, segment.part, segment.kind, check)
                if segment.kind == "rows":  # numbers were mended before
                    lost.append(_numbers_in(part, segment, chunk))
    return np.unique(np.concatenate(lost))


def _restore_chunk(view: View, segment: Segment, chunk: int, content: bytes) -> bool:
    query = "SELECT digest FROM chunks WHERE part = ? AND kind = ? AND chunk = ?"
    key = (segment.part, segment.kind, chunk)
    (expected,) = view.connection.execute(query, key).fetchone() or (None,)
    if expected is None:
        return False
    mended = restored(content, lambda trial: segment.digest(chunk, trial) == expected)
    if mended is None:
        return False
    write_at(segment.path, segment.size(chunk * segment.chunk_rows), mended)
    return True


def _numbers_in(part: OpenPart, segment: Segment, chunk: int) -> NDArray[np.int64]:
    """Give the numbers of the items whose codes lie in a chunk."""
    first = chunk * segment.chunk_rows
    last = min(first + segment.chunk_rows, part.record.rows)
    return part.item_numbers(np.arange(first, last))


def _drop_sidecars(view: View) -> list[str]:
    """Forget a part's files that only make searching faster, if one is damaged."""
    folder = view.snapshot.place.folder
    query = f"SELECT path, bytes, digest FROM files WHERE path LIKE '{CODES}/%'"
    dropped = []
    for path, size, check in view.connection.execute(query).fetchall():
        file = folder / path
        if not file.is_file() or file_digest(file) != (size, check):
            one = path.rpartition(".")[0]
            view.connection.execute(
                "DELETE FROM files WHERE path LIKE ?", (f"{one}.%",)
            )
            dropped.append(f"{path}, dropped: the next compaction makes it anew")
    return dropped
