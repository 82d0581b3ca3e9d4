"""NUS-WIDE: photos from Flickr with 1,000 tags and the ten commonest concepts.

Chua et al., NUS-WIDE: a real-world web image database, 2009. A pair is kept if it
has one of the ten concepts that most of the 269,648 pictures have.

Assumption: a pair need not have a tag. Of the pictures with one of the ten
concepts 186,577 remain, the literature's count; those with a tag besides are
181,365. A pair without a tag has no text, so it serves in the database only.
"""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from posixpath import splitext
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fdch.data.pairs import Broken, PairedSet, Skipped
from fdch.data.pictures.decoding import ENDINGS, USUAL_LIMITS, PictureLimits
from fdch.data.pictures.images import PictureFiles
from fdch.data.readers.bit_tables import read_bits
from fdch.data.readers.downloads import (
    choose_sizes,
    compare_counts,
    read_lines,
    refuse_or_skip,
)
from fdch.data.rows import objects
from fdch.data.texts import Sentences, Vocabulary
from fdch.errors import DataError, MissingFile

PAIRS, CONCEPTS = 186_577, 10

_MAX_LIST_BYTES = 64 * 2**20
_LABEL_FILE = re.compile(r"labels_(.+)\.txt", re.IGNORECASE)


class _Files(NamedTuple):
    pictures: Path
    labels: tuple[Path, ...]
    tags: Path
    words: Path


def read(
    argument: str, *, broken: Broken = "refuse", limits: PictureLimits = USUAL_LIMITS
) -> PairedSet:
    """Read the unpacked official download.

    That is the folder with `ImageList`, `Groundtruth`, `NUS_WID_Tags` and the photos
    in it. A pair without its photo is refused, or skipped and listed.
    """
    folder = Path(argument)
    files = _find_files(folder)
    listed = _listed_pictures(files.pictures)
    names, labels = _commonest(files, len(listed))
    kept = np.flatnonzero(labels.any(axis=1))
    search = PhotoSearch(folder)
    paths = {row: search.find(listed[row]) for row in kept}
    missing = [row for row, path in paths.items() if path is None]
    lacking = [Skipped(listed[row], "no such photo in the folder") for row in missing]
    remedy = f"put the photos under '{folder / 'Flickr'}'"
    skipped = refuse_or_skip(lacking, broken, remedy)
    kept = np.setdiff1d(kept, missing)
    if not len(kept):
        raise DataError(
            f"no photo of '{files.pictures}' was found in '{folder}'; {remedy}."
        )
    texts = _texts(files, listed, kept)
    tagged = int(texts.present.sum())
    notes = compare_counts("pairs kept", len(kept), PAIRS)
    if tagged < len(kept):
        notes.append(
            f"pairs without a tag: {len(kept) - tagged:,}; they serve in the database "
            "only, neither as queries nor for training."
        )
    sizes, note = choose_sizes(tagged, "pairs with tags")
    return PairedSet(
        ids=objects([listed[row] for row in kept]),
        images=PictureFiles([paths[row] for row in kept], limits),
        texts=texts,
        labels=labels[kept],
        label_names=names,
        name="nuswide",
        benchmark=sizes,
        skipped=skipped,
        notes=(*notes, *note),
    )


def _find_files(folder: Path) -> _Files:
    if not folder.is_dir():
        raise MissingFile(f"there is no folder '{folder}'; check the path.")
    labels_folder = _find(folder, ("Groundtruth/AllLabels", "AllLabels"))
    labels = [
        path
        for path in sorted(labels_folder.iterdir(), key=_concept)
        if _LABEL_FILE.fullmatch(path.name)
    ]
    if not labels:
        raise MissingFile(f"'{labels_folder}' has no files 'Labels_<concept>.txt'.")
    tag_folders = ("NUS_WID_Tags/", "Tags/", "ConceptsList/", "")
    return _Files(
        pictures=_find(folder, ("ImageList/Imagelist.txt", "Imagelist.txt")),
        labels=tuple(labels),
        tags=_find(folder, [f"{place}AllTags1k.txt" for place in tag_folders]),
        words=_find(folder, [f"{place}TagList1k.txt" for place in tag_folders]),
    )


