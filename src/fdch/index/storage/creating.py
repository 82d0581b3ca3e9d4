"""Making an index folder: whole with its model, or not at all."""

import errno
import os
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from fdch.errors import IndexFolderError
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
from fdch.index.storage.files.locking import load_locks
from fdch.index.storage.files.log import LogHeader, write_log
from fdch.index.storage.files.records import About, Commit, FileRow
from fdch.index.store import ColumnType, check_vector_bytes

WriteModel = Callable[[Path], str]  # makes the folder and the files in it
_STAGING = ".fdch-index-"  # and 32 digits


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
    """Yield a hidden folder to be filled, which then becomes the index at a path.

    It is locked meanwhile, so that one that is not is left by a killed process.
    """
    target = free_place(path)
    with translate_os_errors(path):
        make_folders(target.parent)
        for left in target.parent.glob(_STAGING + "[0-9a-f]" * 32):
            with suppress(OSError), _lock(left):
                shutil.rmtree(left, ignore_errors=True)
        staging = target.with_name(_STAGING + uuid.uuid4().hex)
        staging.mkdir()
        try:
            with _lock(staging):
                yield staging
                # a mount of the same disk does not show before; others may be quicker
                os.rename(staging, target)
                sync_folder(target.parent)
        finally:
            shutil.rmtree(staging, ignore_errors=True)


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Lock a folder, not a link to one; OSError if somebody else has."""
    fcntl = load_locks()
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


def free_place(path: Path) -> Path:
    """Return where a new index goes: behind links, where nothing is in the way."""
    with translate_os_errors(path):
        target = Path(os.path.realpath(path))
        if os.path.ismount(target) and not (target / LOG).is_file():
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        if target == Path.cwd():
            raise IndexFolderError(
                f"'{path}' is the folder that this program runs in, which cannot "
                "become an index. Name a folder in it, such as 'catalogue.index'."
            )
        above = next(folder for folder in target.parents if folder.exists())
        code = errno.EACCES if above.is_dir() else errno.ENOTDIR
        if code == errno.ENOTDIR or not os.access(above, os.W_OK | os.X_OK):
            raise OSError(code, os.strerror(code), str(above))
        return target
