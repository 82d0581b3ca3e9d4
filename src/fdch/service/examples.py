"""Examples in the OpenAPI document, made of what the index knows: so they work."""

import copy
from dataclasses import dataclass
from typing import Any

from fdch.search import Searcher
from fdch.service.about import About

NEW_ID = "an-example"


@dataclass(frozen=True)
class Examples:
    """What examples are made of.

    Args:
        words: Two words that the model knows; none where it knows no words.
        label: A label that items have.
        id: Of an item.
    """

    words: tuple[str, ...] = ()
    label: str | None = None
    id: str | None = None


# for those who may not read: nothing of the index
GENERAL = Examples(("dog", "beach"), "dog", "4711")


def find_examples(searcher: Searcher, about: About) -> Examples:
    """Look for words, a label and an id that an index knows."""
    vocabulary = searcher.encoder.inputs.vocabulary
    words = [] if vocabulary is None else vocabulary.examples()[:2]
    told = about.index()
    labels = [each["name"] for each in told["labels"] or () if "\n" not in each["name"]]
    found = searcher.by_text(words[0], k=1) if words else ()
    return Examples(
        tuple(words), labels[0] if labels else None, found[0].id if found else None
    )


def with_examples(document: dict[str, Any], known: Examples) -> dict[str, Any]:
    """Put examples into a document."""
    filled = copy.deepcopy(document)
    paths = filled["paths"]
    for name, values in (
        ("/v1/search", _searches(known)),
        ("/v1/encode", _codes(known)),
    ):
        content = paths[name]["post"]["requestBody"]["content"]["application/json"]
        if values:
            content["examples"] = {key: {"value": each} for key, each in values.items()}
    form = paths["/v1/search/image"]["post"]["requestBody"]["content"]
    form["multipart/form-data"]["example"] = {"k": 5}
    body = paths["/v1/items/{id}"]["put"]["requestBody"]["content"]
    body["application/json"]["example"] = {
        "text": " ".join(known.words),
        "labels": [known.label or "a label"],
        "columns": {"price": 12.5},
    }
    for path, operations in paths.items():
        for method, operation in operations.items():
            for parameter in operation.get("parameters", ()):
                if parameter["name"] == "id" and path.startswith("/v1/items/"):
                    is_new = method in ("put", "delete")
                    parameter["example"] = NEW_ID if is_new else known.id or NEW_ID
    return filled


def _searches(known: Examples) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if known.words:
        word = known.words[0]
        found["words"] = {"text": " ".join(known.words), "k": 5}
        found["near"] = {"text": word, "radius": 12, "rerank": True}
        found["several"] = {"texts": list(known.words), "k": 2}
        if known.label is not None:
            where = [f"label={known.label}"]
            found["filtered"] = {"text": word, "where": where, "k": 3}
    if known.id is not None:
        found["more like this"] = {"id": known.id, "k": 5}
    return found


def _codes(known: Examples) -> dict[str, Any]:
    if not known.words:
        return {}
    return {"one": {"text": known.words[0]}, "several": {"texts": list(known.words)}}
