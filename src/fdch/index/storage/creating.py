"""Making an index folder: whole with its model, or not at all."""

import errno
import json
import os
import sqlite3
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from fdch.errors import IndexFolderError
from fdch.index.search.rows import MAX_BITS as MOST_BITS
from fdch.index.storage.access import facts_checksum
from fdch.index.storage.acknowledged import Acknowledged, begin
from fdch.index.storage.catalogue import PAGE_BYTES, commit_durably, create_catalogue
from fdch.index.storage.drafts import clear_drafts, draft_of
from fdch.index.storage.kept_files import FileRow, settle_model
from fdch.index.storage.layout import (
    CATALOGUE,
    CODES,
    FORMAT,
    MODEL,
    make_folders,
    sync_folder,
    told,
)
from fdch.index.storage.seal import Seal

WriteModel = Callable[[Path], str]  # makes the folder and the files in it


def create_folder(
    path: Path, bits: int, model: str | WriteModel, facts: Mapping[str, object]
) -> None:
    """Make an empty index folder, whole or not at all.

    Args:
        path: A folder that is not there yet, or empty.
        bits: Length of the codes.
        model: Fingerprint of the model that makes the codes; or what writes the
            model's files, to be kept in the index, and gives the fingerprint.
        facts: What else to keep, plain values for JSON.
    """
    if not 1 <= bits <= MOST_BITS:
        raise IndexFolderError(f"codes have 1 to {MOST_BITS} bits; got {bits}.")
    target = free_place(path)
    uid = uuid.uuid4()
    with told(path), _staying(path):
        make_folders(target.parent)
        clear_drafts(target.parent)
        with draft_of(target, uid.hex) as draft:
            files: list[FileRow] = []
            if callable(model):
                model = model(draft / MODEL)
                files = settle_model(draft / MODEL)
            _fill(draft, _kept(uid, bits, model, facts), files)
            _put_in_place(draft, target, path)


@contextmanager
def _staying(path: Path) -> Iterator[None]:
    """Tell what is lost of an index that is not there yet, and cannot be repaired."""
    try:
        yield
    except FileNotFoundError as problem:
        raise IndexFolderError(
            f"'{path}' could not be made: '{problem.filename}' is not there. Check "
            "that files can be made beside it and stay, or choose another path."
        ) from problem


def free_place(path: Path) -> Path:
    """Give where a new index goes: behind links, where nothing is in the way.

    Raises:
        IndexFolderError: Something is, or no folder may be made there.
    """
    with told(path):
        target = Path(os.path.realpath(path))
        if target.exists():
            _require_usable(target, path)
        above = next(folder for folder in target.parents if folder.exists())
        if not above.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "no folder", str(above))
        if not os.access(above, os.W_OK | os.X_OK):
            reason = os.strerror(errno.EACCES)
            raise PermissionError(errno.EACCES, reason, str(above))
        return target


def _require_usable(target: Path, path: Path) -> None:
    """Refuse what is there, unless it is an empty folder that can be replaced."""
    if os.path.ismount(target) and not (target / CATALOGUE).is_file():
        raise _mount_point(path)
    if not target.is_dir() or any(target.iterdir()):
        raise _taken(target, path)
    if target.samefile(Path.cwd()):
        raise IndexFolderError(
            f"'{path}' is the folder that this program runs in, which cannot become "
            "an index. Name a folder in it, such as 'catalogue.index'."
        )


def _kept(
    uid: uuid.UUID, bits: int, model: str, facts: Mapping[str, object]
) -> dict[str, str | int]:
    """Give the facts of an index that has nothing in it."""
    kept: dict[str, str | int] = {"format": FORMAT, "uid": uid.hex}
    kept |= {"bits": bits, "model": model}
    kept["facts"] = json.dumps(facts, ensure_ascii=False)
    kept["check"] = facts_checksum(uid.bytes, kept)
    counts = ["commit", "items", "next_number", "next_part", "generation"]
    return kept | dict.fromkeys(counts, 0)


def _fill(draft: Path, kept: dict[str, str | int], files: list[FileRow]) -> None:
    uid = bytes.fromhex(str(kept["uid"]))
    (draft / CODES).mkdir()
    begin(draft, Acknowledged(0, 0, 0, uid))
    create_catalogue(draft, kept)
    if files:
        _put_files(draft, uid, files)
    sync_folder(draft)


def _put_files(folder: Path, uid: bytes, rows: list[FileRow]) -> None:
    """Put files on record in a catalogue that nobody has opened yet."""
    with closing(sqlite3.connect(folder / CATALOGUE)) as connection, connection:
        commit_durably(connection)
        connection.executemany("INSERT INTO files VALUES (?, ?, ?)", rows)
    Seal.of(folder, uid, PAGE_BYTES).write(folder)


def _put_in_place(draft: Path, target: Path, path: Path) -> None:
    try:
        os.rename(draft, target)
    except OSError as problem:
        # a mount of the same disk does not show before, and others may be quicker
        if problem.errno in (errno.EBUSY, errno.EXDEV):
            raise _mount_point(path) from problem
        if problem.errno in (errno.ENOTEMPTY, errno.EEXIST):
            raise _taken(target, path) from problem
        raise
    sync_folder(target.parent)


def _mount_point(path: Path) -> IndexFolderError:
    return IndexFolderError(
        f"'{path}' is a mount point, which cannot become an index. Name a folder in "
        f"it, such as '{path / 'catalogue.index'}'."
    )


def _taken(target: Path, path: Path) -> IndexFolderError:
    what = "is there already"
    if (target / CATALOGUE).is_file() and not (target / MODEL).exists():
        what += ", an index without a model: perhaps its making was stopped"
    return IndexFolderError(
        f"'{path}' {what}. Choose another path, or remove it first."
    )
