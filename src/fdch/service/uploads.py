"""Bodies with several parts: one picture, and fields of known names."""

import json
from collections.abc import AsyncGenerator, Collection
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartParser

from fdch.service.limits import MOST_CONDITIONS
from fdch.service.problems import Problem

PICTURE = "image"
_MOST_FIELDS = MOST_CONDITIONS + 16
_MOST_FIELD_BYTES = 2**20
_Shape = TypeVar("_Shape", bound=BaseModel)


class _InMemory(MultiPartParser):
    """Keeps files in memory: bodies are small, and nothing is to touch the disk."""

    spool_max_size = 2**40


@dataclass(frozen=True)
class Form:
    """A picture, where one was sent, and the fields beside it."""

    picture: bytes | None
    fields: dict[str, list[str]]


async def read_form(request: Request, names: Collection[str]) -> Form:
    """Read a multipart body.

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
    parser = _InMemory(
        request.headers,
        _once(await request.body()),
        max_files=1,
        max_fields=_MOST_FIELDS,
        max_part_size=_MOST_FIELD_BYTES,
    )
    try:
        form = await parser.parse()
    except Exception as problem:  # the body alone decides whether it can be parsed
        told = getattr(problem, "message", None) or "it cannot be parsed"
        raise Problem(
            400,
            "bad_form",
            f"the form is malformed: {told}.",
            f"Send one file '{PICTURE}' and the fields that /docs lists.",
        ) from None
    try:
        return await _sorted(form.multi_items(), names)
    finally:
        await form.close()


async def _sorted(
    parts: list[tuple[str, UploadFile | str]], names: Collection[str]
) -> Form:
    picture: bytes | None = None
    fields: dict[str, list[str]] = {}
    for name, value in parts:
        if isinstance(value, UploadFile) != (name == PICTURE):
            raise _wrong(f"'{name[:40]}' is not what is expected under that name")
        if isinstance(value, UploadFile):
            picture = await value.read()
        elif name not in names:
            raise _wrong(f"there is no field '{name[:40]}'")
        else:
            fields.setdefault(name, []).append(value)
    return Form(picture, fields)


def parsed(shape: type[_Shape], fields: dict[str, list[str]]) -> _Shape:
    """Read fields that came as texts; only lists may come several times."""
    values: dict[str, Any] = {}
    for name, given in fields.items():
        is_list = shape.model_fields[name].annotation not in (int, bool) and str(
            shape.model_fields[name].annotation
        ).startswith("list")
        if not is_list and len(given) > 1:
            raise _wrong(f"the field '{name}' came {len(given)} times")
        values[name] = given if is_list else given[0]
    return checked(shape, values, strict=False)


def parsed_json(shape: type[_Shape], text: str | bytes) -> _Shape:
    """Read a JSON document."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise _wrong("it is no JSON document") from None
    return checked(shape, document, strict=True)


def checked(shape: type[_Shape], values: object, strict: bool) -> _Shape:
    """Check values against a shape."""
    try:
        return shape.model_validate(values, strict=strict)
    except ValidationError as problem:
        raise invalid(problem.errors(include_input=False, include_url=False)) from None


def invalid(errors: Any) -> Problem:
    """Say what is wrong with the first few values, without repeating them."""
    told = []
    for error in list(errors)[:5]:
        place = ".".join(str(part) for part in error["loc"] if part != "body")
        told.append(f"{place[:80]}: {error['msg']}" if place else str(error["msg"]))
    return Problem(
        422,
        "invalid",
        "; ".join(told) or "the request is not as expected",
        "Change the request; /docs shows what it may hold.",
    )


def _wrong(what: str) -> Problem:
    return Problem(
        422, "invalid", f"{what}.", "Change the request; /docs shows what it may hold."
    )


async def _once(body: bytes) -> AsyncGenerator[bytes, None]:
    yield body
