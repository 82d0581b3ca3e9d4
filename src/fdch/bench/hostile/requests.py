"""Hostile requests, and the status that each must be refused with."""

import json
import zlib
from typing import NamedTuple

from fdch.bench.hostile.pictures import INVALID_PICTURES, MALFORMED_FORMS
from fdch.bench.serving.raw_requests import (
    READ,
    WRITE,
    Requests,
    get,
    put,
    raw_search,
    request,
    search,
    search_with_headers,
)
from fdch.service.http.limits import ServiceLimits


class Hostile(NamedTuple):
    """A request and the status of its refusal."""

    content: bytes
    status: int


MAX_BODY = ServiceLimits().body_bytes
DEEP = "[" * 50_000 + "]" * 50_000
INVALID: Requests = {
    "no body": raw_search(b""),
    "no json": raw_search("text=beach"),
    "half a document": raw_search('{"text": "beach"'),
    "a list": raw_search('["beach"]'),
    "a number": raw_search("5"),
    "null": raw_search("null"),
    "an empty query": search(),
    "two queries at once": search(text="beach", id="scene1"),
    "text is a number": search(text=5),
    "text is a list": search(text=["beach"]),
    "text is empty": search(text=""),
    "text is spaces": search(text="   "),
    "text is long": search(text="beach " * 2000),
    "text of nulls": search(text="\0\0\0"),
    "text of odd unicode": search(text="\u202e\u0000\uffff\U000e0041"),
    "half of a character": raw_search(b'{"text": "\\ud800"}'),
    "bytes that are no utf-8": raw_search(b'{"text": "\xff\xfe"}'),
    "utf-16": raw_search('{"text": 5}'.encode("utf-16")),
    "unknown words": search(text="zzzz qqqq"),
    "unknown option": search(text="beach", shell="ls"),
    "k is zero": search(text="beach", k=0),
    "k is negative": search(text="beach", k=-5),
    "k is huge": search(text="beach", k=10**9),
    "k has 400 digits": raw_search(f'{{"text": "beach", "k": {"9" * 400}}}'),
    "k has 9000 digits": raw_search(f'{{"text": "beach", "k": {"9" * 9000}}}'),
    "k is a text": search(text="beach", k="5"),
    "k is true": search(text="beach", k=True),
    "k is a fraction": search(text="beach", k=1.5),
    "radius is negative": search(text="beach", radius=-1),
    "radius is huge": search(text="beach", radius=10**30),
    "probability is nan": raw_search('{"text": "beach", "min_probability": NaN}'),
    "probability is infinite": raw_search(
        '{"text": "beach", "min_probability": Infinity}'
    ),
    "probability over one": search(text="beach", min_probability=1.01),
    "too many texts": search(texts=["beach"] * 257),
    "too many results": search(texts=["beach"] * 256, k=1000),
    "no texts": search(texts=[]),
    "too many conditions": search(text="beach", where=["label=x"] * 17),
    "a condition of no kind": search(text="beach", where=["DROP TABLE"]),
    "sql in a column": search(text="beach", where=["x' OR 1=1 --=2"]),
    "a long condition": search(text="beach", where=["label=" + "x" * 2000]),
    "a deep condition": search(text="beach", where=["label in " + "[" * 900]),
    "conditions are a text": search(text="beach", where="label=x"),
    "id is long": search(id="x" * 2000),
    "id re-ranked": search(id="scene1", rerank=True),
    "deep json": raw_search(DEEP),
    "deep json in a field": raw_search('{"text": ' + DEEP + "}"),
    "many keys": raw_search(json.dumps({f"k{i}": i for i in range(20_000)})),
    "800,000 keys": raw_search(b"{" + b'"":1,' * 800_000 + b"}"),
    "500,000 lists": raw_search(b'{"where":[' + b"[[],[]]," * 500_000),
    "doubled key": raw_search('{"text": "beach", "text": 5}'),
    "encode nothing": request(path="/v1/encode", body=b"{}"),
    "thumbnail of size 0": get("/v1/items/x/thumbnail?size=0"),
    "thumbnail of size 1e9": get("/v1/items/x/thumbnail?size=1000000000"),
    "thumbnail of size nan": get("/v1/items/x/thumbnail?size=nan"),
    "method in a header": request(
        headers=["X-HTTP-Method-Override: DELETE"], body=b"{}"
    ),
    "put of nothing": put("/v1/items/x", b"{}"),
    "put of a path": put("/v1/items/x", b'{"image": "/etc/passwd"}'),
    "put of many columns": put(
        "/v1/items/x",
        b'{"columns":{' + b",".join(b'"%d":[]' % n for n in range(300_000)) + b"}}",
    ),
    "put of deep json": put("/v1/items/x", DEEP.encode()),
}
MALFORMED: Requests = {
    "an id of bytes": get("/v1/items/%ff%fe"),
    "an id of too many letters": get("/v1/items/" + "x" * 2000),
    "two tokens": request(headers=[f"Authorization: Bearer {WRITE}"]),
    "put of dots": put("/v1/items/%2e%2e", b"{}"),
    "put of a line": put("/v1/items/a%0ab", b"{}"),
    "a length of 30 digits": search_with_headers("Content-Length: " + "9" * 30),
    "a negative length": search_with_headers("Content-Length: -1"),
    "two lengths": search_with_headers("Content-Length: 5", "Content-Length: 6"),
    "length and chunks": search_with_headers(
        "Content-Length: 4", "Transfer-Encoding: chunked", body=b"0\r\n\r\n"
    ),
    "an unknown coding": search_with_headers("Transfer-Encoding: gzip"),
    "two codings": search_with_headers("Transfer-Encoding: chunked, chunked"),
    "a chunk of no length": search_with_headers(
        "Transfer-Encoding: chunked", body=b"zz\r\n"
    ),
    "a body to GET": request("GET", "/v1/index", b"{}"),
    "a header without a name": get("/v1/index", ": x"),
    "a space in a header": get("/v1/index", "X y: z"),
    "a null in a header": get("/v1/index", b"X: a\0b"),
    "no host": b"GET /v1/index HTTP/1.1\r\n\r\n",
    "two hosts": get("/v1/index", "Host: evil"),
    "no http": b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03" + b"\0" * 100,
    "another protocol": b"SSH-2.0-OpenSSH_9.0\r\n\r\n",
    "http/3": b"GET / HTTP/3.0\r\nHost: x\r\n\r\n",
    "http/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a line feed alone": b"GET /nowhere HTTP/1.1\nHost: a\nX\n\n",
}
UNAUTHORIZED: Requests = {
    "no token": request(body=b'{"text": "beach"}', token=None),
    "a wrong token": request(body=b"{}", token="x" * 40),
    "a token of bytes": request(
        token=None, headers=[b"Authorization: Bearer \xff\xfe\xfd"]
    ),
    "a token of another scheme": request(
        token=None, headers=[f"Authorization: Basic {READ}"]
    ),
    "another's address": request(
        "GET", "/v1/index", token=None, headers=["X-Forwarded-For: 127.0.0.1"]
    ),
}
FORBIDDEN: Requests = {
    "patch without a right": request("PATCH", "/v1/items/x", b"{}"),
    "writing with a reading token": request("PUT", "/v1/items/x", b"{}"),
    "removing with a reading token": request("DELETE", "/v1/items/x", kind=""),
}
MISSING: Requests = {
    "id is unknown": search(id="nobody"),
    "id is a path": search(id="../../etc/passwd"),
    "up the path": get("/static/../../../etc/passwd"),
    "up the encoded path": get("/static/%2e%2e%2f%2e%2e%2fapp.py"),
    "up the item path": get("/v1/items/../../etc/passwd"),
    "up the encoded item": get("/v1/items/..%2f..%2fetc%2fpasswd/picture"),
    "an absolute item": get("/v1/items/%2Fetc%2Fpasswd/picture"),
    "a file's url": get("/v1/items/file%3A%2F%2F%2Fetc%2Fpasswd"),
    "a null in an id": get("/v1/items/a%00b"),
    "an empty id": get("/v1/items/"),
    "a half escape": get("/v1/items/%4/picture"),
    "a backslash": get("/static/..\\..\\app.py"),
    "nowhere": get("/admin"),
    "a doubled slash": get("//v1/index"),
    "a proxied address": get("http://example.com/"),
    "connect": request("CONNECT", "example.com:443", kind=""),
    "a folded header": get("/v1/nothing", "X: a", " b"),
    "a websocket": request(
        "GET",
        "/v1/nothing",
        kind="",
        headers=["Connection: Upgrade", "Upgrade: websocket"],
    ),
}
WRONG_METHOD: Requests = {
    "wrong method": request("GET", "/v1/encode", kind=""),
    "trace": request("TRACE", "/v1/index", kind=""),
    "an invented method": request("FROB", "/v1/index", kind=""),
}
TOO_LARGE: Requests = {
    "a million keys": raw_search(b"{" + b'"":1,' * 10**6 + b"}"),
    "a million lists": raw_search(b'{"where":[' + b"[[],[]]," * 10**6),
    "a body too large": raw_search(b" " * (MAX_BODY + 1)),
    "chunks too large together": search_with_headers(
        "Transfer-Encoding: chunked",
        body=(b"10000\r\n" + b" " * 0x10000 + b"\r\n") * (MAX_BODY // 0x10000 + 1),
    ),
    "a length too large": search_with_headers("Content-Length: 99999999999"),
}
LONG_HEAD: Requests = {
    "a giant header": get("/v1/index", "X: " + "x" * 10**6),
    "many headers": get("/v1/index", *(f"X{i}: y" for i in range(20_000))),
    "a giant address": get("/v1/index?" + "x" * 10**6),
}
WRONG_TYPE: Requests = {
    "put of no type": request("PUT", "/v1/items/x", b"{}", "", token=WRITE),
    "a packed body": request(
        body=zlib.compress(b"{}"), headers=["Content-Encoding: gzip"]
    ),
    "json for a form": request(path="/v1/search/image", body=b"{}"),
}
# the service waits for their ends as long as --body-seconds says
SLOW: Requests = {
    "a slow body": search_with_headers("Content-Length: 1000", body=b"{"),
    "a slow body in chunks": search_with_headers(
        "Transfer-Encoding: chunked", body=b"5\r\n{"
    ),
}
STATUSES = {
    422: INVALID | INVALID_PICTURES,
    400: MALFORMED | MALFORMED_FORMS,
    401: UNAUTHORIZED,
    403: FORBIDDEN,
    404: MISSING,
    405: WRONG_METHOD,
    413: TOO_LARGE,
    415: WRONG_TYPE,
    408: SLOW,
    431: LONG_HEAD,
}
HOSTILE = {
    name: Hostile(content, status)
    for status, some in STATUSES.items()
    for name, content in some.items()
}
