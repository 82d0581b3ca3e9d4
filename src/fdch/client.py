"""Client: a service asked as a Searcher is asked, from another program."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, Unpack
from urllib.parse import quote

import numpy as np

from fdch.codes import Codes
from fdch.errors import DataError, MissingExtra, ServiceError, SettingError
from fdch.index.store import Cell, Item
from fdch.results import Options, Result, Results

Picture = str | Path | bytes

_UNKNOWN_ITEM = "unknown_item"
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]+")
_SHOWN = 200


@dataclass(frozen=True)
class IndexFacts:
    """What a service's index holds; see `GET /v1/index`.

    Args:
        items: How many.
        bits: Length of the codes.
        model: Fingerprint of the model that makes them.
        method: Name of the method that was trained.
        can_write: Whether the service has a token for writing.
        told: All that the service told.
    """

    items: int
    bits: int
    model: str
    method: str
    can_write: bool
    told: Mapping[str, Any]


class Client:
    """Asks a search service. Threads may share one.

    Searches take the options of a Searcher and give its Results; an item's `image`
    is the address of its picture at the service.

    Args:
        url: Where the service is, such as "http://127.0.0.1:8000".
        token: For reading or for writing, where the service asks for one.
        timeout: Seconds to wait for the service.

    >>> Client("http://127.0.0.1:8000").url
    'http://127.0.0.1:8000'
    """

    def __init__(
        self, url: str, token: str | None = None, *, timeout: float = 60.0
    ) -> None:
        try:
            import httpx
        except ModuleNotFoundError as problem:
            raise MissingExtra("the client", "client") from problem
        self.url = url.rstrip("/")
        headers = {} if token is None else {"authorization": f"Bearer {_token(token)}"}
        try:
            self._http = httpx.Client(
                base_url=self.url, headers=headers, timeout=timeout, trust_env=False
            )
        except (httpx.InvalidURL, UnicodeError) as problem:
            raise DataError(f"'{url}' is not the address of a service.") from problem
        self._failures = (httpx.HTTPError, httpx.InvalidURL)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of connections."""
        self._http.close()

    def by_text(self, text: str, **options: Unpack[Options]) -> Results:
        """Find what is near a text; see Options for how."""
        return _results(self._search({"text": text}, options))

    def by_texts(
        self, texts: Sequence[str], **options: Unpack[Options]
    ) -> list[Results]:
        """Find for each text what is near it."""
        told = self._search({"texts": list(texts)}, options)
        return [_results(each) for each in told["batches"]]

    def by_id(self, name: str, **options: Unpack[Options]) -> Results:
        """Find what is near an item, without the item itself."""
        return _results(self._search({"id": name}, options))

    def by_image(self, image: Picture, **options: Unpack[Options]) -> Results:
        """Find what is near a picture: its path, or its file's content."""
        fields = {
            name: value if isinstance(value, list) else str(value).lower()
            for name, value in _options(options).items()
        }
        return _results(
            self._send(
                "POST", "/v1/search/image", data=fields, files={"image": _file(image)}
            )
        )

    def encode_texts(self, texts: Sequence[str]) -> Codes:
        """Give the codes of texts."""
        return _codes(self._send("POST", "/v1/encode", json={"texts": list(texts)}))

    def encode_image(self, image: Picture) -> Codes:
        """Give the code of a picture."""
        files = {"image": _file(image)}
        return _codes(self._send("POST", "/v1/encode/image", files=files))

    def item(self, name: str) -> Item:
        """Give what is known of an item."""
        return _item(self._send("GET", _path(name)))

    def picture(self, name: str) -> bytes:
        """Give an item's picture, as a file's content."""
        return self._request("GET", f"{_path(name)}/picture").content

    def thumbnail(self, name: str, size: int = 240) -> bytes:
        """Give an item's picture as a JPEG, its longer side so many pixels at most."""
        path = f"{_path(name)}/thumbnail"
        return self._request("GET", path, params={"size": size}).content

    def put(
        self,
        name: str,
        *,
        text: str | None = None,
        image: Picture | None = None,
        labels: Sequence[str] | None = None,
        columns: Mapping[str, Cell] | None = None,
    ) -> bool:
        """Write an item; when this returns, it is on disk.

        An item that is there already keeps what is not given here: its text, its
        picture, all its labels, all its columns. What is given replaces what it has.

        Returns:
            Whether it is new; else it replaced the one of its id.
        """
        content: dict[str, Any] = {} if text is None else {"text": text}
        if labels is not None:
            content["labels"] = list(labels)
        if columns is not None:
            content["columns"] = dict(columns)
        if image is None:
            told = self._send("PUT", _path(name), json=content)
        else:
            told = self._send(
                "PUT",
                _path(name),
                data={"item": json.dumps(content)},
                files={"image": _file(image)},
            )
        return bool(told["created"])

    def remove(self, name: str) -> bool:
        """Remove an item; tell whether it was there."""
        try:
            self._request("DELETE", _path(name))
        except ServiceError as problem:
            if problem.code == _UNKNOWN_ITEM:
                return False
            raise
        return True

    def index(self) -> IndexFacts:
        """Tell what the index holds."""
        told = self._send("GET", "/v1/index")
        return IndexFacts(
            told["items"],
            told["bits"],
            told["model"],
            told["method"],
            told["can_write"],
            told,
        )

    def overview(self) -> Mapping[str, Any]:
        """Tell how the index's codes lie."""
        return self._send("GET", "/v1/overview")

    def is_ready(self) -> bool:
        """Tell whether the service is there and answers searches."""
        try:
            return self._send("GET", "/ready").get("status") == "ready"
        except ServiceError:
            return False

    def _search(self, asked: dict[str, Any], options: Options) -> dict[str, Any]:
        return self._send("POST", "/v1/search", json=asked | _options(options))

    def _send(self, method: str, path: str, **content: Any) -> dict[str, Any]:
        reply = self._request(method, path, **content)
        try:
            told = reply.json()
        except ValueError:
            told = None
        if not isinstance(told, dict):
            raise ServiceError(
                f"what answers at {self.url} is not a service of fdch.",
                reply.status_code,
            )
        return told

    def _request(self, method: str, path: str, **content: Any) -> Any:
        try:
            reply = self._http.request(method, path, **content)
        except self._failures as problem:
            raise ServiceError(
                f"no answer from {self.url}: {problem or type(problem).__name__}. Is "
                "the service running? 'fdch serve INDEX' starts one."
            ) from problem
        if reply.has_redirect_location:
            raise ServiceError(
                f"{self.url} sends to {reply.headers['location'][:_SHOWN]!r} (status "
                f"{reply.status_code}); a client does not follow, so that a token goes "
                "nowhere else. Give it the address that answers.",
                reply.status_code,
            )
        if not reply.is_success:
            raise _failure(reply.status_code, reply.content)
        return reply


