"""Making an index folder: whole with its model, or not at all."""

import json
import os
import shutil
import sqlite3
import uuid
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from fdch.errors import IndexFolderError
from fdch.index.access import facts_checksum
from fdch.index.acknowledged import Acknowledged, begin
from fdch.index.catalogue import PAGE_BYTES, create_catalogue
from fdch.index.kept_files import FileRow, copy_model
from fdch.index.layout import CATALOGUE, CODES, FORMAT, MODEL, sync_folder, told
from fdch.index.rows import MOST_BITS
from fdch.index.seal import Seal


def create_folder(
    path: Path,
    bits: int,
    model: str,
    facts: Mapping[str, object],
    files: Path | None = None,
) -> None:
    """Make an empty index folder, whole or not at all.

    Args:
        path: A folder that is not there yet, or empty.
        bits: Length of the codes.
        model: Fingerprint of the model that makes the codes.
        facts: What else to keep, plain values for JSON.
        files: A folder with the model's files, to be copied in.
    """
    if not 1 <= bits <= MOST_BITS:
        raise IndexFolderError(f"codes have 1 to {MOST_BITS} bits; got {bits}.")
    with told(path):
        target = _free_place(path)
    uid = uuid.uuid4()
    kept: dict[str, str | int] = {"format": FORMAT, "uid": uid.hex}
    kept |= {"bits": bits, "model": model}
    kept["facts"] = json.dumps(facts, ensure_ascii=False)
    kept["check"] = facts_checksum(uid.bytes, kept)
    kept |= dict.fromkeys(["commit", "items", "next_number", "next_part"], 0)
    draft = target.with_name(f".fdch-index-{uid.hex}")
    with told(path):
        try:
            (draft / CODES).mkdir(parents=True)
            begin(draft, Acknowledged(0, 0, 0, uid.bytes))
            create_catalogue(draft, kept | {"generation": 0})
            if files is not None:
                _put_files(draft, uid.bytes, copy_model(files, draft / MODEL))
            sync_folder(draft)
            os.rename(draft, target)
            sync_folder(target.parent)
        finally:
            shutil.rmtree(draft, ignore_errors=True)


def _put_files(folder: Path, uid: bytes, rows: list[FileRow]) -> None:
    """Put files on record in a catalogue that nobody has opened yet."""
    with closing(sqlite3.connect(folder / CATALOGUE)) as connection, connection:
        connection.execute("PRAGMA synchronous = FULL")
        connection.executemany("INSERT INTO files VALUES (?, ?, ?)", rows)
    Seal.of(folder, uid, PAGE_BYTES).write(folder)


def _free_place(path: Path) -> Path:
    """Give where a new folder goes: behind links, where nothing is in the way."""
    target = Path(os.path.realpath(path))
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        what = "is there already"
        if (target / CATALOGUE).is_file() and not (target / MODEL).exists():
            what += ", an index without a model: perhaps its making was stopped"
        raise IndexFolderError(
            f"'{path}' {what}. Choose another path, or remove it first."
        )
    if target.exists() and target.samefile(Path.cwd()):
        raise IndexFolderError(
            f"'{path}' is the folder that this program runs in, which cannot become "
            "an index. Name a folder in it, such as 'catalogue.index'."
        )
    return target
