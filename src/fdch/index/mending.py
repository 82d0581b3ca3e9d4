"""Files of rows mended: put back, begun anew, made whole, or given up in part."""

import os
from contextlib import closing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fdch.index.access import Access, View, read_facts
from fdch.index.catalogue import Catalogue
from fdch.index.changes import put_chunks
from fdch.index.kept_model import file_digest
from fdch.index.layout import CODES
from fdch.index.parts import OpenPart, PartRecord, Place, read_parts
from fdch.index.restoring import MOST_WOUNDS, restored, write_at
from fdch.index.segments import HEADER_BYTES, Segment
from fdch.index.verification import bad_chunks


def mend_files(folder: Path) -> list[str]:
    """Make every part's files be there, with a header and as long as they were."""
    with (
        closing(Catalogue(folder, writable=False)) as catalogue,
        catalogue.reading() as connection,
    ):
        place, _ = read_facts(connection, folder)
        parts = read_parts(connection, place)
    segments = [(segment, part) for part in parts for segment in _segments(place, part)]
    (folder / CODES).mkdir(exist_ok=True)
    told = _put_back(folder, [segment for segment, _ in segments])
    for segment, part in segments:
        if not segment.path.exists():
            segment.begin()
        with segment.path.open("rb") as file:
            is_right = file.read(HEADER_BYTES) == segment.header()
        if not is_right:
            write_at(segment.path, 0, segment.header())
            told.append(f"{segment.path.relative_to(folder)}, header")
        if segment.path.stat().st_size < segment.size(part.rows):
            os.truncate(segment.path, segment.size(part.rows))
    return told


def _segments(place: Place, part: PartRecord) -> list[Segment]:
    rows = place.rows(part.part)
    return [rows, place.numbers(part.part)] if part.has_gaps else [rows]


def _put_back(folder: Path, segments: list[Segment]) -> list[str]:
    """Rename files whose headers say that they belong elsewhere."""
    headers = {segment.header(): segment for segment in segments}
    moves = []
    for path in sorted((folder / CODES).iterdir()):
        if path.is_file():
            with path.open("rb") as file:
                owner = headers.get(file.read(HEADER_BYTES))
            if owner is not None and owner.path != path:
                moves.append((path, owner))
    for path, _ in moves:
        path.rename(path.with_name(path.name + ".moved"))
    for path, owner in moves:
        path.with_name(path.name + ".moved").rename(owner.path)
    return [f"{owner.path.relative_to(folder)}, its name" for _, owner in moves]


def lost_numbers(access: Access, told: list[str]) -> NDArray[np.int64]:
    """Give the numbers of items whose codes are not as written and cannot be.

    Args:
        access: The index, opened for writing.
        told: Gets a line for each chunk that could be put right.
    """
    lost = [np.empty(0, dtype=np.int64)]
    with access.changing() as view:
        told += _drop_sidecars(view)
        for part in view.snapshot.parts:
            for segment in reversed(_segments(access.place, part.record)):
                for chunk, content in bad_chunks(
                    view.connection, segment, part.record.rows
                ):
                    name = f"{segment.path.relative_to(access.place.folder)}"
                    is_worth_it = len(lost) <= MOST_WOUNDS
                    if is_worth_it and _restore_chunk(view, segment, chunk, content):
                        told.append(f"{name}, chunk {chunk}")
                    else:
                        lost.append(_give_up(view, segment, part, chunk, content))
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


def _give_up(
    view: View, segment: Segment, part: OpenPart, chunk: int, content: bytes
) -> NDArray[np.int64]:
    """Let a chunk be as it is, and give the numbers of its items."""
    first = chunk * segment.chunk_rows
    rows = np.arange(first, min(first + segment.chunk_rows, part.record.rows))
    if segment.kind == "numbers" and part.numbers is not None:
        # which numbers they were is lost: let them be the next free ones
        before = int(part.numbers[first - 1]) + 1 if first else 0
        content = (before + rows - first).astype(segment.dtype).tobytes()
        write_at(segment.path, segment.size(first), content)
    check = [(chunk, segment.digest(chunk, content))]
    put_chunks(view.connection, segment.part, segment.kind, check)
    return part.item_numbers(rows)


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
