"""Bodies taken apart: JSON documents, and forms of one picture and known fields."""

import asyncio
import logging
import math
import re
from collections.abc import Collection
from typing import Any, NamedTuple, TypeVar, get_origin

from fastapi import Request
from pydantic import BaseModel, ValidationError
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import FormParser, parse_options_header

from fdch.service.http.problems import Problem

PICTURE = "image"
JSON = "application/json"
FORM = "multipart/form-data"
MAX_PARTS = 64
MAX_FIELD_BYTES = 2**20
# bodies up to this many bytes are read at once, longer ones in a thread
_SMALL = 2**18
# all that is listed in the longest request that is allowed is far less
_MAX_LISTED = 5000
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_HINT = "Change the request; /docs lists what each request accepts."
_Shape = TypeVar("_Shape", bound=BaseModel)
# it quotes what clients send
logging.getLogger("python_multipart").setLevel(logging.CRITICAL)


class Part(NamedTuple):
    """One part of a form; a file's name is not looked at."""

    name: str
    content: bytes
    is_file: bool


class Form(NamedTuple):
    """A picture, and the fields beside it."""

    picture: bytes
    fields: dict[str, list[str]]


def content_type(request: Request) -> str:
    """Return the media type of a body, without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def read_form(request: Request, names: Collection[str]) -> Form:
    """Read a form, which must hold a picture and may hold fields of these names."""
    if content_type(request) != FORM:
        hint = f"Send the picture as the part '{PICTURE}' of a form."
        raise Problem(415, "wrong_type", f"the body must be {FORM}.", hint)
    body, kind = await request.body(), request.headers["content-type"]
    try:
        if len(body) > _SMALL:
            parts = await asyncio.to_thread(read_parts, body, kind)
        else:
            parts = read_parts(body, kind)
    except ValueError as problem:
        hint = f"Send one file '{PICTURE}' and the fields that /docs lists."
        raise Problem(
            400, "bad_form", f"the form is malformed: {problem}.", hint
        ) from None
    return _sort_parts(parts, names)


def read_parts(body: bytes, kind: str) -> list[Part]:
    """Take a form apart, in memory: nothing is to touch the disk.

    Raises:
        ValueError: Saying what is wrong with it.
    """
    boundary = parse_options_header(kind)[1].get(b"boundary", b"")
    if not 0 < len(boundary) <= 200:
        raise ValueError("its Content-Type names no boundary")
    if body.count(b"--" + boundary) > MAX_PARTS + 1:  # the parser would take seconds
        raise ValueError(f"it has more than {MAX_PARTS} parts")
    parts: list[Part] = []
    ends: list[bool] = []

    def add(name: bytes | None, content: bytes, is_file: bool) -> None:
        if len(parts) == MAX_PARTS:
            raise ValueError(f"it has more than {MAX_PARTS} parts")
        if not name:
            raise ValueError("a part has no name")
        if not is_file and len(content) > MAX_FIELD_BYTES:
            raise ValueError("a field is too long")
        parts.append(Part(name.decode("utf-8"), content, is_file))

    def add_file(file: Any) -> None:
        file.file_object.seek(0)
        add(file.field_name, file.file_object.read(), True)

    parser = FormParser(
        FORM,
        lambda field: add(field.field_name, field.value or b"", False),
        add_file,
        lambda: ends.append(True),
        boundary,
        config={"MAX_MEMORY_FILE_SIZE": math.inf},
    )
    try:
        parser.write(body)
    except FormParserError:
        raise ValueError("a part has no name, or no end") from None
    except UnicodeDecodeError:
        raise ValueError("the name of a part is not UTF-8") from None
    if not ends:
        raise ValueError("it ends too early")
    return parts


def _sort_parts(parts: list[Part], names: Collection[str]) -> Form:
    pictures: list[bytes] = []
    fields: dict[str, list[str]] = {}
    for part in parts:
        shown = part.name[:40]
        if part.is_file != (part.name == PICTURE):
            raise _wrong(f"'{shown}' has the wrong kind of content")
        if part.is_file:
            pictures.append(part.content)
        elif part.name not in names:
            raise _wrong(f"there is no field '{shown}'")
        else:
            fields.setdefault(part.name, []).append(_decode(part))
    if len(pictures) != 1:
        raise _wrong(f"{PICTURE}: one picture is expected; got {len(pictures)}")
    return Form(pictures[0], fields)


def _decode(part: Part) -> str:
    try:
        return part.content.decode("utf-8")
    except UnicodeDecodeError:
        raise _wrong(f"the field '{part.name}' is not UTF-8") from None


def parse_fields(shape: type[_Shape], fields: dict[str, list[str]]) -> _Shape:
    """Read fields that came as texts; only lists may come several times."""
    values: dict[str, Any] = {}
    for name, given in fields.items():
        if name not in shape.model_fields:
            raise _wrong(f"there is no field '{name[:40]}'")
        is_list = get_origin(shape.model_fields[name].annotation) is list
        if not is_list and len(given) > 1:
            raise _wrong(f"the field '{name}' came {len(given)} times")
        values[name] = given if is_list else given[0]
    try:
        return shape.model_validate(values, strict=False)
    except ValidationError as problem:
        raise invalid(problem.errors(include_input=False)) from None


def parse_json(shape: type[_Shape], text: str | bytes) -> _Shape:
    """Read a JSON document."""
    if _lists_much(text.encode() if isinstance(text, str) else text):
        raise _wrong(f"it lists more than {_MAX_LISTED:,} things")
    try:
        return shape.model_validate_json(text)
    except ValidationError as problem:
        raise invalid(problem.errors(include_input=False)) from None


def _lists_much(text: bytes) -> bool:
    """Return whether a document would take long to read and to refuse."""
    if len(text) < 4 * _MAX_LISTED:
        return False
    if text.count(b'"') - text.count(b'\\"') > 4 * _MAX_LISTED:
        return True
    bare = _STRING.sub(b"", text)
    return sum(map(bare.count, (b",", b"[", b"{"))) > _MAX_LISTED


async def json_body(shape: type[_Shape], request: Request) -> _Shape:
    """Read the body of a request, which has arrived and is within the limits."""
    if content_type(request) != JSON:
        hint = f"Send it with 'Content-Type: {JSON}'."
        raise Problem(415, "wrong_type", f"the body must be {JSON}.", hint)
    body = await request.body()
    if len(body) > _SMALL:
        return await asyncio.to_thread(parse_json, shape, body)
    return parse_json(shape, body)


def invalid(errors: Any) -> Problem:
    """Describe the first few invalid values, without repeating them."""
    messages = []
    for error in list(errors)[:5]:
        place = ".".join(str(part) for part in error["loc"] if part != "body")
        messages.append(f"{place[:80]}: {error['msg']}" if place else str(error["msg"]))
    message = "; ".join(messages) or "the request is invalid"
    return Problem(422, "invalid", message, _HINT)


def _wrong(what: str) -> Problem:
    return Problem(422, "invalid", f"{what}.", _HINT)
