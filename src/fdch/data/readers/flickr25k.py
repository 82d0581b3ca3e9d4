"""MIRFLICKR-25K: photos from Flickr with their tags and 24 labels.

Huiskes and Lew, The MIR Flickr retrieval evaluation, 2008. As in the cross-modal
hashing literature, tags count only if they are among the 1,386 common ones, and
a pair is kept if it has such a tag and a label: 20,015 of the 25,000. The labels
are the annotations without their stricter `_r1` variants.
"""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fdch.data.pairs import Broken, PairedSet, Skipped
from fdch.data.pictures.images import PictureFiles, PictureLimits
from fdch.data.readers.text_files import read_lines, refuse_or_skip
from fdch.data.splits import SplitSizes
from fdch.data.texts import Sentences, Vocabulary
from fdch.errors import DataError, MissingFile

PAIRS, LABELS, WORDS = 20_015, 24, 1_386
SIZES = SplitSizes(query=2_000, train=5_000, validation=500)
MIN_FOR_SIZES = 10_000

_ANNOTATIONS = "mirflickr25k_annotations_v080"
# how annotations are recognised where they lie among other text files
_KNOWN_LABELS = re.compile(
    "animals|baby|bird|car|clouds|dog|female|flower|food|indoor|lake|male|night|"
    "people|plant_life|portrait|river|sea|sky|structures|sunset|transport|tree|water"
)
_PHOTO = re.compile(r"im([1-9][0-9]{0,6})\.jpe?g", re.IGNORECASE)
_NUMBER = re.compile(r"[1-9][0-9]{0,6}")


@dataclass(frozen=True)
class _Found:
    """Pairs with a label and a common tag, and rows that cannot be read."""

    numbers: list[int]
    tags: list[str]
    broken: list[Skipped]


def read(
    argument: str,
    *,
    broken: Broken = "refuse",
    limits: PictureLimits | None = None,
) -> PairedSet:
    """Read the unpacked official download.

    Args:
        argument: The folder with `mirflickr` and the annotations in it, or
            `mirflickr` itself with the annotations in or beside it.
        broken: Whether a pair without its photo or its tag file is refused,
            or skipped and listed in `skipped`.
        limits: The largest pictures to accept.
    """
    photos, annotations = _folders(Path(argument))
    words = _common_tags(photos / "doc" / "common_tags.txt")
    labelled = _read_labels(annotations)
    paths = _photo_paths(photos)
    found = _find_pairs(labelled, paths, photos / "meta" / "tags", frozenset(words))
    skipped = refuse_or_skip(found.broken, broken, "unpack the download again")
    if not found.numbers:
        raise DataError(
            f"no picture in '{photos}' has a label and one of the common tags; "
            "check that the download is unpacked whole."
        )
    numbers = np.array(found.numbers)
    columns = [np.isin(numbers, list(members)) for members in labelled.values()]
    return PairedSet(
        ids=np.array([f"im{number}" for number in found.numbers], dtype=object),
        images=PictureFiles([paths[number] for number in found.numbers], limits),
        texts=Sentences(found.tags, Vocabulary(words)),
        labels=np.stack(columns, axis=1).astype(np.uint8),
        label_names=tuple(labelled),
        name="mirflickr25k",
        benchmark=SIZES if len(numbers) >= MIN_FOR_SIZES else None,
        skipped=skipped,
        notes=_notes(numbers, len(labelled), len(words)),
    )


def _folders(folder: Path) -> tuple[Path, Path]:
    """Find the folder of photos and that of annotations."""
    if not folder.is_dir():
        raise MissingFile(f"there is no folder '{folder}'; check the path.")
    photos = _first(
        [folder, folder / "mirflickr"],
        lambda place: (place / "doc" / "common_tags.txt").is_file(),
    )
    if photos is None:
        raise MissingFile(
            f"neither '{folder}' nor its folder 'mirflickr' has 'doc/common_tags.txt'; "
            "give the folder where mirflickr25k.zip was unpacked."
        )
    bases = [folder, photos, photos.resolve().parent]
    annotations = _first(
        [place for base in bases for place in (base / _ANNOTATIONS, base)],
        lambda place: bool(_annotation_files(place)),
    )
    if annotations is None:
        raise MissingFile(
            f"'{folder}' has no annotations; unpack {_ANNOTATIONS}.zip into "
            f"'{folder / _ANNOTATIONS}'."
        )
    return photos, annotations


