"""Client: searches a service from another program, as a Searcher does an index."""

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self
from urllib.parse import quote

import numpy as np

from fdch.client import content
from fdch.client import replies as read
from fdch.client.content import Picture
from fdch.codes import Codes
from fdch.errors import DataError, MissingExtra, ServiceError, SettingError
from fdch.index.store import Cell, Item
from fdch.retrieval.composed import ComposedQuery, QueryKind
from fdch.retrieval.params import SearchMethods, SearchParams
from fdch.retrieval.results import Results

_UNKNOWN_ITEM = "unknown_item"
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]+")
_SHOWN = 200
_ALL = "/v1/"
_BUSY = (429, 503)
_WAIT_SECONDS = 1.0  # where the service does not say how long
_MAX_WAIT_SECONDS = 10.0
_REDIRECTS = (301, 302, 303, 307, 308)
MAX_REPLY_BYTES = 2**28


class _Reply(NamedTuple):
    """A reply."""

    status: int
    headers: Mapping[str, str]
    content: bytes


@dataclass(frozen=True)
class IndexFacts:
    """Facts about a service's index; `reply` is all of `GET /v1/index`."""

    items: int
    bits: int
    model: str
    method: str
    can_write: bool
    reply: Mapping[str, Any] = field(repr=False)  # long


