"""The OpenAPI document's further parts."""

from typing import Any

from pydantic import BaseModel

from fdch.service.http.messages import (
    EncodeRequest,
    ErrorReply,
    ImageSearch,
    ItemRequest,
    SearchQuery,
    SearchRequest,
)
from fdch.service.http.uploads import FORM, JSON, PICTURE

DESCRIPTION = (
    "Finds pictures with words and words with pictures, through learned codes. "
    "Where the service has tokens, send `Authorization: Bearer TOKEN`. All errors "
    "have one shape: a code for programs, a message, and a hint what to do. "
    "Where the service has several indexes, `/v1/indexes` lists them, and each route "
    "below `/v1` is also below `/v1/indexes/NAME`."
)
_STATUSES = {
    400: "The request cannot be read.",
    401: "The token is missing or unknown.",
    403: "The token does not allow this.",
    404: "It does not exist.",
    408: "The body came too slowly.",
    409: "It does not fit what the index has.",
    413: "The body is too large.",
    415: "The type of the body is not supported.",
    421: "The host name is unknown.",
    422: "A value is invalid.",
    429: "Too many requests; see Retry-After.",
    431: "The address and the headers are too long.",
    503: "Too busy, or not ready; see Retry-After.",
    507: "The disk is full.",
}
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorReply, "description": text}
    for status, text in _STATUSES.items()
}


def add_shapes(document: dict[str, Any]) -> dict[str, Any]:
    """Add the shapes of the bodies that the routes read themselves."""
    schemas = document["components"]["schemas"]
    for shape in (SearchRequest, EncodeRequest, ItemRequest):
        place = "#/components/schemas/{model}"
        schemas[shape.__name__] = shape.model_json_schema(ref_template=place)
    return document


def _json(shape: type[BaseModel]) -> dict[str, Any]:
    return {JSON: {"schema": {"$ref": f"#/components/schemas/{shape.__name__}"}}}


def _form(**fields: Any) -> dict[str, Any]:
    picture = {"type": "string", "format": "binary", "description": "The picture."}
    schema = {
        "type": "object",
        "properties": {PICTURE: picture, **fields},
        "required": [PICTURE],
        "additionalProperties": False,
    }
    return {FORM: {"schema": schema}}


def _body(content: dict[str, Any]) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": content}}


def _parameters(shape: type[BaseModel]) -> dict[str, Any]:
    known = shape.model_json_schema()
    listed = [
        {
            "name": name,
            "in": "query",
            "required": name in known.get("required", ()),
            "description": schema.pop("description", ""),
            "schema": schema,
        }
        for name, schema in known["properties"].items()
    ]
    # what must be given comes first
    return {"parameters": sorted(listed, key=lambda each: not each["required"])}


def _reply(kind: str, description: str, **form: str) -> dict[str, Any]:
    schema = {"type": "string", **form}
    return {"description": description, "content": {kind: {"schema": schema}}}


_ITEM = _json(ItemRequest)
SEARCH = _body(_json(SearchRequest))
SEARCH_QUERY = _parameters(SearchQuery)
ENCODE = _body(_json(EncodeRequest))
SEARCH_IMAGE = _body(_form(**ImageSearch.model_json_schema()["properties"]))
ENCODE_IMAGE = _body(_form())
PUT = _body({**_ITEM, **_form(item=_ITEM[JSON]["schema"])})
PICTURE_REPLIES = {
    "responses": {
        "200": _reply("image/*", "The picture.", format="binary"),
        "304": {"description": "The client has it, as If-None-Match says."},
    }
}
METRICS = {"responses": {"200": _reply("text/plain", "Counters.")}}