def _find(folder: Path, places: Iterable[str]) -> Path:
    """Find a file or folder at one of some places, in capitals or not."""
    tried = list(places)
    for place in tried:
        found = [folder]
        for part in place.lower().split("/"):
            inner = (path for each in found if each.is_dir() for path in each.iterdir())
            found = sorted(path for path in inner if path.name.lower() == part)
        if found:
            return found[0]
    raise MissingFile(
        f"'{folder}' has no '{tried[0]}'; give the folder where ImageList, "
        "Groundtruth and NUS_WID_Tags of NUS-WIDE were unpacked."
    )


def _concept(path: Path) -> str:
    match = _LABEL_FILE.fullmatch(path.name)
    return match[1] if match else ""


def _listed_pictures(path: Path) -> list[str]:
    """Read the names of all pictures, without their ending."""
    lines = read_lines(path, _MAX_LIST_BYTES)
    if not lines:
        raise DataError(f"'{path}' lists no pictures.")
    return [splitext(line.replace("\\", "/").strip("/"))[0] for line in lines]


def _commonest(files: _Files, rows: int) -> tuple[tuple[str, ...], NDArray[np.uint8]]:
    """Read the concepts most pictures have, ties by name: names and 0/1 rows."""
    columns = [read_bits(path, 1, rows)[0] for path in files.labels]
    table = sparse.hstack(columns, format="csc")
    counts = np.diff(table.indptr)
    # stable: of equal counts the first by name
    chosen = np.sort(np.argsort(-counts, kind="stable")[:CONCEPTS])
    names = tuple(_concept(files.labels[column]) for column in chosen)
    return names, table[:, chosen].toarray()


def _texts(files: _Files, listed: list[str], kept: NDArray[np.intp]) -> Sentences:
    """Join each kept picture's tags; none at all is a missing text."""
    words = read_lines(files.words)
    for word in words:
        if len(word.split()) != 1:
            raise DataError(f"'{files.words}' has '{word[:40]}'; expected one word.")
    table, names = read_bits(files.tags, len(words), len(listed))
    _require_order(files, names or [], listed)
    table = table[kept]
    texts = [
        " ".join(words[column] for column in table.indices[start:end]) or None
        for start, end in zip(table.indptr[:-1], table.indptr[1:], strict=True)
    ]
    return Sentences(texts, Vocabulary(tuple(words)))


def _require_order(files: _Files, names: list[str], listed: list[str]) -> None:
    """Refuse tags whose named rows are not those of the list of pictures."""
    for row, (name, picture) in enumerate(zip(names, listed, strict=False), start=1):
        if name != photo_number(picture):
            raise DataError(
                f"row {row} of '{files.tags}' is of photo {name}, but row {row} of "
                f"'{files.pictures}' is '{picture}'; the two must be of one release."
            )


_PREFERRED = ("flickr", "images", "image", "photos")
_DEEPEST = 3


class PhotoSearch:
    """The photos in a folder and up to three levels of folders in it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._by_class: dict[str, str] = {}
        self._by_name: dict[str, str | None] = {}
        for path in _list_photos(folder):
            stem = os.path.splitext(path)[0].lower()
            self._by_class.setdefault("/".join(stem.split("/")[-2:]), path)
            name = stem.rpartition("/")[2]
            # a name in several folders is ambiguous without its folder
            self._by_name[name] = None if name in self._by_name else path

    def find(self, listed: str) -> Path | None:
        """Find a photo by its listed name, such as `actor/0001_2124494179`."""
        folder, _, name = listed.lower().rpartition("/")
        number = photo_number(name)
        places = [self._by_class.get(f"{folder}/{key}") for key in (name, number)]
        places += [self._by_name.get(key) for key in (name, number)]
        return next((self._folder / path for path in places if path), None)


def photo_number(name: str) -> str:
    """Return the number that Flickr knows a photo by.

    >>> photo_number("actor/0001_2124494179")
    '2124494179'
    """
    return name.rpartition("/")[2].rpartition("_")[2]


def _list_photos(folder: Path) -> Iterator[str]:
    """List photos by paths relative to the folder, files before folders."""
    for place, folders, files in os.walk(folder, followlinks=True):
        inside = Path(place).relative_to(folder)
        if len(inside.parts) == _DEEPEST:
            folders.clear()
        folders.sort(key=lambda name: (name.lower() not in _PREFERRED, name))
        for name in sorted(files):
            if name.lower().endswith(ENDINGS):
                yield (inside / name).as_posix()