def _token(given: str) -> str:
    """Check a token, which no message repeats."""
    token = given.strip() if isinstance(given, str) else ""
    if not _TOKEN.fullmatch(token):
        raise SettingError(
            "the token is empty, or has characters that no token has: spaces, line "
            "ends, or others than A-Z a-z 0-9 . _ ~ + / = -. Give it as it is in the "
            "token file, without 'read' or 'write' before it."
        )
    return token


def _failure(status: int, content: bytes) -> ServiceError:
    try:
        told = json.loads(content)["error"]
        message = " ".join(filter(None, (told["message"], told["hint"])))
        return ServiceError(message, status, told["code"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return ServiceError(f"the service answered with status {status}.", status)


def _options(options: Options) -> dict[str, Any]:
    given: dict[str, Any] = {k: v for k, v in options.items() if v is not None}
    where = given.pop("where", [])
    listed = [where] if isinstance(where, str) else list(where)
    if not all(isinstance(each, str) for each in listed):
        raise DataError("a service takes conditions as texts, such as 'price<=20'.")
    return given | ({"where": listed} if listed else {})


def _path(name: str) -> str:
    return f"/v1/items/{quote(name, safe='')}"


def _file(image: Picture) -> bytes:
    if isinstance(image, bytes):
        return image
    try:
        return Path(image).read_bytes()
    except OSError as problem:
        reason = problem.strerror or problem
        raise DataError(f"picture '{image}': {reason}.") from problem


def _item(told: Mapping[str, Any]) -> Item:
    return Item(
        told["id"],
        told["text"],
        told["image"],
        tuple(told["labels"]),
        told["columns"],
        told["kind"],
    )


def _results(told: Mapping[str, Any]) -> Results:
    found = tuple(
        Result(_item(each), each["distance"], each["probability"])
        for each in told["results"]
    )
    return Results(told["query"], found, told["scanned"], told["milliseconds"])


def _codes(told: Mapping[str, Any]) -> Codes:
    joined = bytes.fromhex("".join(told["codes"]))
    packed = np.frombuffer(joined, np.uint8).reshape(len(told["codes"]), -1)
    return Codes(packed.copy(), told["bits"])
