"""A page that shows the OpenAPI document, with a form to try each route.

It is plain HTML made here: the pages that come with the framework load scripts from
elsewhere, which this service never does. `page/docs.js` and `docs.css` belong to it.
"""

import json
import re
from html import escape
from typing import Any

from fdch.service.http.uploads import FORM, JSON, PICTURE


def page(document: dict[str, Any]) -> str:
    """Show an OpenAPI document as one page."""
    parts = [
        "<!doctype html><html lang=en><head><meta charset=utf-8>",
        "<meta name=viewport content='width=device-width'>",
        "<title>fdch: the API</title><link rel=stylesheet href=/static/docs.css>"
        "<script type=module src=/static/docs.js></script></head>",
        f"<body><main><h1>{escape(document['info']['title'])} "
        f"{escape(document['info']['version'])}: the API</h1>",
        f"<p>{_text(document['info']['description'])}</p>",
        "<p>The same for programs: <a href=/openapi.json>openapi.json</a>.</p>",
        "<p>In the lines for a shell, <code>SERVICE</code> is this service's address, "
        "such as <code>http://127.0.0.1:8000</code>, <code>TOKEN</code> a token, and "
        "<code>picture.jpg</code> any picture: the line of <code>GET "
        "/v1/items/{id}/picture</code> fetches one.</p>",
        "<p class=try><label>Token, for trying the routes below where the service has "
        "tokens <input id=token type=password autocomplete=off></label></p>",
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
    return "".join([*parts, _form(method, path, operation), "</section>"])


def _form(method: str, path: str, operation: dict[str, Any]) -> str:
    """Make a form that sends this request; the script knows fields by `data-in`."""
    fields = [
        _field(each["name"], each["in"], each["schema"], each.get("example", ""))
        for each in operation.get("parameters", ())
    ]
    content = operation.get("requestBody", {}).get("content", {})
    if JSON in content:
        examples = content[JSON].get("examples", {})
        first: Any = next((each["value"] for each in examples.values()), {})
        shown = escape(json.dumps(first, ensure_ascii=False))
        area = f"<textarea name=body aria-label=JSON rows=3>{shown}</textarea>"
        fields.append(f"<label>JSON {area}</label>")
    if FORM in content:
        choice = f"<input type=file name={PICTURE} accept='image/*'>"
        fields.append(f"<label>Picture {choice}</label>")
    if FORM in content and JSON not in content:
        schemas = content[FORM]["schema"]["properties"]
        named = [(name, each) for name, each in schemas.items() if name != PICTURE]
        fields += [_field(name, "form", schema) for name, schema in named]
    return (
        f"<details><summary>Try it</summary><form class=try data-method={method} "
        f"data-path='{escape(path)}'>{''.join(fields)}<button>Send</button>"
        "<output hidden tabindex=0></output></form></details>"
    )


def _field(name: str, place: str, schema: dict[str, Any], example: str = "") -> str:
    named = f"name='{escape(name)}' data-in={place}"
    if schema.get("type") == "array":
        field, note = f"<textarea {named} rows=2></textarea>", ", one a line"
    else:
        field, note = f"<input {named} value='{escape(str(example or ''))}'>", ""
    return f"<label>{escape(name)}{note} {field}</label>"


def _show(value: Any) -> str:
    # a scrolled box must be reachable by the keyboard
    shown = escape(json.dumps(value, indent=1, ensure_ascii=False))
    return f"<pre tabindex=0>{shown}</pre>"


def _text(marked: str) -> str:
    """Escape a text and mark code between backticks."""
    return re.sub("`([^`]*)`", r"<code>\1</code>", escape(marked))
