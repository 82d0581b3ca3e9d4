"""Requests that no service should fall for, each with the status it is owed."""

import json
import zlib
from typing import NamedTuple

from fdch.bench.hostile_pictures import PICTURES
from fdch.bench.raw_requests import (
    READ,
    WRITE,
    Requests,
    raw_search,
    request,
    search,
)
from fdch.service.http.limits import ServiceLimits


class Hostile(NamedTuple):
    """A request and the status of its refusal."""

    content: bytes
    status: int


MOST = ServiceLimits().body_bytes
DEEP = "[" * 50_000 + "]" * 50_000
QUERIES: Requests = {
    "no body": (raw_search(b""), 422),
    "no json": (raw_search("text=beach"), 422),
    "half a document": (raw_search('{"text": "beach"'), 422),
    "a list": (raw_search('["beach"]'), 422),
    "a number": (raw_search("5"), 422),
    "null": (raw_search("null"), 422),
    "nothing asked": (search(), 422),
    "two things asked": (search(text="beach", id="scene1"), 422),
    "text is a number": (search(text=5), 422),
    "text is a list": (search(text=["beach"]), 422),
    "text is empty": (search(text=""), 422),
    "text is spaces": (search(text="   "), 422),
    "text is long": (search(text="beach " * 2000), 422),
    "text of nulls": (search(text="\0\0\0"), 422),
    "text of odd unicode": (search(text="\u202e\u0000\uffff\U000e0041"), 422),
    "half of a character": (raw_search(b'{"text": "\\ud800"}'), 422),
    "bytes that are no utf-8": (raw_search(b'{"text": "\xff\xfe"}'), 422),
    "utf-16": (raw_search('{"text": 5}'.encode("utf-16")), 422),
    "unknown words": (search(text="zzzz qqqq"), 422),
    "unknown option": (search(text="beach", shell="ls"), 422),
    "k is zero": (search(text="beach", k=0), 422),
    "k is negative": (search(text="beach", k=-5), 422),
    "k is huge": (search(text="beach", k=10**9), 422),
    "k has 400 digits": (raw_search(f'{{"text": "beach", "k": {"9" * 400}}}'), 422),
    "k has 9000 digits": (
        raw_search(f'{{"text": "beach", "k": {"9" * 9000}}}'),
        422,
    ),
    "k is a text": (search(text="beach", k="5"), 422),
    "k is true": (search(text="beach", k=True), 422),
    "k is a fraction": (search(text="beach", k=1.5), 422),
    "radius is negative": (search(text="beach", radius=-1), 422),
    "radius is huge": (search(text="beach", radius=10**30), 422),
    "probability is nan": (
        raw_search('{"text": "beach", "min_probability": NaN}'),
        422,
    ),
    "probability is infinite": (
        raw_search('{"text": "beach", "min_probability": Infinity}'),
        422,
    ),
    "probability over one": (search(text="beach", min_probability=1.01), 422),
    "too many texts": (search(texts=["beach"] * 257), 422),
    "too many results": (search(texts=["beach"] * 256, k=1000), 422),
    "no texts": (search(texts=[]), 422),
    "too many conditions": (search(text="beach", where=["label=x"] * 17), 422),
    "a condition of no kind": (search(text="beach", where=["DROP TABLE"]), 422),
    "sql in a column": (search(text="beach", where=["x' OR 1=1 --=2"]), 422),
    "a long condition": (search(text="beach", where=["label=" + "x" * 2000]), 422),
    "a deep condition": (search(text="beach", where=["label in " + "[" * 900]), 422),
    "conditions are a text": (search(text="beach", where="label=x"), 422),
    "id is unknown": (search(id="nobody"), 404),
    "id is a path": (search(id="../../etc/passwd"), 404),
    "id is long": (search(id="x" * 2000), 422),
    "id re-ranked": (search(id="scene1", rerank=True), 422),
    "deep json": (raw_search(DEEP), 422),
    "deep json in a field": (raw_search('{"text": ' + DEEP + "}"), 422),
    "many keys": (raw_search(json.dumps({f"k{i}": i for i in range(20_000)})), 422),
    "800,000 keys": (raw_search(b"{" + b'"":1,' * 800_000 + b"}"), 422),
    "500,000 lists": (raw_search(b'{"where":[' + b"[[],[]]," * 500_000), 422),
    "a million keys": (raw_search(b"{" + b'"":1,' * 10**6 + b"}"), 413),
    "a million lists": (raw_search(b'{"where":[' + b"[[],[]]," * 10**6), 413),
    "doubled key": (raw_search('{"text": "beach", "text": 5}'), 422),
    "encode nothing": (request(path="/v1/encode", body=b"{}"), 422),
}
ADDRESSES: Requests = {
    "up the path": (request("GET", "/static/../../../etc/passwd"), 404),
    "up the encoded path": (request("GET", "/static/%2e%2e%2f%2e%2e%2fapp.py"), 404),
    "up the item path": (request("GET", "/v1/items/../../etc/passwd"), 404),
    "up the encoded item": (
        request("GET", "/v1/items/..%2f..%2fetc%2fpasswd/picture"),
        404,
    ),
    "an absolute item": (request("GET", "/v1/items/%2Fetc%2Fpasswd/picture"), 404),
    "a file's url": (request("GET", "/v1/items/file%3A%2F%2F%2Fetc%2Fpasswd"), 404),
    "a null in an id": (request("GET", "/v1/items/a%00b"), 404),
    "an id of bytes": (request("GET", "/v1/items/%ff%fe"), 400),
    "an id of too many letters": (request("GET", "/v1/items/" + "x" * 2000), 400),
    "an empty id": (request("GET", "/v1/items/"), 404),
    "a half escape": (request("GET", "/v1/items/%4/picture"), 404),
    "a backslash": (request("GET", "/static/..\\..\\app.py"), 404),
    "thumbnail of size 0": (request("GET", "/v1/items/x/thumbnail?size=0"), 422),
    "thumbnail of size 1e9": (
        request("GET", "/v1/items/x/thumbnail?size=1000000000"),
        422,
    ),
    "thumbnail of size nan": (request("GET", "/v1/items/x/thumbnail?size=nan"), 422),
    "nowhere": (request("GET", "/admin"), 404),
    "a doubled slash": (request("GET", "//v1/index"), 404),
    "a proxied address": (request("GET", "http://example.com/"), 404),
}
RIGHTS: Requests = {
    "wrong method": (request("GET", "/v1/search", kind=""), 405),
    "trace": (request("TRACE", "/v1/index", kind=""), 405),
    "connect": (request("CONNECT", "example.com:443", kind=""), 404),
    "an invented method": (request("FROB", "/v1/index", kind=""), 405),
    "patch without a right": (request("PATCH", "/v1/items/x", b"{}"), 403),
    "no token": (request(body=b'{"text": "beach"}', token=None), 401),
    "a wrong token": (request(body=b"{}", token="x" * 40), 401),
    "a token of bytes": (
        request(token=None, headers=[b"Authorization: Bearer \xff\xfe\xfd"]),
        401,
    ),
    "a token of another scheme": (
        request(token=None, headers=[f"Authorization: Basic {READ}"]),
        401,
    ),
    "two tokens": (request(headers=[f"Authorization: Bearer {WRITE}"]), 400),
    "writing with a reading token": (request("PUT", "/v1/items/x", b"{}"), 403),
    "removing with a reading token": (request("DELETE", "/v1/items/x", kind=""), 403),
    "method in a header": (
        request(headers=["X-HTTP-Method-Override: DELETE"], body=b"{}"),
        422,
    ),
    "put of dots": (request("PUT", "/v1/items/%2e%2e", b"{}", token=WRITE), 400),
    "put of a line": (request("PUT", "/v1/items/a%0ab", b"{}", token=WRITE), 400),
    "put of nothing": (request("PUT", "/v1/items/x", b"{}", token=WRITE), 422),
    "put of a path": (
        request("PUT", "/v1/items/x", b'{"image": "/etc/passwd"}', token=WRITE),
        422,
    ),
    "put of no type": (request("PUT", "/v1/items/x", b"{}", "", token=WRITE), 415),
    "put of many columns": (
        request(
            "PUT",
            "/v1/items/x",
            b'{"columns":{' + b",".join(b'"%d":[]' % n for n in range(300_000)) + b"}}",
            token=WRITE,
        ),
        422,
    ),
    "put of deep json": (
        request("PUT", "/v1/items/x", DEEP.encode(), token=WRITE),
        422,
    ),
}
HEADS: Requests = {
    "a body too large": (raw_search(b" " * (MOST + 1)), 413),
    "chunks too large together": (
        request(
            length=False,
            headers=["Transfer-Encoding: chunked"],
            body=(b"10000\r\n" + b" " * 0x10000 + b"\r\n") * (MOST // 0x10000 + 1),
        ),
        413,
    ),
    "a length too large": (
        request(length=False, headers=["Content-Length: 99999999999"]),
        413,
    ),
    "a length of 30 digits": (
        request(length=False, headers=["Content-Length: " + "9" * 30]),
        400,
    ),
    "a negative length": (request(length=False, headers=["Content-Length: -1"]), 400),
    "two lengths": (
        request(length=False, headers=["Content-Length: 5", "Content-Length: 6"]),
        400,
    ),
    "length and chunks": (
        request(
            length=False,
            headers=["Content-Length: 4", "Transfer-Encoding: chunked"],
            body=b"0\r\n\r\n",
        ),
        400,
    ),
    "an unknown coding": (
        request(length=False, headers=["Transfer-Encoding: gzip"]),
        400,
    ),
    "two codings": (
        request(length=False, headers=["Transfer-Encoding: chunked, chunked"]),
        400,
    ),
    "a chunk of no length": (
        request(length=False, headers=["Transfer-Encoding: chunked"], body=b"zz\r\n"),
        400,
    ),
    "a packed body": (
        request(body=zlib.compress(b"{}"), headers=["Content-Encoding: gzip"]),
        415,
    ),
    "a body to GET": (request("GET", "/v1/index", b"{}"), 400),
    "a giant header": (
        request("GET", "/v1/index", headers=["X: " + "x" * 10**6]),
        400,
    ),
    "many headers": (
        request("GET", "/v1/index", headers=[f"X{i}: y" for i in range(20_000)]),
        400,
    ),
    "a giant address": (request("GET", "/v1/index?" + "x" * 10**6), 400),
    "a folded header": (
        request("GET", "/v1/nothing", headers=["X: a", " b"]),
        404,
    ),
    "a header without a name": (request("GET", "/v1/index", headers=[": x"]), 400),
    "a space in a header": (request("GET", "/v1/index", headers=["X y: z"]), 400),
    "a null in a header": (request("GET", "/v1/index", headers=[b"X: a\0b"]), 400),
    "no host": (b"GET /v1/index HTTP/1.1\r\n\r\n", 400),
    "two hosts": (request("GET", "/v1/index", headers=["Host: evil"]), 400),
    "no http": (b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03" + b"\0" * 100, 400),
    "another protocol": (b"SSH-2.0-OpenSSH_9.0\r\n\r\n", 400),
    "http/3": (b"GET / HTTP/3.0\r\nHost: x\r\n\r\n", 400),
    "http/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    "a line feed alone": (b"GET /nowhere HTTP/1.1\nHost: a\nX\n\n", 400),
    "a websocket": (
        request(
            "GET",
            "/v1/nothing",
            kind="",
            headers=["Connection: Upgrade", "Upgrade: websocket"],
        ),
        404,
    ),
    "another's address": (
        request("GET", "/v1/index", token=None, headers=["X-Forwarded-For: 127.0.0.1"]),
        401,
    ),
}
# the service waits for their ends as long as it is told to wait for bodies
SLOW: Requests = {
    "a slow body": (
        request(length=False, headers=["Content-Length: 1000"], body=b"{"),
        408,
    ),
    "a slow body in chunks": (
        request(length=False, headers=["Transfer-Encoding: chunked"], body=b"5\r\n{"),
        408,
    ),
}
HOSTILE = {
    name: Hostile(*each)
    for some in (QUERIES, PICTURES, ADDRESSES, RIGHTS, HEADS, SLOW)
    for name, each in some.items()
}