def _first(places: list[Path], fits: Callable[[Path], bool]) -> Path | None:
    return next((place for place in places if fits(place)), None)


def _annotation_files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    files = [
        path
        for path in sorted(folder.glob("*.txt"))
        if not path.stem.endswith("_r1") and path.stem.lower() != "readme"
    ]
    if folder.name == _ANNOTATIONS:
        return files
    return [path for path in files if _KNOWN_LABELS.fullmatch(path.stem)]


def _read_labels(folder: Path) -> dict[str, frozenset[int]]:
    """Read which pictures have each label."""
    return {path.stem: _numbers(path) for path in _annotation_files(folder)}


def _numbers(path: Path) -> frozenset[int]:
    lines = read_lines(path)
    for line in lines:
        if not _NUMBER.fullmatch(line):
            raise DataError(
                f"'{path}' has the line '{line[:40]}'; annotations hold one picture "
                "number a line."
            )
    return frozenset(map(int, lines))


def _common_tags(path: Path) -> tuple[str, ...]:
    """Read the words, without the counts that follow them."""
    words: dict[str, None] = {}
    for line in read_lines(path):
        parts = line.split()
        if len(parts) > 2 or (len(parts) == 2 and not parts[1].isdigit()):
            raise DataError(
                f"'{path}' has the line '{line[:40]}'; a line there is a tag and how "
                "often it occurs."
            )
        words[parts[0]] = None
    if not words:
        raise DataError(f"'{path}' has no tags; expected {WORDS:,} of them.")
    return tuple(words)


def _photo_paths(folder: Path) -> dict[int, Path]:
    """Find the photos by their numbers."""
    with os.scandir(folder) as entries:
        matches = [_PHOTO.fullmatch(entry.name) for entry in entries]
    return {int(match[1]): folder / match[0] for match in matches if match}


def _find_pairs(
    labelled: dict[str, frozenset[int]],
    paths: dict[int, Path],
    tags_folder: Path,
    common: frozenset[str],
) -> _Found:
    """Read the tags of all labelled pictures, ascending by number."""
    found = _Found([], [], [])
    for number in sorted(frozenset().union(*labelled.values())):
        try:
            text = _text(tags_folder / f"tags{number}.txt", common)
        except MissingFile:
            # neither photo nor tags: annotated, but not in this copy at all
            if number in paths:
                found.broken.append(_skip(number, f"no file 'tags{number}.txt'"))
            continue
        except DataError as error:
            found.broken.append(_skip(number, str(error)))
            continue
        if text and number not in paths:
            found.broken.append(_skip(number, f"no photo 'im{number}.jpg'"))
        elif text:
            found.numbers.append(number)
            found.tags.append(text)
    return found


def _text(path: Path, common: frozenset[str]) -> str:
    """Join the common tags of one picture, each once, in the file's order."""
    tags = dict.fromkeys(read_lines(path))
    return " ".join(tag for tag in tags if tag in common)


def _skip(number: int, reason: str) -> Skipped:
    return Skipped(f"im{number}", reason)


def _notes(numbers: NDArray[np.int_], labels: int, words: int) -> tuple[str, ...]:
    notes = [
        f"{what} {count:,}; the literature has {expected:,}."
        for what, count, expected in (
            ("pairs kept:", len(numbers), PAIRS),
            ("labels:", labels, LABELS),
            ("words:", words, WORDS),
        )
        if count != expected
    ]
    if len(numbers) < MIN_FOR_SIZES:
        notes.append(
            f"fewer than {MIN_FOR_SIZES:,} pairs: splits are drawn by shares, not "
            f"with the benchmark's {SIZES.query:,} queries and {SIZES.train:,} "
            "training pairs."
        )
    return tuple(notes)
