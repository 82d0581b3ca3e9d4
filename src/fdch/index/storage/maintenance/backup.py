"""A copy of an index as of one commit, while others read and write it."""

import os
import shutil
import time
from contextlib import suppress
from pathlib import Path

from fdch.errors import DamagedIndex, IndexBusy
from fdch.index.storage.access import Access
from fdch.index.storage.catalogue.recovery import rebuild_catalogue
from fdch.index.storage.catalogue.tables import State
from fdch.index.storage.creating import stage
from fdch.index.storage.files.acknowledged import begin
from fdch.index.storage.files.checking import MISSING, flush_files, sidecar_rows
from fdch.index.storage.files.layout import CODES, LOG, MODEL, PICTURES, VECTORS
from fdch.index.storage.files.log import HEADER_BYTES, LogHeader, read_header
from fdch.index.storage.maintenance.verification import verify_folder
from fdch.index.storage.snapshot import View

_TRIES, _PAUSE = 300, 0.1  # seconds, while others compact
_TRIES_FOR_PICTURES = 5  # while others remove items that have some


def backup_folder(folder: Path, target: Path) -> int:
    """Copy an index to a folder that is not there yet, whole or not at all.

    Rows and log are copied up to one commit; the catalogue is made again from the
    log, and every byte of the copy is then verified. Uploaded pictures that the
    index has lost are left out. Returns the number of items.
    """
    access = Access(folder, writable=False)
    try:
        with stage(target) as staging:
            for _ in range(_TRIES_FOR_PICTURES):
                state, has_all = _copy(access, staging)
                with access.reading() as view:
                    is_current = view.snapshot.state.position == state.position
                # pictures of items removed meanwhile are not of the next commit
                if has_all or is_current:
                    break
            return state.counts.items
    finally:
        access.close()


def _copy(access: Access, staging: Path) -> tuple[State, bool]:
    """Copy an index as of one commit; say also whether all pictures are there."""
    folder = access.place.folder
    for number in range(_TRIES):
        # between a new log and its catalogue, a compaction may take its time
        time.sleep(_PAUSE if number else 0)
        # open before the state is read: a compaction puts another in its place
        with (folder / LOG).open("rb") as log, access.reading() as view:
            state = view.snapshot.state
            header = LogHeader(state.uid, state.first)
            if log.read(HEADER_BYTES) != header.pack():
                continue
            try:
                _copy_parts(view, staging)
            except FileNotFoundError as error:
                if read_header(folder) != header:
                    continue  # compacted meanwhile
                lost = Path(error.filename).name
                raise DamagedIndex(
                    f"index '{folder}' was not copied: '{lost}' is missing. Run "
                    "'fdch index repair'."
                ) from error
            _copy_bytes(log.fileno(), staging / LOG, state.position.offset)
            break
    else:
        raise IndexBusy(f"index '{folder}' is being compacted. Try again.")
    _copy_files(folder, staging)
    begin(staging, state.acknowledged)
    flush_files(staging, staging)
    rebuild_catalogue(staging)
    problems = verify_folder(staging, is_locked=True).problems
    for problem in problems:
        if problem.what != MISSING or not problem.file.startswith(f"{PICTURES}/"):
            raise DamagedIndex(
                f"index '{folder}' was not copied: {problem}. Run 'fdch index repair'."
            )
    return state, not problems


def _copy_files(folder: Path, staging: Path) -> None:
    """Copy the model and uploaded pictures; one that was removed since is left out."""
    for name in (MODEL, PICTURES):
        for path in sorted((folder / name).rglob("*")):
            target = staging / path.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            if path.is_file() and not path.is_symlink():
                with suppress(FileNotFoundError):
                    shutil.copyfile(path, target)


def _copy_parts(view: View, staging: Path) -> None:
    """Copy codes and vectors; a file that is not found may be compacted."""
    place = view.snapshot.place
    for inside in (CODES, VECTORS) if place.vector_bytes else (CODES,):
        shutil.rmtree(staging / inside, ignore_errors=True)
        (staging / inside).mkdir()
    for part in view.snapshot.state.parts:
        for segment in place.segments(part.part, part.has_gaps):
            name = segment.path.relative_to(place.folder)
            with segment.path.open("rb") as file:
                _copy_bytes(file.fileno(), staging / name, segment.size(part.rows))
        for path, *_ in sidecar_rows(part):
            shutil.copyfile(place.folder / path, staging / path)


def _copy_bytes(source: int, target: Path, size: int) -> None:
    with target.open("wb") as file:
        done = 0
        while done < size:
            some = os.pread(source, min(2**22, size - done), done)
            if not some:
                raise DamagedIndex(f"'{target.name}' is shorter than it was written.")
            file.write(some)
            done += len(some)
