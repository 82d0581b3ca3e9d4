"""Which file of an index a file is by its content, whatever its name is now."""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from fdch.errors import FdchError
from fdch.index.storage.files.layout import (
    ASIDE,
    CATALOGUE,
    CHECK,
    LOG,
    PARTIAL,
    WAL,
    damaged,
    is_check,
    is_own_name,
)
from fdch.index.storage.files.locking import held_open
from fdch.index.storage.files.log import HEADER_BYTES, parse_header, read_header
from fdch.index.storage.files.segments import owner_of_rows

Owner = Callable[[Path], Path | None]  # under which name a file belongs, if known

_SQLITE = b"SQLite format 3\0"
_WAL = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")  # SQLite's write-ahead log
_APPLICATION = slice(68, 72)  # where SQLite notes whose file it is


def all_files(folder: Path) -> Iterator[Path]:
    """Return all files of an index but those put aside."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.relative_to(folder).parts[0] != ASIDE:
            yield path


def owner_by_head(folder: Path, path: Path) -> Path | None:
    """Return what a file says that it is, in its first bytes; not all files do."""
    with suppress(OSError), held_open(path) as handle:
        head = os.pread(handle, _APPLICATION.stop, 0)
        if head.startswith(_SQLITE) and head[_APPLICATION] == b"fdch":
            return folder / CATALOGUE
        if head.startswith(_WAL) and is_own_name(folder, path):
            return folder / WAL
        if rows := owner_of_rows(folder, head[:HEADER_BYTES]):
            return rows
        with suppress(FdchError):
            parse_header(folder, head[:HEADER_BYTES])
            return folder / LOG
        with suppress(FdchError):
            if is_check(head, read_header(folder).uid):
                return folder / CHECK
    return None


def right_name(folder: Path, path: Path, owner: Owner) -> Path | None:
    """Return the name that a misplaced file must get; None if that is taken.

    A file that no index has, such as a copy that somebody made, replaces nothing.
    Files being written count for nothing; to open -shm would end SQLite's locks.
    """
    target = None if path.name.endswith((PARTIAL, "-shm")) else owner(path)
    if target is None or target == path or owner(target) == target:
        return None
    return target if is_own_name(folder, path) or not target.exists() else None


def misplaced(folder: Path) -> Iterator[tuple[Path, Path]]:
    """Find log, catalogue and rows that are under other names, and their own."""
    for path in all_files(folder):
        if target := right_name(folder, path, partial(owner_by_head, folder)):
            yield path, target


def require_own_names(folder: Path) -> None:
    """Refuse to make a catalogue that could take the place of a misplaced file."""
    for path, target in misplaced(folder):
        if is_own_name(folder, path):
            name = target.relative_to(folder)
            raise damaged(f"'{path}' is '{name}' under another name")
