"""Replies of a service, checked before they are returned."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from fdch.client import content
from fdch.codes import Codes
from fdch.errors import DataError, ServiceError, SettingError
from fdch.index.store import Facets, Item
from fdch.retrieval.params import SearchParams
from fdch.retrieval.results import Match, Result, Results

MAX_MESSAGE = 2000
_SHOWN = 80
_NEEDED: Any = object()
_OPEN_TEXT = (str, type(None))
_NUMBER = (int, float)
_CELL = (str, int, float, bool, type(None))


def document(body: bytes) -> dict[str, Any] | None:
    """Read a JSON object; None for anything else."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def failure(status: int, body: bytes) -> ServiceError:
    """Read why a request was refused."""
    try:
        error = get(document(body), "error", dict)
        said = [get(error, name, str) for name in ("message", "hint")]
        message = " ".join(filter(None, said))[:MAX_MESSAGE]
        return ServiceError(message, status, get(error, "code", str)[:MAX_MESSAGE])
    except ServiceError:
        return ServiceError(f"the service answered with status {status}.", status)


def get(reply: object, name: str, *kinds: type, other: Any = _NEEDED) -> Any:
    """Return a field of an answer, of one of these kinds; without it `other`."""
    found = reply.get(name, other) if isinstance(reply, dict) else _NEEDED
    if found is _NEEDED or (found is not other and type(found) not in kinds):
        raise ServiceError(
            f"the answer has no '{name[:_SHOWN]}' that can be used. Is it from a "
            "service of fdch, of the same version as this client?"
        )
    return found


def item(reply: object) -> Item:
    """Read an item record."""
    columns = get(reply, "columns", dict)
    for name in columns:
        get(columns, name, *_CELL)
    return Item(
        get(reply, "id", str),
        get(reply, "text", *_OPEN_TEXT),
        get(reply, "image", *_OPEN_TEXT),
        _texts(reply, "labels"),
        columns,
        get(reply, "kind", str),
    )


def results(reply: object, params: SearchParams) -> Results:
    """Read what was found for one query."""
    found = get(reply, "results", list)
    if params.k is None and len(found) >= content.MAX_RESULTS:
        raise SettingError(  # it may have been cut
            f"there are {content.MAX_RESULTS:,} results or more within the radius, and "
            "a service gives no more. Say how many are wanted with k, or give a "
            "smaller radius."
        )
    return Results(
        {**get(reply, "query", dict), "k": params.k},
        tuple(map(_result, found)),
        get(reply, "scanned", int),
        get(reply, "milliseconds", *_NUMBER),
        _texts(reply, "notes", other=()),
        _facets(get(reply, "facets", dict, other=None)),
    )


def codes(reply: object) -> Codes:
    """Read codes."""
    listed, bits = _texts(reply, "codes"), get(reply, "bits", int)
    try:
        packed = np.frombuffer(bytes.fromhex("".join(listed)), np.uint8)
        return Codes(packed.reshape(len(listed), -1).copy(), bits)
    except (DataError, ValueError) as problem:
        raise ServiceError(f"the answer's codes cannot be used: {problem}") from problem


def _result(reply: object) -> Result:
    is_grouped = isinstance(reply, dict) and "similar" in reply
    return Result(
        item(reply),
        get(reply, "distance", int, type(None)),
        get(reply, "probability", *_NUMBER, type(None)),
        _texts(reply, "similar") if is_grouped else None,
        tuple(map(_match, get(reply, "matched", list, other=()))),
    )


def _match(reply: object) -> Match:
    start, end = (get(reply, name, int) for name in ("start", "end"))
    return Match(get(reply, "word", str), start, end)


def _facets(reply: Mapping[str, Any] | None) -> Facets | None:
    if reply is None:
        return None
    columns = get(reply, "columns", dict)
    counts = {
        name: [
            (get(each, "value", *_CELL), get(each, "count", int))
            for each in get(columns, name, list)
        ]
        for name in columns
    }
    return Facets(get(reply, "items", int), counts, get(reply, "uncounted", dict))


def _texts(reply: object, name: str, other: Any = _NEEDED) -> tuple[str, ...]:
    found = get(reply, name, list, other=other)
    return tuple(get({name: each}, name, str) for each in found)
