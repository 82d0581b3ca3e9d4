"""First step of a repair: files that were swapped or renamed get their names again."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from fdch.index.storage.catalogue.items import from_row
from fdch.index.storage.files.checking import Problem, file_row
from fdch.index.storage.files.layout import CATALOGUE, PICTURES, sync_folder
from fdch.index.storage.files.misplaced import Owner, all_files, right_name
from fdch.index.storage.files.records import FileRow, read_item
from fdch.index.storage.maintenance.verification import is_upload

MAX_UPLOADS = 16  # above, each file would be compared with too many


def put_back(folder: Path, owner: Owner) -> list[str]:
    """Exchange misplaced files with those under their names; say which got theirs.

    Killed at any moment, it leaves every content under some name.
    """
    restored: list[Path] = []
    for path in all_files(folder):
        names = []
        while target := right_name(folder, path, owner):
            target.parent.mkdir(exist_ok=True)
            moving = target.with_name(f"{target.name}.moving")
            if target.exists():
                target.rename(moving)
            path.rename(target)
            if moving.exists():
                moving.rename(path)
            for inside in {path.parent, target.parent}:
                sync_folder(inside)
            names.append(target)
        restored += [*names, path] if names and path.exists() else names
    return [f"{path.relative_to(folder)}: it had another name" for path in restored]


def owner_by_checksum(
    folder: Path, files: Sequence[FileRow], uploads: Mapping[Path, str]
) -> Owner:
    """Know files by their checksums, and damaged uploads by the ids of their items."""
    names = {(size, check): folder / name for name, size, check in files}

    def owner(path: Path) -> Path | None:
        # to open the catalogue would end SQLite's locks; its head says what it is
        if path == folder / CATALOGUE or not path.is_file():
            return None
        name, size, check = file_row(folder, path)
        if (name, size, check) in files:
            return path
        is_intact = path.parent.name == PICTURES and path not in uploads
        ids = () if is_intact else uploads.items()
        found = (target for target, id in ids if is_upload(path, id, target.stem))
        return names.get((size, check)) or next(found, None)

    return owner


def damaged_uploads(
    folder: Path, problems: Sequence[Problem], items: Iterable[bytes]
) -> dict[Path, str]:
    """Return the ids of items by uploaded pictures that are wrong, if these are few."""
    inside = f"{PICTURES}/"
    wrong = {Path(p.file).name for p in problems if p.file.startswith(inside)}
    if not 0 < len(wrong) <= MAX_UPLOADS:
        return {}
    known = (from_row(*read_item(payload)[1:]) for payload in items)
    named = {Path(item.image).name: item.id for item in known if item.image}
    return {folder / PICTURES / name: named[name] for name in wrong & named.keys()}
