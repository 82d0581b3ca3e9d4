"""NUS-WIDE: photos from Flickr with 1,000 tags and the ten commonest concepts.

Chua et al., NUS-WIDE: a real-world web image database, 2009. A pair is kept if it
has one of the ten concepts that most of the 269,648 pictures have.

Assumption: a pair need not have a tag. Of the pictures with one of the ten
concepts 186,577 remain, the literature's count; those with a tag besides are
181,365. A pair without a tag has no text, so it serves in the database only.
"""

import os
import re
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fdch.data.pairs import Broken, PairedSet, Skipped
from fdch.data.pictures.decoding import ENDINGS, USUAL_LIMITS, PictureLimits
from fdch.data.pictures.images import PictureFiles
from fdch.data.readers.downloads import (
    choose_sizes,
    compare_counts,
    read_lines,
    refuse_or_skip,
)
from fdch.data.rows import objects, unreadable
from fdch.data.texts import Sentences, Vocabulary
from fdch.errors import DataError, MissingFile

PAIRS, CONCEPTS = 186_577, 10
PICTURES = "ImageList/Imagelist.txt"
TAGS, WORDS = "NUS_WID_Tags/AllTags1k.txt", "NUS_WID_Tags/TagList1k.txt"

_MAX_LIST_BYTES = 64 * 2**20
_LABEL_FILE = re.compile(r"alllabels/labels_(.+)\.txt", re.IGNORECASE)
_PREFERRED = ("flickr", "images", "image", "photos")
_DEEPEST = 3  # levels of folders
_LINES_AT_A_TIME = 4096


def read(
    argument: str, *, broken: Broken = "refuse", limits: PictureLimits = USUAL_LIMITS
) -> PairedSet:
    """Read the unpacked official download.

    That is the folder with `ImageList`, `Groundtruth`, `NUS_WID_Tags` and the photos
    in it. A pair without its photo is refused, or skipped and listed.
    """
    folder = Path(argument)
    files = _list_files(folder)
    pictures = _find(folder, files, PICTURES)
    lines = read_lines(pictures, _MAX_LIST_BYTES)
    if not lines:
        raise DataError(f"'{pictures}' lists no pictures.")
    listed = [os.path.splitext(line.replace("\\", "/").strip("/"))[0] for line in lines]
    names, labels = _read_commonest(folder, files, len(listed))
    kept = np.flatnonzero(labels.any(axis=1))
    photos = index_photos(files)
    paths = {row: find_photo(photos, listed[row]) for row in kept}
    missing = [row for row, path in paths.items() if path is None]
    lacking = [Skipped(listed[row], "no such photo in the folder") for row in missing]
    remedy = f"put the photos under '{folder / 'Flickr'}'"
    skipped = refuse_or_skip(lacking, broken, remedy)
    kept = np.setdiff1d(kept, missing)
    if not len(kept):
        raise DataError(f"no photo of '{pictures}' was found in '{folder}'; {remedy}.")
    texts = _read_texts(folder, files, listed, kept)
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
        images=PictureFiles([folder / str(paths[row]) for row in kept], limits),
        texts=texts,
        labels=labels[kept],
        label_names=names,
        name="nuswide",
        benchmark=sizes,
        skipped=skipped,
        notes=(*notes, *note),
    )


def _list_files(folder: Path) -> list[str]:
    """List files by paths from the folder, those of a folder before its folders'."""
    if not folder.is_dir():
        raise MissingFile(f"there is no folder '{folder}'; check the path.")
    found: list[str] = []
    for place, folders, names in os.walk(folder, followlinks=True):
        inside = Path(place).relative_to(folder)
        if len(inside.parts) == _DEEPEST:
            folders.clear()
        folders.sort(key=lambda name: (name.lower() not in _PREFERRED, name))
        found += [(inside / name).as_posix() for name in sorted(names)]
    return found


def _find(folder: Path, files: list[str], usual: str) -> Path:
    """Find a file by its name in any folder."""
    name = os.path.basename(usual).lower()
    for path in files:
        if os.path.basename(path).lower() == name:
            return folder / path
    raise MissingFile(
        f"'{folder}' has no '{usual}'; give the folder where ImageList, "
        "Groundtruth and NUS_WID_Tags of NUS-WIDE were unpacked."
    )


