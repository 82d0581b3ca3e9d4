"""Where the pictures of an index are: which paths still hold, and which have moved."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from fdch.data.readers.manifest_cells import PictureFolders
from fdch.errors import MissingFile
from fdch.index.opening import require_folder
from fdch.index.storage.folder import CodeFolder
from fdch.index.store import Item
from fdch.progress import Progress, Update, silent
from fdch.retrieval.index import Index
from fdch.retrieval.rebuilding import uploaded_picture

ITEMS_AT_A_TIME = 512


@dataclass(frozen=True)
class PicturePaths:
    """How many pictures are at their paths, were found elsewhere, or are missing."""

    found: int = 0
    moved: int = 0
    missing: int = 0


def count_pictures(name: str | Path, progress: Progress = silent) -> PicturePaths:
    """Look for the picture of every item of an index folder that has one."""
    with CodeFolder.open(require_folder(name)) as store:
        here, items = PictureFolders(store.path), _with_pictures(store, progress)
        counts = Counter(_is_in_place(item, here) for item in items)
    return PicturePaths(found=counts[True], missing=counts[False])


def remap_pictures(
    name: str | Path, pictures: Path, progress: Progress = silent
) -> PicturePaths:
    """Give items whose picture is missing the path that it has in another folder.

    It is looked up there by the end of its path, the longest first. Codes stay as
    they are.
    """
    if not pictures.is_dir():
        raise MissingFile(f"there is no folder '{pictures}'; check --pictures.")
    require_folder(name)
    with Index.open(name, writable=True) as index:
        assert isinstance(index.store, CodeFolder)
        here = PictureFolders(index.store.path)
        there = PictureFolders(here.folder, pictures.absolute())
        found = missing = 0
        moved: list[str] = []  # ids alone: an index may be large
        for item in _with_pictures(index.store, progress):
            if _is_in_place(item, here):
                found += 1
            elif there.find(str(item.image))[1] is not None:
                moved.append(item.id)
            else:
                missing += 1
        for start in range(0, len(moved), ITEMS_AT_A_TIME):
            items = index.items(moved[start : start + ITEMS_AT_A_TIME])
            index.update(
                [
                    replace(item, image=str(there.find(str(item.image))[0]))
                    for item in items
                    if item is not None
                ]
            )
    return PicturePaths(found, len(moved), missing)


def _is_in_place(item: Item, here: PictureFolders) -> bool:
    is_uploaded = uploaded_picture(item, here.folder) is not None
    return is_uploaded or here.find(str(item.image))[1] is not None


def _with_pictures(store: CodeFolder, progress: Progress) -> Iterator[Item]:
    done = 0
    for batch in store.batches(ITEMS_AT_A_TIME):
        yield from (item for item in batch.items if item.image is not None)
        done += len(batch.items)
        progress(Update("pictures", done, len(store), "item"))
