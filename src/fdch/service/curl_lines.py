"""Requests as lines for a shell: complete, with a picture where one is needed.

SERVICE is the service's address and TOKEN a token; `picture.jpg` is there once the
picture of an item was fetched by its own line.
"""

import json
import shlex
from collections.abc import Mapping
from typing import Any

JSON = "application/json"
FILE = "picture.jpg"


def curl(
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
        has_token: Whether the service asks for a token.
        body: Sent as JSON.
        fields: Sent as a form, beside a picture.
        output: The file for the reply.
    """
    words = ["curl"] if method in ("GET", "POST") else ["curl", "-X", method]
    words.append(f'"$SERVICE{path}"')
    if has_token:
        words.append('-H "Authorization: Bearer $TOKEN"')
    if body is not None:
        words += [f"-H 'Content-Type: {JSON}'", "-d", shlex.quote(json.dumps(body))]
    if fields is not None:
        words += ["-F", f"image=@{FILE}"]
        for name, value in fields.items():
            words += ["--form-string", shlex.quote(f"{name}={value}")]
    if output is not None:
        words += ["-o", output]
    return " ".join(words)