def _read_commonest(
    folder: Path, files: list[str], rows: int
) -> tuple[tuple[str, ...], NDArray[np.uint8]]:
    """Read the concepts most pictures have, ties by name: names and 0/1 rows."""
    matches = ((_LABEL_FILE.search(path), path) for path in files)
    named = sorted((match[1], path) for match, path in matches if match)
    if not named:
        raise MissingFile(
            f"'{folder}' has no files 'Groundtruth/AllLabels/Labels_<concept>.txt'."
        )
    columns = [read_bits(folder / path, 1, rows)[0] for _, path in named]
    table = sparse.hstack(columns, format="csc")
    # stable: of equal counts the first by name
    commonest = np.argsort(-np.diff(table.indptr), kind="stable")[:CONCEPTS]
    chosen = np.sort(commonest)
    return tuple(named[column][0] for column in chosen), table[:, chosen].toarray()


def _read_texts(
    folder: Path, files: list[str], listed: list[str], kept: NDArray[np.intp]
) -> Sentences:
    """Join each kept picture's tags; none at all is a missing text."""
    path, tags = _find(folder, files, WORDS), _find(folder, files, TAGS)
    words = read_lines(path)
    for word in words:
        if len(word.split()) != 1:
            raise DataError(f"'{path}' has '{word[:40]}'; expected one word.")
    table, names = read_bits(tags, len(words), len(listed))
    for row, (name, picture) in enumerate(zip(names, listed, strict=False), start=1):
        if name != _photo_number(picture):
            raise DataError(
                f"row {row} of '{tags}' is of photo {name}, but row {row} of the list "
                f"of pictures is '{picture}'; the two must be of one release."
            )
    table = table[kept]
    texts = [
        " ".join(words[column] for column in table.indices[start:end]) or None
        for start, end in zip(table.indptr[:-1], table.indptr[1:], strict=True)
    ]
    return Sentences(texts, Vocabulary(tuple(words)))


def read_bits(
    path: Path, columns: int, rows: int
) -> tuple[sparse.csr_array, list[str]]:
    """Read a table of 0 and 1 with this many columns and rows.

    Returns the bits as uint8, and the names of the rows, if they stand in a further
    column in front.
    """
    parts: list[sparse.csr_array] = []
    names: list[str] = []
    done = 0
    row: list[tuple[Any, ...]] = [("bits", "S2", (columns,))]
    try:
        with open(path, encoding="latin-1") as file:
            while lines := list(islice(file, _LINES_AT_A_TIME)):
                lines = [line for line in lines if line.strip()]
                if not lines:
                    continue
                if not done and len(lines[0].split()) == columns + 1:
                    row.insert(0, ("name", "U20"))
                table = np.loadtxt(lines, np.dtype(row), comments=None, ndmin=1)
                ones = table["bits"] == b"1"
                if not (ones | (table["bits"] == b"0")).all():
                    raise ValueError("a value is neither 0 nor 1")
                parts.append(sparse.csr_array(ones.astype(np.uint8)))
                names += table["name"].tolist() if len(row) == 2 else []
                done += len(table)
    except OSError as error:
        raise unreadable(path, error) from error
    except ValueError as error:
        raise DataError(
            f"'{path}', after row {done:,}: {str(error).partition(';')[0]}. Expected "
            f"{columns:,} values, each 0 or 1, perhaps with a name in front."
        ) from None
    if done != rows:
        raise DataError(
            f"'{path}' has {done:,} rows; expected {rows:,}, one per picture."
        )
    return sparse.vstack(parts, format="csr"), names


def index_photos(files: list[str]) -> dict[str, str | None]:
    """Return photos by their folder and name, and by their name where it is unique."""
    found: dict[str, str | None] = {}
    for path in files:
        stem, ending = os.path.splitext(path.lower())
        if ending in ENDINGS:
            *_, folder, name = ("", *stem.split("/"))
            found.setdefault(f"{folder}/{name}", path)
            found[name] = None if name in found else path
    return found


def find_photo(photos: dict[str, str | None], listed: str) -> str | None:
    """Find a photo by the name in the list, such as `actor/0001_2124494179`."""
    folder, _, name = listed.lower().rpartition("/")
    number = _photo_number(name)
    keys = (f"{folder}/{name}", f"{folder}/{number}", name, number)
    return next((photos[key] for key in keys if photos.get(key)), None)


def _photo_number(name: str) -> str:
    """Return the number that Flickr knows a photo by.

    >>> _photo_number("actor/0001_2124494179")
    '2124494179'
    """
    return name.rpartition("/")[2].rpartition("_")[2]
