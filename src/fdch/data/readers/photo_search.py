"""Finding the photos of a collection by the names in its list.

Copies of a collection keep photos in folders of various names, by class or all
in one, under the full name or the photo's number alone. Names are looked up in
what the folder holds, never opened as paths, so a list cannot lead outside it.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from fdch.data.pictures.decoding import ENDINGS

_PREFERRED = ("flickr", "images", "image", "photos")
_DEEPEST = 3


class PhotoSearch:
    """The photos in a folder and up to three levels of folders in it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._by_class: dict[str, str] = {}
        self._by_name: dict[str, str | None] = {}
        for path in _photos(folder, "", _DEEPEST):
            stem = os.path.splitext(path)[0].lower()
            self._by_class.setdefault("/".join(stem.split("/")[-2:]), path)
            name = stem.rpartition("/")[2]
            # a name in several folders tells nothing without its folder
            self._by_name[name] = None if name in self._by_name else path

    def find(self, listed: str) -> Path | None:
        """Find a photo by its listed name, such as `actor/0001_2124494179`."""
        folder, _, name = listed.lower().rpartition("/")
        number = photo_number(name)
        for key in (f"{folder}/{name}", f"{folder}/{number}"):
            if key in self._by_class:
                return self._folder / self._by_class[key]
        for key in (name, number):
            path = self._by_name.get(key)
            if path is not None:
                return self._folder / path
        return None


def photo_number(name: str) -> str:
    """Give the number that Flickr knows a photo by.

    >>> photo_number("actor/0001_2124494179")
    '2124494179'
    """
    return name.rpartition("/")[2].rpartition("_")[2]


def _photos(folder: Path, inside: str, levels: int) -> Iterator[str]:
    """List photos by paths relative to the folder, files before folders."""
    try:
        with os.scandir(folder / inside) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return
    folders = []
    for entry in listed:
        if entry.name.lower().endswith(ENDINGS):
            yield f"{inside}{entry.name}"
        elif levels and entry.is_dir():
            folders.append(entry.name)
    for name in _preferred_first(folders):
        yield from _photos(folder, f"{inside}{name}/", levels - 1)


def _preferred_first(names: Iterable[str]) -> list[str]:
    return sorted(names, key=lambda name: (name.lower() not in _PREFERRED, name))
