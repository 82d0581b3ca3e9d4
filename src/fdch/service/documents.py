"""The OpenAPI document's further parts, and a page that shows the document.

The page is plain HTML made here: those that come with the framework load scripts
from elsewhere, which this service never does.
"""

import json
import re
from html import escape
from typing import Any

from pydantic import BaseModel

from fdch.service.http.uploads import FORM, JSON, PICTURE
from fdch.service.messages import (
    EncodeRequest,
    ErrorReply,
    ItemRequest,
    SearchOptions,
    SearchQuery,
    SearchRequest,
)

DESCRIPTION = (
    "Finds pictures with words and words with pictures, through learned codes. "
    "Where the service has tokens, send `Authorization: Bearer TOKEN`. All errors "
    "have one shape: a code for programs, a message, and a hint what to do."
)
_STATUSES = {
    400: "The request cannot be read.",
    401: "The token is missing or unknown.",
    403: "The token does not allow this.",
    404: "There is no such thing.",
    408: "The body came too slowly.",
    409: "It does not fit what the index has.",
    413: "The body is too large.",
    415: "The body is of a type that is not taken.",
    421: "The service is not called by that name.",
    422: "A value is not as expected.",
    429: "Too many requests; see Retry-After.",
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
SEARCH_IMAGE = _body(_form(**SearchOptions.model_json_schema()["properties"]))
ENCODE_IMAGE = _body(_form())
PUT = _body({**_ITEM, **_form(item=_ITEM[JSON]["schema"])})
PICTURE_REPLIES = {
    "responses": {
        "200": _reply("image/*", "The picture.", format="binary"),
        "304": {"description": "The client has it, as If-None-Match says."},
    }
}
METRICS = {"responses": {"200": _reply("text/plain", "Counters.")}}

STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto;
  padding: 0 1rem; }
h2 code { font-size: 1.1rem; }
section { border-top: 1px solid #8888; padding-top: .5rem; }
pre { overflow-x: auto; padding: .75rem; background: #8882; border-radius: .4rem; }
table { border-collapse: collapse; } td, th { text-align: left; padding: .2rem .8rem; }
"""


def page(document: dict[str, Any]) -> str:
    """Show an OpenAPI document as one page."""
    parts = [
        "<!doctype html><html lang=en><head><meta charset=utf-8>",
        "<meta name=viewport content='width=device-width'>",
        "<title>fdch: the API</title><link rel=stylesheet href=/docs.css></head>",
        f"<body><main><h1>{escape(document['info']['title'])} "
        f"{escape(document['info']['version'])}: the API</h1>",
        f"<p>{_text(document['info']['description'])}</p>",
        "<p>The same for programs: <a href=/openapi.json>openapi.json</a>.</p>",
        "<p>In the lines for a shell, <code>SERVICE</code> is this service's address, "
        "such as <code>http://127.0.0.1:8000</code>, <code>TOKEN</code> a token, and "
        "<code>picture.jpg</code> any picture: the line of <code>GET "
        "/v1/items/{id}/picture</code> fetches one.</p>",
    ]
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            parts.append(_operation(method.upper(), path, operation))
    parts.append("<section><h2>Shapes</h2>")
    for name, schema in document["components"]["schemas"].items():
        parts.append(f"<h3>{escape(name)}</h3>{_show(schema)}")
    return "".join([*parts, "</section></main></body></html>"])


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    parts = [
        f"<section><h2><code>{method} {escape(path)}</code></h2>",
        f"<p>{_text(operation.get('summary', ''))}</p>",
    ]
    for parameter in operation.get("parameters", ()):
        parts.append(
            f"<p><code>{escape(parameter['name'])}</code> ({parameter['in']}) "
            f"{_text(parameter.get('description', ''))}</p>"
        )
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        shape = content["schema"].get("$ref", "").rpartition("/")[2]
        fields = shape or ", ".join(content["schema"]["properties"])
        parts.append(f"<p>Body: <code>{escape(kind)}</code>: {escape(fields)}</p>")
    for each in operation.get("x-codeSamples", ()):
        parts.append(f"<pre tabindex=0><code>{escape(each['source'])}</code></pre>")
    return "".join([*parts, "</section>"])


def _show(value: Any) -> str:
    # a scrolled box must be reachable by the keyboard
    shown = escape(json.dumps(value, indent=1, ensure_ascii=False))
    return f"<pre tabindex=0>{shown}</pre>"


def _text(marked: str) -> str:
    """Give a text with what is between backticks as code."""
    return re.sub("`([^`]*)`", r"<code>\1</code>", escape(marked))
