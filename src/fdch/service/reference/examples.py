"""Examples in the OpenAPI document that work, since they use what the index holds.

Requests are also lines for a shell: SERVICE is the service's address, TOKEN a token,
and `picture.jpg` a picture that the line of an item's picture fetches.
"""

import copy
import json
import shlex
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from fdch.index.conditions import write_condition
from fdch.index.store import LABEL, Condition
from fdch.service.index.contents import Examples

NEW_ID = "an-example"
FILE = "picture.jpg"
_SEARCH = "/v1/search"
_ITEM = "/v1/items/{id}"
_FILES = {f"{_ITEM}/picture": FILE, f"{_ITEM}/thumbnail": "thumbnail.jpg"}


def add_examples(
    document: dict[str, Any], known: Examples, *, has_token: bool = False
) -> dict[str, Any]:
    """Put examples into a copy of a document: values, and whole requests by curl."""
    filled: dict[str, Any] = copy.deepcopy(document)
    for path, operations in filled["paths"].items():
        for method, operation in operations.items():
            name = NEW_ID if method in ("put", "delete") else known.id
            if "{id}" in path and name is None:
                continue
            if path in _FILES and not known.has_picture:
                continue
            text = " ".join(known.words)
            if (path, method) == (_SEARCH, "get") and not text:
                continue
            values = {"id": name, "q": text}
            for parameter in operation.get("parameters", ()):
                if parameter["name"] in values:
                    parameter["example"] = values[parameter["name"]]
            place = path.replace("{id}", quote(name or "", safe=""))
            if (path, method) == (_SEARCH, "get"):
                place += f"?q={quote(text)}"
            is_default = method == ("post" if "requestBody" in operation else "get")
            words = ["curl"] if is_default else ["curl -X", method.upper()]
            words.append(f'"$SERVICE{place}"')
            if has_token:
                words.append('-H "Authorization: Bearer $TOKEN"')
            operation["x-codeSamples"] = [
                {"lang": "Shell", "source": " ".join([*words, *sent])}
                for sent in _add_bodies(path, operation, known)
            ]
    return filled


def _add_bodies(
    path: str, operation: dict[str, Any], known: Examples
) -> Iterator[list[str]]:
    """Add bodies to one route; yield curl's arguments for each, or its output file."""
    content = operation.get("requestBody", {}).get("content", {})
    if not content:
        yield ["-o", _FILES[path]] if path in _FILES else []
    bodies = _bodies(known).get(path)
    if "application/json" in content and bodies:
        examples = {name: {"value": body} for name, body in bodies.items()}
        content["application/json"]["examples"] = examples
        for body in bodies.values():
            kind = "-H 'Content-Type: application/json'"
            yield [kind, "-d", shlex.quote(json.dumps(body))]
    if "multipart/form-data" in content:
        fields = _fields(known).get(path, ())
        texts = [f"--form-string {shlex.quote(field)}" for field in fields]
        yield ["-F", f"image=@{FILE}", *texts]


def _bodies(known: Examples) -> dict[str, dict[str, Any]]:
    """Return documents to send, by route."""
    words, searches = list(known.words), {}
    if known.id is not None:
        searches["more like this"] = {"id": known.id, "k": 5}
        searches["the second page"] = {"id": known.id, "k": 5, "offset": 5}
    if not words:
        return {_SEARCH: searches}
    text, word = " ".join(words), words[0]
    if known.label is not None:
        where = [_of_label(known.label)]
        searches["filtered"] = {"text": word, "where": where, "k": 3}
    if known.id is not None:
        refined = {"text": word, "like": [known.id], "avoid": words[1:], "group": 2}
        searches["refined"] = refined
    labels = [known.label or "a label"]
    return {
        _SEARCH: {
            "words": {"text": text, "k": 5},
            "near": {"text": word, "radius": 12, "k": 5, "rerank": True},
            "several": {"texts": words, "k": 2},
            **searches,
        },
        "/v1/encode": {"one": {"text": word}, "several": {"texts": words}},
        _ITEM: {
            "new": {"text": text, "labels": labels, "columns": {"price": 12.5}},
            "without labels": {"labels": []},
        },
    }


def _fields(known: Examples) -> dict[str, list[str]]:
    """Return the form fields beside a picture, by route."""
    where = [] if known.label is None else [f"where={_of_label(known.label)}"]
    item = json.dumps({"labels": [known.label or "a label"]})
    return {"/v1/search/image": ["k=5", *where], _ITEM: [f"item={item}"]}


def _of_label(label: str) -> str:
    return write_condition(Condition(LABEL, "=", (label,)))
