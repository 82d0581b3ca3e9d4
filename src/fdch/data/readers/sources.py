"""From what a user names on a command line to a PairedSet."""

import importlib
from pathlib import Path

from fdch.data.pairs import Broken, PairedSet, require_broken
from fdch.data.pictures.decoding import ENDINGS, PictureLimits
from fdch.data.readers import features, manifest
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
    "Data is named as pairs.csv, pairs.jsonl, pairs.parquet, features.npz, "
    "mirflickr25k:DIR, nuswide:DIR, dcmh-mat:FILE, scenes or scenes:N."
)
_LOOKED_AT = 10_000


def read(source: str | Path, *, broken: Broken, limits: PictureLimits) -> PairedSet:
    """Read a manifest, a feature file or a known data set, by its name."""
    require_broken(broken)
    if isinstance(source, str):
        prefix, _, argument = source.partition(":")
        if prefix in _NAMED and (argument or prefix in _WITHOUT_ARGUMENT):
            reader = importlib.import_module(_NAMED[prefix])
            pairs: PairedSet = reader.read(argument, broken=broken, limits=limits)
            return pairs
    if not str(source).strip():
        raise MissingFile(f"the name of the data is empty. {_NAMED_AS}")
    path = Path(source)
    if path.is_dir():
        raise _folder_instead(path)
    if not path.exists():
        raise _missing(str(source))
    ending = path.suffix.lower()
    if ending == ".npz":
        return features.read(path)
    if ending in manifest.ENDINGS:
        return manifest.read(path, broken=broken, limits=limits)
    raise _unknown_ending(path, ending)


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


def _folder_instead(folder: Path) -> DataError:
    for _, path in zip(range(_LOOKED_AT), folder.rglob("*"), strict=False):
        if path.suffix.lower() in ENDINGS:
            inside = path.relative_to(folder).as_posix()
            return DataError(
                f"'{folder}' is a folder of pictures; their texts and labels are "
                f"needed too. Write a manifest such as '{folder / 'pairs.csv'}' with "
                f'the lines\nid,image,text,labels\n1,{inside},"a dog on the beach",'
                "dog;beach"
            )
    return DataError(f"'{folder}' is a folder without pictures. {_NAMED_AS}")
