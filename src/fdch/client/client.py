"""Client: a service asked as a Searcher is asked, from another program."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, Unpack

import numpy as np

from fdch.client import content
from fdch.client.content import Picture
from fdch.codes import Codes
from fdch.errors import DataError, MissingExtra, ServiceError, SettingError
from fdch.index.store import Cell, Item
from fdch.retrieval.results import Options, Result, Results

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
        self.url = content.address(url)
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
        search = content.Search.of(options)
        told = self._search({"text": content.text("the text", text)}, search)
        return _results(told, search)

    def by_texts(
        self, texts: Sequence[str], **options: Unpack[Options]
    ) -> list[Results]:
        """Find for each text what is near it."""
        asked, search = content.texts(texts), content.Search.of(options)
        found: list[Results] = []
        for start in range(0, len(asked), search.texts_at_a_time):
            some = asked[start : start + search.texts_at_a_time]
            try:
                told = self._search({"texts": some}, search)
            except ServiceError as problem:
                if start == 0:
                    raise
                message = f"of the texts after the first {start}: {problem}"
                raise ServiceError(message, problem.status, problem.code) from problem
            found += [_results(each, search) for each in told["batches"]]
        return found

    def by_id(self, name: str, **options: Unpack[Options]) -> Results:
        """Find what is near an item, without the item itself."""
        search = content.Search.of(options)
        return _results(
            self._search({"id": content.text("an id", name)}, search), search
        )

    def by_image(self, image: Picture, **options: Unpack[Options]) -> Results:
        """Find what is near a picture: its path, or its file's content."""
        search = content.Search.of(options)
        files = {"image": content.file(image)}
        told = self._send("POST", "/v1/search/image", data=search.form(), files=files)
        return _results(told, search)

    def encode_texts(self, texts: Sequence[str]) -> Codes:
        """Give the codes of texts."""
        asked, step = content.texts(texts), content.MOST_TEXTS
        if not asked:
            bits = self.index().bits
            return Codes(np.empty((0, -(-bits // 8)), np.uint8), bits)
        requests = [asked[at : at + step] for at in range(0, len(asked), step)]
        return Codes.concatenate(
            _codes(self._send("POST", "/v1/encode", json={"texts": some}))
            for some in requests
        )

    def encode_image(self, image: Picture) -> Codes:
        """Give the code of a picture."""
        files = {"image": content.file(image)}
        return _codes(self._send("POST", "/v1/encode/image", files=files))

    def item(self, name: str) -> Item:
        """Give what is known of an item."""
        return _item(self._send("GET", content.path(name)))

    def picture(self, name: str) -> bytes:
        """Give an item's picture, as a file's content."""
        return self._request("GET", f"{content.path(name)}/picture").content

    def thumbnail(self, name: str, size: int = 240) -> bytes:
        """Give an item's picture as a JPEG, its longer side so many pixels at most."""
        path = f"{content.path(name)}/thumbnail"
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
        known = content.item(text, labels, columns)
        if image is None:
            told = self._send("PUT", content.path(name), json=known)
        else:
            told = self._send(
                "PUT",
                content.path(name),
                data={"item": json.dumps(known)},
                files={"image": content.file(image)},
            )
        return bool(told["created"])

    def remove(self, name: str) -> bool:
        """Remove an item; tell whether it was there."""
        try:
            self._request("DELETE", content.path(name))
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

    def _search(self, asked: dict[str, Any], search: content.Search) -> dict[str, Any]:
        return self._send("POST", "/v1/search", json={**asked, **search.fields})

    def _send(self, method: str, path: str, **sent: Any) -> dict[str, Any]:
        reply = self._request(method, path, **sent)
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

    def _request(self, method: str, path: str, **sent: Any) -> Any:
        try:
            reply = self._http.request(method, path, **sent)
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


def _item(told: Mapping[str, Any]) -> Item:
    return Item(
        told["id"],
        told["text"],
        told["image"],
        tuple(told["labels"]),
        told["columns"],
        told["kind"],
    )


def _results(told: Mapping[str, Any], search: content.Search) -> Results:
    search.require_all(len(told["results"]))
    found = tuple(
        Result(_item(each), each["distance"], each["probability"])
        for each in told["results"]
    )
    query = {**told["query"], **({"k": None} if search.wants_all else {})}
    return Results(query, found, told["scanned"], told["milliseconds"])


def _codes(told: Mapping[str, Any]) -> Codes:
    joined = bytes.fromhex("".join(told["codes"]))
    packed = np.frombuffer(joined, np.uint8).reshape(len(told["codes"]), -1)
    return Codes(packed.copy(), told["bits"])
