"""Files that are written once: copied into an index, with their checksums."""

import hashlib
import os
import shutil
from pathlib import Path

from fdch.index.layout import DIGEST_BYTES, MODEL, sync_folder

FileRow = tuple[str, int, bytes]  # path inside the index, bytes, checksum


def copy_model(source: Path, target: Path) -> list[FileRow]:
    """Copy a model's files, on disk when this returns; give their records."""
    shutil.copytree(source, target)
    for path in [target, *sorted(target.rglob("*"))]:
        sync_folder(path)  # files too
    return [
        (f"{MODEL}/{path.relative_to(target).as_posix()}", *file_digest(path))
        for path in sorted(target.rglob("*"))
        if path.is_file()
    ]


def file_digest(path: Path) -> tuple[int, bytes]:
    """Give the bytes and the checksum of a file."""
    with path.open("rb") as file:
        content = hashlib.file_digest(
            file, lambda: hashlib.blake2b(digest_size=DIGEST_BYTES)
        )
        return os.fstat(file.fileno()).st_size, content.digest()
