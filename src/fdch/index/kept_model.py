"""The files of the model inside an index folder, and their checksums."""

import hashlib
import os
import shutil
from pathlib import Path

from fdch.errors import DamagedIndex, IndexFolderError
from fdch.index.access import Access
from fdch.index.layout import DIGEST_BYTES, MODEL, PARTIAL, sync_folder


def keep_model(access: Access, source: Path) -> None:
    """Copy a model's files into the index and put their checksums on record."""
    target = access.place.folder / MODEL
    draft = target.with_name(MODEL + PARTIAL)
    with access.changing() as view:
        query = f"SELECT count(*) FROM files WHERE path LIKE '{MODEL}/%'"
        if view.connection.execute(query).fetchone() != (0,):
            raise IndexFolderError(f"index '{access.place.folder}' has its model.")
        for left in (draft, target):  # by a process that was killed meanwhile
            shutil.rmtree(left, ignore_errors=True)
        shutil.copytree(source, draft)
        for path in [draft, *sorted(draft.rglob("*"))]:
            sync_folder(path)  # files too
        view.connection.executemany(
            "INSERT INTO files VALUES (?, ?, ?)",
            [
                (f"{MODEL}/{path.relative_to(draft).as_posix()}", *file_digest(path))
                for path in sorted(draft.rglob("*"))
                if path.is_file()
            ],
        )
        os.rename(draft, target)
        sync_folder(target.parent)


def model_folder(folder: Path) -> Path:
    """Find a model's files in an index folder."""
    if not (folder / MODEL).is_dir():
        raise DamagedIndex(
            f"index '{folder}' has lost its model, the folder '{MODEL}' in it. Restore "
            "it from a copy, or create the index again."
        )
    return folder / MODEL


def file_digest(path: Path) -> tuple[int, bytes]:
    """Give the bytes and the checksum of a file."""
    with path.open("rb") as file:
        content = hashlib.file_digest(
            file, lambda: hashlib.blake2b(digest_size=DIGEST_BYTES)
        )
        return os.fstat(file.fileno()).st_size, content.digest()
