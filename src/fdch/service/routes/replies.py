"""Replies: what was found as JSON, pictures, files of the page."""

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import PurePath
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from fastapi import Request
from fastapi.responses import Response, StreamingResponse
from starlette.exceptions import HTTPException

from fdch.codes import Codes
from fdch.index.store import Item
from fdch.retrieval.results import Results
from fdch.service.http.limits import MAX_ID_CHARACTERS
from fdch.service.http.problems import Problem
from fdch.service.index.pictures import OpenPicture, ServedPicture, has_tag

_CODES = {400: "bad_request", 404: "not_found", 405: "wrong_method"}
_DOTS = (".", "..")
PAGE = "index.html"
_PAGE_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def ok(content: Mapping[str, Any], status: int = 200) -> Response:
    """Send a document."""
    headers = {"cache-control": "no-store"}
    return Response(_encode(content).encode(), status, headers, "application/json")


def results_json(results: Results, address: str) -> dict[str, Any]:
    """Shape the results of one query at the index of an address."""
    document = results.to_json()
    for shown, each in zip(document["results"], results, strict=True):
        shown |= item_json(each.item, address)
    return document


def item_json(known: Item, address: str) -> dict[str, Any]:
    """Shape an item record, with the address of its picture in place of the path."""
    has_address = known.image is not None and known.id not in _DOTS
    quoted = quote(known.id, safe="") if has_address else ""
    return {
        "id": known.id,
        "text": known.text,
        "image": f"{address}/items/{quoted}/picture" if has_address else None,
        "labels": list(known.labels),
        "columns": dict(known.columns),
        "kind": known.kind,
    }


def codes_json(codes: Codes, model: str) -> dict[str, Any]:
    """Shape codes."""
    listed = [row.tobytes().hex() for row in codes.packed]
    return {"bits": codes.bits, "model": model, "codes": listed}


def picture(served: ServedPicture) -> Response:
    """Send a picture, or say that the client has it."""
    headers = {
        "etag": served.etag,
        "cache-control": "private, no-cache",  # it may be replaced at any time
        "vary": "authorization",
    }
    if not served.media_type:
        return Response(status_code=304, headers=headers)
    headers["content-disposition"] = "inline"
    if isinstance(served.content, OpenPicture):
        headers["content-length"] = str(served.content.size)
        parts = served.content.parts()
        return StreamingResponse(parts, 200, headers, served.media_type)
    return Response(served.content, 200, headers, served.media_type)


def page(name: str, request: Request) -> Response:
    """Send a file of the page, by its name in a list: no path is opened."""
    if name not in page_files():
        raise HTTPException(404)
    content, etag = page_files()[name]
    headers = {"etag": etag, "cache-control": "no-cache"}
    if has_tag(request.headers.get("if-none-match"), etag):
        return Response(status_code=304, headers=headers)
    return Response(content, 200, headers, _PAGE_TYPES[PurePath(name).suffix])


@cache
def page_files() -> dict[str, tuple[bytes, str]]:
    """Read the files of the page: content and ETag by name."""
    folder = (files("fdch.service") / "page").iterdir()
    names = [file for file in folder if PurePath(file.name).suffix in _PAGE_TYPES]
    contents = {file.name: file.read_bytes() for file in names}
    return {
        name: (content, f'"{hashlib.sha256(content).hexdigest()[:32]}"')
        for name, content in contents.items()
    }


def read_id(quoted: str) -> str:
    """Decode an id from an address."""
    try:
        name = unquote_to_bytes(quoted).decode("utf-8")
    except (UnicodeDecodeError, UnicodeEncodeError):
        raise _bad_id("it is not UTF-8") from None
    if not 0 < len(name) <= MAX_ID_CHARACTERS:
        raise _bad_id(f"it has more than {MAX_ID_CHARACTERS} characters")
    return name


def read_new_id(quoted: str) -> str:
    """Decode an id under which something is to be written."""
    name = read_id(quoted)
    if name in _DOTS or not name.isprintable():
        raise _bad_id("it is '.', '..' or has characters that cannot be printed")
    return name


def adapt_error(error: HTTPException) -> Problem:
    """Return an error of the framework the shape of all errors."""
    code = _CODES.get(error.status_code, "refused")
    hint = "/docs lists what there is."
    if error.status_code == 404:
        return Problem(404, code, "there is nothing at this address.", hint)
    return Problem(error.status_code, code, f"{error.detail}.", hint, error.headers)


def _bad_id(what: str) -> Problem:
    hint = "Percent-encode the id as UTF-8, slashes too."
    return Problem(400, "bad_id", f"the id cannot be used: {what}.", hint)
