"""Bodies with several parts: one picture, and fields of known names."""

import asyncio
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, TypeVar, get_origin

from fastapi import Request
from pydantic import BaseModel, ValidationError

from fdch.service.http.multipart import Part, read_parts
from fdch.service.http.problems import Problem

PICTURE = "image"
JSON = "application/json"
_SMALL = 2**18
# all that is listed in the longest request that is allowed is far less
_MAX_LISTED = 5000
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_Shape = TypeVar("_Shape", bound=BaseModel)


@dataclass(frozen=True)
class Form:
    """A picture, and the fields beside it."""

    picture: bytes
    fields: dict[str, list[str]]


async def read_form(request: Request, names: Collection[str]) -> Form:
    """Read a multipart body, which must hold a picture.

    Args:
        request: Whose body has arrived and is within the limits.
        names: Fields that may come besides the picture.
    """
    kind = request.headers.get("content-type", "")
    if kind.partition(";")[0].strip().lower() != "multipart/form-data":
        raise Problem(
            415,
            "wrong_type",
            "the body must be multipart/form-data.",
            f"Send the picture as the part '{PICTURE}' of a form.",
        )
    body = await request.body()
    try:
        if len(body) > _SMALL:
            parts = await asyncio.to_thread(read_parts, body, kind)
        else:
            parts = read_parts(body, kind)
    except ValueError as problem:
        raise Problem(
            400,
            "bad_form",
            f"the form is malformed: {problem}.",
            f"Send one file '{PICTURE}' and the fields that /docs lists.",
        ) from None
    return _sort_parts(parts, names)


def _sort_parts(parts: list[Part], names: Collection[str]) -> Form:
    picture: bytes | None = None
    fields: dict[str, list[str]] = {}
    for part in parts:
        shown = part.name[:40]
        if part.is_file != (part.name == PICTURE):
            raise _wrong(f"'{shown}' is not what is expected under that name")
        if part.is_file:
            if picture is not None:
                raise _wrong("there is more than one picture")
            picture = part.content
        elif part.name not in names:
            raise _wrong(f"there is no field '{shown}'")
        else:
            fields.setdefault(part.name, []).append(_text(part))
    if picture is None:
        raise _wrong(f"{PICTURE}: the picture is missing")
    return Form(picture, fields)


def _text(part: Part) -> str:
    try:
        return part.content.decode("utf-8")
    except UnicodeDecodeError:
        raise _wrong(f"the field '{part.name}' is not UTF-8") from None


def parse_fields(shape: type[_Shape], fields: dict[str, list[str]]) -> _Shape:
    """Read fields that came as texts; only lists may come several times."""
    values: dict[str, Any] = {}
    for name, given in fields.items():
        is_list = get_origin(shape.model_fields[name].annotation) is list
        if not is_list and len(given) > 1:
            raise _wrong(f"the field '{name}' came {len(given)} times")
        values[name] = given if is_list else given[0]
    try:
        return shape.model_validate(values, strict=False)
    except ValidationError as problem:
        raise _to_problem(problem) from None


def parse_json(shape: type[_Shape], text: str | bytes) -> _Shape:
    """Read a JSON document."""
    if _lists_much(text.encode() if isinstance(text, str) else text):
        raise _wrong(f"it lists more than {_MAX_LISTED:,} things")
    try:
        return shape.model_validate_json(text)
    except ValidationError as problem:
        raise _to_problem(problem) from None


def _lists_much(text: bytes) -> bool:
    """Say whether a document would take long to read and to refuse."""
    if len(text) < 4 * _MAX_LISTED:
        return False
    if text.count(b'"') - text.count(b'\\"') > 4 * _MAX_LISTED:
        return True
    bare = _STRING.sub(b"", text)
    return sum(map(bare.count, (b",", b"[", b"{"))) > _MAX_LISTED


async def json_body(shape: type[_Shape], request: Request) -> _Shape:
    """Read the body of a request, which has arrived and is within the limits."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON:
        raise Problem(
            415,
            "wrong_type",
            f"the body must be {JSON}.",
            f"Send it with 'Content-Type: {JSON}'.",
        )
    body = await request.body()
    if len(body) > _SMALL:
        return await asyncio.to_thread(parse_json, shape, body)
    return parse_json(shape, body)


def _to_problem(problem: ValidationError) -> Problem:
    return invalid(problem.errors(include_input=False, include_url=False))


def invalid(errors: Any) -> Problem:
    """Say what is wrong with the first few values, without repeating them."""
    messages = []
    for error in list(errors)[:5]:
        place = ".".join(str(part) for part in error["loc"] if part != "body")
        messages.append(f"{place[:80]}: {error['msg']}" if place else str(error["msg"]))
    return Problem(
        422,
        "invalid",
        "; ".join(messages) or "the request is not as expected",
        "Change the request; /docs shows what it may hold.",
    )


def _wrong(what: str) -> Problem:
    return Problem(
        422, "invalid", f"{what}.", "Change the request; /docs shows what it may hold."
    )
