"""Examples in the OpenAPI document, made of what the index knows: so they work.

Requests are also lines for a shell: SERVICE is the service's address, TOKEN a token,
and `picture.jpg` a picture that the line of an item's picture fetches.
"""

import copy
import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import quote

from fdch.index.conditions import write_condition
from fdch.index.store import LABEL, Condition
from fdch.retrieval.searcher import Searcher
from fdch.service.about import About

NEW_ID = "an-example"
FILE = "picture.jpg"
_FILES = {
    "/v1/items/{id}/picture": FILE,
    "/v1/items/{id}/thumbnail": "thumbnail.jpg",
}
_WITHOUT_ADDRESS = (".", "..")
_LOOKED_AT = 50


@dataclass(frozen=True)
class Examples:
    """What examples are made of.

    Args:
        words: Two words that the model knows; none where it knows no words.
        label: A label that items have.
        id: Of an item, one with a picture where there is such.
        has_picture: Whether that item has one.
    """

    words: tuple[str, ...] = ()
    label: str | None = None
    id: str | None = None
    has_picture: bool = False


# for those who may not read: nothing of the index
GENERAL = Examples(("dog", "beach"), "dog", "4711", has_picture=True)


def find_examples(searcher: Searcher, about: About) -> Examples:
    """Look for words, a label and an id that an index knows."""
    vocabulary = searcher.encoder.inputs.vocabulary
    words = [] if vocabulary is None else vocabulary.examples()[:2]
    names = [each["name"] for each in about.index()["labels"] or ()]
    labels = [name for name in names if "\n" not in name]
    found = searcher.by_text(words[0], k=_LOOKED_AT) if words else ()
    items = [each for each in found if each.id not in _WITHOUT_ADDRESS]
    items.sort(key=lambda each: each.image is None)
    return Examples(
        tuple(words),
        labels[0] if labels else None,
        items[0].id if items else None,
        bool(items) and items[0].image is not None,
    )


def add_examples(
    document: dict[str, Any], known: Examples, *, has_token: bool = False
) -> dict[str, Any]:
    """Put examples into a document: values, and whole requests by curl.

    Args:
        document: By which programs know the API.
        known: What examples are made of.
        has_token: Whether requests need a token.
    """
    filled = copy.deepcopy(document)
    paths = filled["paths"]
    for place, method, values in (
        ("/v1/search", "post", _searches(known)),
        ("/v1/encode", "post", _codes(known)),
        ("/v1/items/{id}", "put", _items(known)),
    ):
        content = paths[place][method]["requestBody"]["content"]["application/json"]
        if values:
            content["examples"] = {key: {"value": each} for key, each in values.items()}
    for path, operations in paths.items():
        for method, operation in operations.items():
            name = NEW_ID if method in ("put", "delete") else known.id
            if "{id}" in path:
                if name is None or (path in _FILES and not known.has_picture):
                    continue
                for parameter in operation.get("parameters", ()):
                    if parameter["name"] == "id":
                        parameter["example"] = name
            place = path.replace("{id}", quote(name or "", safe=""))
            write = partial(_write_curl, method.upper(), place, has_token=has_token)
            operation["x-codeSamples"] = [
                {"lang": "Shell", "source": line}
                for line in _lines(write, path, operation, known)
            ]
    return filled


def _lines(
    write: Callable[..., str], path: str, operation: dict[str, Any], known: Examples
) -> list[str]:
    """Give requests to one route, each with one of its examples."""
    content = operation.get("requestBody", {}).get("content", {})
    if not content:
        return [write(output=_FILES.get(path))]
    examples = content.get("application/json", {}).get("examples", {})
    lines = [write(body=each["value"]) for each in examples.values()]
    if "multipart/form-data" in content:
        lines.append(write(fields=_fields(path, known)))
    return lines


def _fields(path: str, known: Examples) -> dict[str, str]:
    """Give what is sent beside a picture."""
    if path == "/v1/search/image":
        where = {} if known.label is None else {"where": _of_label(known.label)}
        return {"k": "5", **where}
    if path == "/v1/items/{id}":
        return {"item": json.dumps({"labels": [known.label or "a label"]})}
    return {}


def _of_label(label: str) -> str:
    return write_condition(Condition(LABEL, "=", (label,)))


def _items(known: Examples) -> dict[str, Any]:
    if not known.words:
        return {}
    labels = [known.label or "a label"]
    words = " ".join(known.words)
    return {
        "new": {"text": words, "labels": labels, "columns": {"price": 12.5}},
        "without labels": {"labels": []},
    }


def _searches(known: Examples) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if known.words:
        word = known.words[0]
        found["words"] = {"text": " ".join(known.words), "k": 5}
        found["near"] = {"text": word, "radius": 12, "rerank": True}
        found["several"] = {"texts": list(known.words), "k": 2}
        if known.label is not None:
            where = [_of_label(known.label)]
            found["filtered"] = {"text": word, "where": where, "k": 3}
    if known.id is not None:
        found["more like this"] = {"id": known.id, "k": 5}
    return found


def _codes(known: Examples) -> dict[str, Any]:
    if not known.words:
        return {}
    return {"one": {"text": known.words[0]}, "several": {"texts": list(known.words)}}


def _write_curl(
    method: str,
    path: str,
    *,
    has_token: bool,
    body: Any = None,
    fields: Mapping[str, str] | None = None,
    output: str | None = None,
) -> str:
    """Write a request.

    Args:
        method: GET, POST with something to send, PUT or DELETE.
        path: With ids percent-encoded.
        has_token: Whether the service needs a token.
        body: Sent as JSON.
        fields: Sent as a form, beside a picture.
        output: The file for the reply.
    """
    words = ["curl"] if method in ("GET", "POST") else ["curl", "-X", method]
    words.append(f'"$SERVICE{path}"')
    if has_token:
        words.append('-H "Authorization: Bearer $TOKEN"')
    if body is not None:
        words += [
            "-H 'Content-Type: application/json'",
            "-d",
            shlex.quote(json.dumps(body)),
        ]
    if fields is not None:
        words += ["-F", f"image=@{FILE}"]
        for name, value in fields.items():
            words += ["--form-string", shlex.quote(f"{name}={value}")]
    if output is not None:
        words += ["-o", output]
    return " ".join(words)