class Client(SearchMethods[str, Picture]):
    """Searches a service, and reads and writes its items. Threads may share one.

    Searches take the arguments of a Searcher and return its Results; a picture is
    its path or its file's content. An item's `image` is the address of its picture
    at the service.

    Args:
        url: Where the service is, such as "http://127.0.0.1:8000".
        token: A read or write token, where the service needs one.
        index: Which of several indexes; by default the service's first.
        timeout: Seconds to wait for the service.
        retries: How often to repeat a request when the service is busy (429 or 503),
            after the time that it gives, up to 10 seconds. Every request can be
            repeated without harm; writes too.

    >>> Client("http://127.0.0.1:8000").url
    'http://127.0.0.1:8000'
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        index: str | None = None,
        timeout: float = 60.0,
        retries: int = 2,
    ) -> None:
        try:
            import httpx
        except ModuleNotFoundError as problem:
            raise MissingExtra("the client", "client") from problem
        self.url = content.address(url)
        if not isinstance(retries, int) or retries < 0:
            raise SettingError(f"retries must be 0 or more; got {retries!r}.")
        self._retries = retries
        self._base = _ALL if index is None else f"{_ALL}indexes/{quote(index, '')}/"
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
        """Close the connections."""
        self._http.close()

    def search(
        self, kind: QueryKind, queries: Sequence[Any], params: SearchParams
    ) -> list[Results]:
        """Search with each query; several texts share a request."""
        if kind == "text":
            found = self._search_texts(content.texts(queries), params)
        elif kind == "id":
            fields = content.search_fields(params)
            ids = [content.text("an id", name) for name in queries]
            found = [self._search({"id": name, **fields}) for name in ids]
        elif kind == "composed":
            found = [self._search_composed(query, params) for query in queries]
        else:
            sent = {"data": content.form_fields(params)}
            files = ({"image": content.file(image)} for image in queries)
            found = [
                self._send("POST", "/v1/search/image", files=file, **sent)
                for file in files
            ]
        return [read.results(reply, params) for reply in found]

    def _search_texts(
        self, texts: list[str], params: SearchParams
    ) -> list[dict[str, Any]]:
        fields = content.search_fields(params)
        if len(texts) == 1:
            return [self._search({"text": texts[0], **fields})]
        step = max(1, min(content.MAX_TEXTS, content.MAX_RESULTS_IN_ALL // fields["k"]))
        replies: list[dict[str, Any]] = []
        for start in range(0, len(texts), step):
            try:
                body = {"texts": texts[start : start + step], **fields}
                replies += read.get(self._search(body), "batches", list)
            except ServiceError as problem:
                if start == 0:
                    raise
                message = f"of the texts after the first {start}: {problem}"
                raise ServiceError(message, problem.status, problem.code) from problem
        return replies

    def _search_composed(
        self, query: ComposedQuery, params: SearchParams
    ) -> dict[str, Any]:
        parts = content.query_fields(query)
        if query.image is None:
            return self._search({**parts, **content.search_fields(params)})
        data = {**parts, **content.form_fields(params)}
        files = {"image": content.file(query.image)}
        return self._send("POST", "/v1/search/image", files=files, data=data)

    def _search(self, body: dict[str, Any]) -> dict[str, Any]:
        return self._send("POST", "/v1/search", json=body)

    def encode_texts(self, texts: Sequence[str]) -> Codes:
        """Return the codes of texts."""
        given, step = content.texts(texts), content.MAX_TEXTS
        if not given:
            bits = self.index().bits
            return Codes(np.empty((0, -(-bits // 8)), np.uint8), bits)
        requests = [given[at : at + step] for at in range(0, len(given), step)]
        return Codes.concatenate(
            read.codes(self._send("POST", "/v1/encode", json={"texts": some}))
            for some in requests
        )

    def encode_image(self, image: Picture) -> Codes:
        """Return the code of a picture."""
        files = {"image": content.file(image)}
        return read.codes(self._send("POST", "/v1/encode/image", files=files))

    def item(self, name: str) -> Item:
        """Return an item record."""
        return read.item(self._send("GET", content.path(name)))

    def picture(self, name: str) -> bytes:
        """Return an item's picture, as a file's content."""
        return self._request("GET", f"{content.path(name)}/picture").content

    def thumbnail(self, name: str, size: int = 240) -> bytes:
        """Return an item's picture as a JPEG of at most `size` pixels a side."""
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
        sent: dict[str, Any] = {"json": known}
        if image is not None:
            files = {"image": content.file(image)}
            sent = {"data": {"item": json.dumps(known)}, "files": files}
        reply = self._send("PUT", content.path(name), **sent)
        return bool(read.get(reply, "created", bool))

    def remove(self, name: str) -> bool:
        """Remove an item; return whether it was there."""
        try:
            self._request("DELETE", content.path(name))
        except ServiceError as problem:
            if problem.code == _UNKNOWN_ITEM:
                return False
            raise
        return True

    def index(self) -> IndexFacts:
        """Describe what the index holds."""
        reply = self._send("GET", "/v1/index")
        kinds = {"items": int, "bits": int, "model": str, "method": str}
        known = {name: read.get(reply, name, kind) for name, kind in kinds.items()}
        return IndexFacts(
            **known, can_write=read.get(reply, "can_write", bool), reply=reply
        )

    def overview(self) -> Mapping[str, Any]:
        """Describe how the index's codes are distributed."""
        return self._send("GET", "/v1/overview")

    def is_ready(self) -> bool:
        """Return whether the service is up and answers searches."""
        try:
            reply = self._send("GET", "/ready", retries=0)
            return reply.get("status") == "ready"
        except ServiceError:
            return False

    def _send(self, method: str, path: str, **sent: Any) -> dict[str, Any]:
        reply = self._request(method, path, **sent)
        document = read.document(reply.content)
        if document is None:
            raise ServiceError(
                f"what answers at {self.url} is not a service of fdch.", reply.status
            )
        return document

    def _request(
        self, method: str, path: str, *, retries: int | None = None, **sent: Any
    ) -> _Reply:
        left = self._retries if retries is None else retries
        reply = self._exchange(method, path, **sent)
        while left and (wait := _busy_seconds(reply)) is not None:
            time.sleep(wait)
            reply = self._exchange(method, path, **sent)
            left -= 1
        if not 200 <= reply.status < 300:
            raise read.failure(reply.status, reply.content)
        return reply

    def _exchange(self, method: str, path: str, **sent: Any) -> _Reply:
        try:
            place = path.replace(_ALL, self._base, 1)
            with self._http.stream(method, place, **sent) as reply:
                found = _Reply(reply.status_code, reply.headers, self._read(reply))
        except self._failures as problem:
            raise ServiceError(
                f"no answer from {self.url}: {problem or type(problem).__name__}. Is "
                "the service running? 'fdch serve INDEX' starts one."
            ) from problem
        if found.status in _REDIRECTS and "location" in found.headers:
            raise ServiceError(
                f"{self.url} sends to {found.headers['location'][:_SHOWN]!r} (status "
                f"{found.status}); a client does not follow, so that a token goes "
                "nowhere else. Give it the address that answers.",
                found.status,
            )
        return found

    def _read(self, reply: Any) -> bytes:
        """Read a body in parts; refuse one that is too large."""
        body = bytearray()
        for part in reply.iter_bytes():
            body += part
            if len(body) > MAX_REPLY_BYTES:
                raise ServiceError(
                    f"{self.url} answers with over {MAX_REPLY_BYTES:,} bytes; no "
                    "answer of a service is that large.",
                    reply.status_code,
                )
        return bytes(body)


def _busy_seconds(reply: _Reply) -> float | None:
    """Return when to repeat a request; None where that is of no use or too late."""
    if reply.status not in _BUSY:
        return None
    given = reply.headers.get("retry-after", "")
    seconds = float(given) if given.isdecimal() else _WAIT_SECONDS
    return seconds if seconds <= _MAX_WAIT_SECONDS else None


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
