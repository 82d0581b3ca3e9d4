"""The files of the model inside an index folder, and their checksums."""

import os
import shutil
from pathlib import Path

from fdch.errors import DamagedIndex, IndexFolderError
from fdch.index.access import Access
from fdch.index.kept_files import copy_model
from fdch.index.layout import MODEL, PARTIAL, sync_folder


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
        view.connection.executemany(
            "INSERT INTO files VALUES (?, ?, ?)", copy_model(source, draft)
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
