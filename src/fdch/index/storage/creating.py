"""Making an index folder: whole with its model, or not at all."""

import errno
import os
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from fdch.errors import FdchError, IndexFolderError
from fdch.index.search.rows import MAX_BITS
from fdch.index.storage.catalogue.recovery import rebuild_catalogue
from fdch.index.storage.files.acknowledged import Acknowledged, begin
from fdch.index.storage.files.checking import flush_files
from fdch.index.storage.files.layout import (
    CODES,
    LOG,
    MODEL,
    VECTORS,
    make_folders,
    sync_folder,
    translate_os_errors,
)
from fdch.index.storage.files.log import LogHeader, write_log
from fdch.index.storage.files.records import About, Commit, FileRow
from fdch.index.storage.files.staging import clear_staging, staging_folder
from fdch.index.store import ColumnType, check_vector_bytes

WriteModel = Callable[[Path], str]  # makes the folder and the files in it
_MOUNTED = (
    "is a mount point, which cannot become an index. Name a folder in it, such as "
    "'{path}/catalogue.index'."
)
_TAKEN = "already exists. Choose another path, or remove it first."
_REASONS = {
    errno.EBUSY: _MOUNTED,
    errno.EXDEV: _MOUNTED,
    errno.EEXIST: _TAKEN,
    errno.ENOTEMPTY: _TAKEN,
    errno.ENOENT: (
        "could not be made: '{missing}' does not exist. Check that files can be made "
        "beside it and stay, or choose another path."
    ),
}


def create_folder(
    path: Path,
    bits: int,
    model: str | WriteModel,
    facts: Mapping[str, object],
    vector_bytes: int,
    types: Mapping[str, ColumnType],
) -> None:
    """Make an empty index folder, whole or not at all; see `create_store`.

    `path` is a folder that is not there yet, or empty.
    """
    check_vector_bytes(vector_bytes)
    if not 1 <= bits <= MAX_BITS:
        raise IndexFolderError(f"codes have 1 to {MAX_BITS} bits; got {bits}.")
    with stage(path) as staging:
        files: list[FileRow] = []
        if callable(model):
            model = model(staging / MODEL)
            files = flush_files(staging, staging / MODEL)
        for name in (CODES, VECTORS) if vector_bytes else (CODES,):
            (staging / name).mkdir()
        about = About(bits, model, dict(facts), files, vector_bytes, dict(types))
        uid, entries = uuid.uuid4().bytes, [about.entry(), Commit().entry()]
        end, _ = write_log(staging, LogHeader(uid, 0), entries)
        begin(staging, Acknowledged(end.sequence, 0, 0, uid))
        rebuild_catalogue(staging)
        sync_folder(staging)


@contextmanager
def stage(path: Path) -> Iterator[Path]:
    """Yield a hidden folder to be filled, which then becomes the index at a path."""
    target = free_place(path)
    with _explain(path):
        make_folders(target.parent)
        clear_staging(target.parent)
        with staging_folder(target, uuid.uuid4().hex) as staging:
            yield staging
            # a mount of the same disk does not show before, and others may be quicker
            os.rename(staging, target)
            sync_folder(target.parent)


def free_place(path: Path) -> Path:
    """Return where a new index goes: behind links, where nothing is in the way."""
    with _explain(path):
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
    if os.path.ismount(target) and not (target / LOG).is_file():
        raise OSError(errno.EBUSY, "a mount point")
    if not target.is_dir() or any(target.iterdir()):
        raise FileExistsError(errno.EEXIST, "not empty")
    if target.samefile(Path.cwd()):
        raise IndexFolderError(
            f"'{path}' is the folder that this program runs in, which cannot become "
            "an index. Name a folder in it, such as 'catalogue.index'."
        )


@contextmanager
def _explain(path: Path) -> Iterator[None]:
    """Say why no index can be made at a path."""
    with translate_os_errors(path):
        try:
            yield
        except FdchError:
            raise
        except OSError as problem:
            why = _REASONS.get(problem.errno or 0)
            if why is None:
                raise
            why = why.format(path=path, missing=problem.filename)
            raise IndexFolderError(f"'{path}' {why}") from problem
