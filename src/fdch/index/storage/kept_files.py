"""Files that are written once, with their checksums."""

import hashlib
import os
from pathlib import Path

from fdch.index.storage.layout import DIGEST_BYTES, MODEL, sync_folder

FileRow = tuple[str, int, bytes]  # path inside the index, bytes, checksum


def settle_model(folder: Path) -> list[FileRow]:
    """Bring the files of a model that was just written to disk; give their records."""
    paths = sorted(folder.rglob("*"))
    for path in [folder, *paths]:
        sync_folder(path)  # files too
    return [
        (f"{MODEL}/{path.relative_to(folder).as_posix()}", *file_digest(path))
        for path in paths
        if path.is_file()
    ]


def file_digest(path: Path) -> tuple[int, bytes]:
    """Give the bytes and the checksum of a file."""
    with path.open("rb") as file:
        content = hashlib.file_digest(
            file, lambda: hashlib.blake2b(digest_size=DIGEST_BYTES)
        )
        return os.fstat(file.fileno()).st_size, content.digest()
