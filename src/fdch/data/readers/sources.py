"""From what a user names on a command line to a PairedSet."""

import importlib
import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from fdch.data.pairs import Broken, PairedSet, require_broken
from fdch.data.pictures.decoding import USUAL_LIMITS, PictureLimits
from fdch.data.readers import features, manifest
from fdch.data.readers.columns import AS_NAMED, Layout
from fdch.data.readers.tables.arrow import list_dataset_files
from fdch.errors import DataError, MissingFile, suggestion

# each module has read(argument, *, broken, limits) -> PairedSet
_NAMED = {
    "mirflickr25k": "fdch.data.readers.flickr25k",
    "nuswide": "fdch.data.readers.nuswide",
    "dcmh-mat": "fdch.data.readers.dcmh_mat",
    "scenes": "fdch.data.scenes.scene_pairs",
}
_WITHOUT_ARGUMENT = ("scenes",)
_NAMED_AS = (
    "Data is named as pairs.csv, pairs.xlsx, pairs.jsonl, pairs.parquet, "
    "shards-{000..099}.tar, a folder of pictures, features.npz, mirflickr25k:DIR, "
    "nuswide:DIR, dcmh-mat:FILE, scenes or scenes:N."
)
_RANGE = re.compile(r"\{(\d{1,9})\.\.(\d{1,9})\}")
_MAX_FILES = 100_000


def read(
    source: str | Path,
    *,
    broken: Broken,
    limits: PictureLimits = USUAL_LIMITS,
    layout: Layout = AS_NAMED,
) -> PairedSet:
    """Read a manifest, a feature file or a known data set, by its name."""
    require_broken(broken)
    if not isinstance(source, str | Path):
        raise DataError(
            f"give the name of data, such as 'pairs.csv'; got {type(source).__name__}. "
            "PairedSet.from_arrays takes lists, arrays and columns of a data frame."
        )
    pairs = _read_all(source, broken, limits, layout)
    return pairs if layout.limit is None else _draw(pairs, layout.limit)


def _draw(pairs: PairedSet, limit: int) -> PairedSet:
    """Keep a random sample of pairs, the same each time, in their order.

    A smaller limit keeps some of those that a larger one keeps.
    """
    if limit >= len(pairs):
        return pairs
    rows = np.sort(np.random.default_rng(0).permutation(len(pairs))[:limit])
    name = f"{pairs.name} ({limit:,} of {len(pairs):,} pairs)"
    return replace(pairs[rows], name=name)


def _read_all(
    source: str | Path, broken: Broken, limits: PictureLimits, layout: Layout
) -> PairedSet:
    if layout.pictures is not None and not layout.pictures.is_dir():
        raise MissingFile(
            f"there is no folder '{layout.pictures}' to look for pictures in; check "
            "--pictures."
        )
    if isinstance(source, str):
        prefix, _, argument = source.partition(":")
        if prefix in _NAMED and (argument or prefix in _WITHOUT_ARGUMENT):
            _refuse_layout(source, layout)
            reader = importlib.import_module(_NAMED[prefix])
            pairs: PairedSet = reader.read(argument, broken=broken, limits=limits)
            return pairs
    if not str(source).strip():
        raise MissingFile(f"the name of the data is empty. {_NAMED_AS}")
    paths = _expand(str(source))
    for path in paths:
        if not path.exists():
            raise _missing(str(path))
    if paths[0].is_dir():
        paths = list_dataset_files(paths[0]) or paths
    path, ending = paths[0], paths[0].suffix.lower()
    if ending == ".npz" and not path.is_dir():
        _refuse_layout(str(source), layout)
        return features.read(path)
    if path.is_dir() or ending in manifest.FORMATS:
        return manifest.read(*paths, broken=broken, limits=limits, layout=layout)
    raise _unknown_ending(path, ending)


def _refuse_layout(source: str, layout: Layout) -> None:
    if layout.columns or layout.pictures:
        raise DataError(
            f"'{source}' is not a manifest; --columns and --pictures do not apply. "
            "Leave them out."
        )


def _expand(source: str) -> list[Path]:
    """Return the files of a name with a range of numbers, else the one it names.

    >>> [path.name for path in _expand("shard-{08..10}.tar")]
    ['shard-08.tar', 'shard-09.tar', 'shard-10.tar']
    """
    found = _RANGE.search(source)
    if found is None or Path(source).exists():
        return [Path(source)]
    first, last = int(found[1]), int(found[2])
    if not first <= last < first + _MAX_FILES:
        raise DataError(
            f"'{source}' names no range of files: give the smaller number first, and "
            f"at most {_MAX_FILES:,} files."
        )
    numbers = (str(i).zfill(len(found[1])) for i in range(first, last + 1))
    return [Path(_RANGE.sub(number, source, count=1)) for number in numbers]


def locate(source: str) -> str:
    """Name data so that it is found from any folder.

    >>> locate("scenes:100")
    'scenes:100'
    >>> locate("nuswide:/data/nuswide")
    'nuswide:/data/nuswide'
    """
    prefix, colon, argument = source.partition(":")
    if prefix in _WITHOUT_ARGUMENT:
        return source
    if prefix in _NAMED and argument:
        return f"{prefix}{colon}{Path(argument).absolute()}"
    return str(Path(source).absolute())


def _unknown_ending(path: Path, ending: str) -> DataError:
    if ending == ".mat":
        return DataError(
            f"'{path}' is a MATLAB file; to read it as one of DCMH's, write "
            f"dcmh-mat:{path}."
        )
    if ending in (".xls", ".xlsm", ".xlsb", ".ods"):
        return DataError(f"'{path}': save this table as .xlsx, or as CSV in UTF-8.")
    has = (
        f"has the ending '{ending}', which is not known" if ending else "has no ending"
    )
    return DataError(f"'{path}' {has}. {_NAMED_AS}")


def _missing(source: str) -> MissingFile:
    prefix, colon, _ = source.partition(":")
    if prefix in _NAMED:
        return MissingFile(f"'{source}' lacks what to read: write {prefix}:PATH.")
    hint = suggestion(prefix, _NAMED) if colon or not Path(source).suffix else ""
    return MissingFile(
        f"there is no file '{source}'{hint or '; check the path.'} {_NAMED_AS}"
    )
