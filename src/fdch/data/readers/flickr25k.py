"""MIRFLICKR-25K: photos from Flickr with their tags and 24 labels.

Huiskes and Lew, The MIR Flickr retrieval evaluation, 2008. As in the cross-modal
hashing literature, tags count only if they are among the 1,386 common ones, and
a pair is kept if it has such a tag and a label: 20,015 of the 25,000. The labels
are the annotations without their stricter `_r1` variants.
"""

import os
import re
from pathlib import Path

import numpy as np

from fdch.data.pairs import Broken, PairedSet, Skipped
from fdch.data.pictures.decoding import USUAL_LIMITS, PictureLimits
from fdch.data.pictures.images import PictureFiles
from fdch.data.readers.downloads import (
    choose_sizes,
    compare_counts,
    read_lines,
    refuse_or_skip,
)
from fdch.data.rows import objects, reading
from fdch.data.texts import Sentences, Vocabulary
from fdch.errors import DataError, MissingFile

PAIRS, LABELS, WORDS = 20_015, 24, 1_386

_ANNOTATIONS = "mirflickr25k_annotations_v080"
# annotations may be mixed with other text files
_KNOWN_LABELS = re.compile(
    "animals|baby|bird|car|clouds|dog|female|flower|food|indoor|lake|male|night|"
    "people|plant_life|portrait|river|sea|sky|structures|sunset|transport|tree|water"
)
_PHOTO = re.compile(r"im([1-9][0-9]{0,6})\.jpe?g", re.IGNORECASE)


def read(
    argument: str, *, broken: Broken = "refuse", limits: PictureLimits = USUAL_LIMITS
) -> PairedSet:
    """Read the unpacked official download.

    That is the folder with `mirflickr` and the annotations in it, or `mirflickr`
    itself with the annotations in or beside it. A pair without its photo or its tag
    file is refused, or skipped and listed.
    """
    photos, annotations = _folders(Path(argument))
    words = _common_tags(photos / "doc" / "common_tags.txt")
    labelled = {path.stem: _numbers(path) for path in _annotation_files(annotations)}
    paths = _photo_paths(photos)
    numbered = sorted(frozenset().union(*labelled.values()))
    found, unusable = _find_tags(numbered, paths, photos / "meta/tags", set(words))
    skipped = refuse_or_skip(unusable, broken, "unpack the download again")
    if not found:
        raise DataError(
            f"no picture in '{photos}' has a label and one of the common tags; "
            "check that the download is unpacked whole."
        )
    numbers = np.array(list(found))
    columns = [np.isin(numbers, list(members)) for members in labelled.values()]
    sizes, note = choose_sizes(len(numbers), "pairs")
    return PairedSet(
        ids=objects([f"im{number}" for number in found]),
        images=PictureFiles([paths[number] for number in found], limits),
        texts=Sentences(list(found.values()), Vocabulary(words)),
        labels=np.stack(columns, axis=1).astype(np.uint8),
        label_names=tuple(labelled),
        name="mirflickr25k",
        benchmark=sizes,
        skipped=skipped,
        notes=(
            *compare_counts("pairs kept", len(numbers), PAIRS),
            *compare_counts("labels", len(labelled), LABELS),
            *compare_counts("words", len(words), WORDS),
            *note,
        ),
    )


def _folders(folder: Path) -> tuple[Path, Path]:
    """Find the folder of photos and that of annotations."""
    if not folder.is_dir():
        raise MissingFile(f"there is no folder '{folder}'; check the path.")
    places = [folder, folder / "mirflickr"]
    fits = [each for each in places if (each / "doc" / "common_tags.txt").is_file()]
    if not fits:
        raise MissingFile(
            f"neither '{folder}' nor its folder 'mirflickr' has 'doc/common_tags.txt'; "
            "give the folder where mirflickr25k.zip was unpacked."
        )
    photos = fits[0]
    bases = [folder, photos, photos.resolve().parent]
    places = [place for base in bases for place in (base / _ANNOTATIONS, base)]
    annotations = next(filter(_annotation_files, places), None)
    if annotations is None:
        raise MissingFile(
            f"'{folder}' has no annotations; unpack {_ANNOTATIONS}.zip into "
            f"'{folder / _ANNOTATIONS}'."
        )
    return photos, annotations


def _annotation_files(folder: Path) -> list[Path]:
    files = sorted(folder.glob("*.txt"))
    return [path for path in files if _KNOWN_LABELS.fullmatch(path.stem)]


def _numbers(path: Path) -> frozenset[int]:
    lines = read_lines(path)
    with reading(path, "list of picture numbers", "Unpack the download again."):
        return frozenset(np.array(lines, dtype=np.int32).tolist())


def _common_tags(path: Path) -> tuple[str, ...]:
    """Read the words, without the counts that follow them."""
    words = dict.fromkeys(line.split()[0] for line in read_lines(path))
    if not words:
        raise DataError(f"'{path}' has no tags; expected {WORDS:,} of them.")
    return tuple(words)


def _photo_paths(folder: Path) -> dict[int, Path]:
    """Find the photos by their numbers."""
    with os.scandir(folder) as entries:
        matches = [_PHOTO.fullmatch(entry.name) for entry in entries]
    return {int(match[1]): folder / match[0] for match in matches if match}


def _find_tags(
    numbers: list[int], paths: dict[int, Path], folder: Path, common: set[str]
) -> tuple[dict[int, str], list[Skipped]]:
    """Join the common tags of pictures, each once, in their file's order.

    Returns tags by number, of pictures with any; and pictures that cannot be used.
    """
    found: dict[int, str] = {}
    broken: list[Skipped] = []
    for number in numbers:
        reason = ""
        try:
            tags = dict.fromkeys(read_lines(folder / f"tags{number}.txt"))
            text = " ".join(tag for tag in tags if tag in common)
            if text and number in paths:
                found[number] = text
            elif text:
                reason = f"no photo 'im{number}.jpg'"
        except MissingFile:
            # neither photo nor tags: annotated, but not in this copy at all
            if number in paths:
                reason = f"no file 'tags{number}.txt'"
        except DataError as error:
            reason = str(error)
        if reason:
            broken.append(Skipped(f"im{number}", reason))
    return found, broken
