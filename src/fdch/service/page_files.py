"""The page's files, by a list of known names: no path from a request is opened."""

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

INDEX = "index.html"
_SCRIPT = "text/javascript; charset=utf-8"
MEDIA_TYPES = {
    INDEX: "text/html; charset=utf-8",
    "page.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
    "theme.js": _SCRIPT,
    "main.js": _SCRIPT,
    "address.js": _SCRIPT,
    "answers.js": _SCRIPT,
    "asking.js": _SCRIPT,
    "build.js": _SCRIPT,
    "charts.js": _SCRIPT,
    "colours.js": _SCRIPT,
    "conditions.js": _SCRIPT,
    "details.js": _SCRIPT,
    "field.js": _SCRIPT,
    "filters.js": _SCRIPT,
    "folding.js": _SCRIPT,
    "item.js": _SCRIPT,
    "keys.js": _SCRIPT,
    "known.js": _SCRIPT,
    "mistakes.js": _SCRIPT,
    "overview.js": _SCRIPT,
    "picture.js": _SCRIPT,
    "place.js": _SCRIPT,
    "results.js": _SCRIPT,
    "searching.js": _SCRIPT,
    "service.js": _SCRIPT,
    "side.js": _SCRIPT,
    "states.js": _SCRIPT,
    "thumbnails.js": _SCRIPT,
    "trouble.js": _SCRIPT,
    "views.js": _SCRIPT,
    "words.js": _SCRIPT,
}


@dataclass(frozen=True)
class PageFile:
    """A file as it is sent."""

    content: bytes
    media_type: str
    etag: str


@cache
def page_file(name: str) -> PageFile | None:
    """Give one of the page's files, None for any other name.

    >>> page_file("../overview.py") is None
    True
    """
    if name not in MEDIA_TYPES:
        return None
    content = (files("fdch.service") / "page" / name).read_bytes()
    etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    return PageFile(content, MEDIA_TYPES[name], etag)
