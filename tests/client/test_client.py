"""A Client before a service that is none, and with values that it cannot send."""

import gzip
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import ClassVar

import numpy as np
import pytest

from fdch import Client
from fdch.errors import DataError, ServiceError, SettingError


class CannedServer(HTTPServer):
    """Answers with `reply`: status, headers, body; first with those of `before`."""

    reply: tuple[int, dict[str, str], bytes] = (200, {}, b"")
    before: ClassVar[list[tuple[int, dict[str, str], bytes]]] = []
    received = b""


class Canned(BaseHTTPRequestHandler):
    server: CannedServer

    def answer(self):
        self.server.received = self.rfile.read(int(self.headers["content-length"] or 0))
        before = self.server.before
        status, headers, body = before.pop() if before else self.server.reply
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = answer  # noqa: N815

    def log_message(self, *_):
        pass


@pytest.fixture
def canned():
    with CannedServer(("127.0.0.1", 0), Canned) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def client(canned):
    with Client(f"http://127.0.0.1:{canned.server_port}", timeout=20) as it:
        yield it


CALLS = {
    "remove": lambda client: client.remove("a"),
    "picture": lambda client: client.picture("a"),
    "thumbnail": lambda client: client.thumbnail("a"),
    "put": lambda client: client.put("a", text="a dog"),
    "by_text": lambda client: client.by_text("a dog"),
    "by_image": lambda client: client.by_image(b"a picture"),
    "index": lambda client: client.index(),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_redirect_is_no_success(canned, client, call):
    to = "https://elsewhere.example/v1"
    canned.reply = (301, {"location": to}, b"<html>moved</html>")
    with pytest.raises(ServiceError, match=f"sends to '{to}'"):
        call(client)
    assert not client.is_ready()


@pytest.mark.parametrize("status", [304, 399, 404, 500])
def test_no_other_status_is_a_success_either(canned, client, status):
    canned.reply = (status, {}, b"")
    for call in CALLS.values():
        with pytest.raises(ServiceError, match=f"status {status}"):
            call(client)
    assert not client.is_ready()


def test_what_is_no_service_is_not_ready(canned, client):
    canned.reply = (200, {}, b"<html>welcome</html>")
    assert not client.is_ready()
    canned.reply = (200, {}, b'{"status": "ready"}')
    assert client.is_ready()


def test_only_an_unknown_item_was_not_there(canned, client):
    refusal = b'{"error": {"code": "%s", "message": "no.", "hint": ""}}'
    canned.reply = (404, {}, refusal % b"unknown_item")
    assert client.remove("a") is False
    canned.reply = (404, {}, refusal % b"not_found")
    with pytest.raises(ServiceError, match=r"no\."):
        client.remove("a")


@pytest.mark.parametrize(
    "token", ["", "secret\nsecret", "sec ret", "secr\u20act", "secret\0", "read secret"]
)
def test_a_token_that_is_none_is_refused_and_not_repeated(token):
    with pytest.raises(SettingError, match="the token") as caught:
        Client("http://127.0.0.1:9", token)
    assert "secret" not in str(caught.value)


def test_space_around_a_token_is_left_out(canned):
    canned.reply = (200, {}, b"{}")
    with Client(f"http://127.0.0.1:{canned.server_port}", " a-token\n") as client:
        assert client.overview() == {}
        assert client._http.headers["authorization"] == "Bearer a-token"


HIT: dict[str, object] = {
    "id": "a",
    "text": None,
    "image": None,
    "labels": [],
    "columns": {},
    "kind": "code",
    "distance": 1,
    "probability": None,
}


def found(hits):
    document = {"query": {"k": 1000}, "results": [HIT] * hits, "scanned": 1}
    return json.dumps(document | {"milliseconds": 1.0}).encode()


def test_all_within_a_radius_is_all_or_an_error(canned, client):
    canned.reply = (200, {}, found(999))
    results = client.by_text("a dog", radius=8)
    assert len(results) == 999
    assert results.query["k"] is None
    assert json.loads(canned.received) == {"text": "a dog", "radius": 8, "k": 1000}
    canned.reply = (200, {}, found(1000))
    for search in (
        client.by_text,
        client.by_id,
        lambda a, **o: client.by_image(b"", **o),
    ):
        with pytest.raises(SettingError, match="1,000 results or more"):
            search("a", k=None, radius=8)
    assert len(client.by_text("a dog", radius=8, k=1000)) == 1000


def test_values_of_numpy_are_sent_as_plain_ones(canned, client):
    canned.reply = (200, {}, found(1))
    options = {
        "k": np.int64(3),
        "radius": np.uint8(8),
        "min_probability": np.float32(0.5),
        "rerank": np.bool_(True),
    }
    client.by_text(np.str_("a dog"), **options)
    assert json.loads(canned.received) == {
        "text": "a dog",
        "k": 3,
        "radius": 8,
        "min_probability": 0.5,
        "rerank": True,
    }
    canned.reply = (200, {}, b'{"created": true}')
    cells = {"a": np.int64(3), "b": np.float32(0.5), "c": np.bool_(True), "d": None}
    client.put("x", columns=cells, labels=np.array(["dog", "cat"]))
    assert json.loads(canned.received) == {
        "labels": ["dog", "cat"],
        "columns": {"a": 3, "b": 0.5, "c": True, "d": None},
    }


def test_the_parts_of_a_query_are_sent_together(canned, client):
    hit = HIT | {"similar": ["b"]}
    reply = {"query": {}, "results": [hit], "scanned": 1, "milliseconds": 1.0}
    canned.reply = (200, {}, json.dumps(reply).encode())
    found = client.query("dog", like=["a"], avoid=["red"], k=3, offset=6, group=2)
    assert found[0].similar == ("b",)
    assert json.loads(canned.received) == {
        "text": "dog",
        "like": ["a"],
        "avoid": ["red"],
        "k": 3,
        "offset": 6,
        "group": 2,
    }
    client.query("dog", b"a picture", unlike=["a", "b"])
    assert canned.received.count(b'name="unlike"') == 2
    assert b"a picture" in canned.received


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_a_picture_comes_in_any_kind_of_bytes(canned, client, kind):
    canned.reply = (200, {}, found(1))
    client.by_image(kind(b"a picture's content"))
    assert b"a picture's content" in canned.received


WRONG = {
    "labels are a list, such as \\['dog'\\]": lambda c: c.put("a", labels="dog"),
    "a label must be a text; got int": lambda c: c.put("a", labels=[1]),
    "column 'x' is nan; give a finite": lambda c: c.put("a", columns={"x": np.nan}),
    "column 'x' is inf": lambda c: c.put("a", columns={"x": np.float32("inf")}),
    "column 'x' must be .* got list": lambda c: c.put("a", columns={"x": [1]}),
    "name of a column must be a text": lambda c: c.put("a", columns={1: 1}),
    "columns are names with their cells": lambda c: c.put("a", columns=[("x", 1)]),
    "the text must be a text; got int": lambda c: c.put("a", text=3),
    "the text holds half a character": lambda c: c.by_text("a \ud800"),
    "text 2 holds half a character": lambda c: c.encode_texts(["a", "\udcff"]),
    "an id holds half a character": lambda c: c.item("\ud800"),
    "a label holds half a character": lambda c: c.put("a", labels=["\ud800"]),
    "column 'x' holds half": lambda c: c.put("a", columns={"x": "\ud800"}),
    "holds half a character": lambda c: c.by_text("a", where="a=\ud800"),
    "each of like holds half": lambda c: c.query("a", like=["\ud800"]),
    "there is nothing to search for": lambda c: c.query(avoid=["a"]),
    "id '' has no address": lambda c: c.remove(""),
    r"id '\.\.' has no address": lambda c: c.picture(".."),
    "k must be a whole number; got 2.5": lambda c: c.by_text("a", k=2.5),
    "radius must be a whole number; got nan": lambda c: c.by_text("a", radius=np.nan),
    "k must be 1 or more": lambda c: c.by_text("a", k=0),
    "min_probability must be from 0": lambda c: c.by_text("a", min_probability=np.nan),
    "min_probability must be a num": lambda c: c.by_text("a", min_probability="high"),
    "is not a condition": lambda c: c.by_text("a", where="dog"),
    "content of its file; got ndarray": lambda c: c.by_image(np.zeros((2, 2, 3))),
}


@pytest.mark.parametrize(("message", "call"), WRONG.items(), ids=WRONG)
def test_what_cannot_be_sent_is_reported_before_it_is_sent(
    canned, client, message, call
):
    canned.reply = (500, {}, b"")
    with pytest.raises(SettingError, match=message):
        call(client)


def test_a_missing_picture_is_a_file_not_found_error(client, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"picture '.*nothing\.png'") as caught:
        client.by_image(tmp_path / "nothing.png")
    assert isinstance(caught.value, DataError)
    with pytest.raises(DataError) as folder:
        client.by_image(tmp_path)
    assert not isinstance(folder.value, FileNotFoundError)


def test_one_text_is_not_taken_for_its_letters(client):
    for call in (client.by_texts, client.by_images, client.by_ids, client.encode_texts):
        with pytest.raises(DataError, match=r"are a list, such as \['a dog'\]"):
            call("a dog")


@pytest.mark.parametrize("url", ["localhost:8501", "127.0.0.1", "example.org/search"])
def test_an_address_without_http_is_reported(url):
    with pytest.raises(DataError, match=f"write 'http://{url}'"):
        Client(url)


@pytest.mark.parametrize(
    "url", ["", "http://", "ftp://example.org", "http://[::1", "http://a:b"]
)
def test_what_is_no_address_is_refused(url):
    with pytest.raises(DataError, match="is not the address of a service"):
        Client(url)


@pytest.fixture
def waits(monkeypatch):
    """How long a client has waited, without the waiting."""
    found: list[float] = []
    monkeypatch.setattr(time, "sleep", found.append)
    return found


INDEX = {"items": 3, "bits": 16, "model": "x", "method": "dch", "can_write": False}
ANSWER: tuple[int, dict[str, str], bytes] = (200, {}, json.dumps(INDEX).encode())


def test_facts_about_an_index_have_a_short_repr(canned, client):
    canned.reply = ANSWER
    assert repr(client.index()).startswith("IndexFacts(items=3,")
    assert "reply" not in repr(client.index())


@pytest.mark.parametrize(
    ("status", "given", "waited"),
    [(429, "3", 3.0), (503, "5", 5.0), (503, "0", 0.0), (503, "soon", 1.0)],
)
def test_a_busy_service_is_called_again_when_it_says(
    canned, client, waits, status, given, waited
):
    canned.reply = ANSWER
    canned.before = [(status, {"retry-after": given}, b"")] * 2
    assert client.index().items == 3
    assert waits == [waited] * 2


def test_a_picture_is_sent_again_whole(canned, client, waits):
    canned.reply = (200, {}, b'{"created": true}')
    canned.before = [(503, {}, b"")]
    assert client.put("a", image=b"a picture", labels=["dog"])
    assert b"a picture" in canned.received and b"dog" in canned.received
    assert waits == [1.0]


@pytest.mark.parametrize(
    ("retries", "after", "waited"), [(2, "1", 2), (0, "1", 0), (2, "60", 0)]
)
def test_waiting_has_an_end(canned, waits, retries, after, waited):
    canned.reply = (503, {"retry-after": after}, b"")
    with Client(f"http://127.0.0.1:{canned.server_port}", retries=retries) as client:
        with pytest.raises(ServiceError, match="status 503"):
            client.index()
        assert len(waits) == waited
        assert not client.is_ready()
    assert len(waits) == waited


def test_other_errors_are_not_repeated(canned, client, waits):
    canned.reply = (500, {"retry-after": "1"}, b"")
    with pytest.raises(ServiceError, match="status 500"):
        client.index()
    assert waits == []


@pytest.mark.parametrize("retries", [-1, 1.5, None])
def test_retries_are_a_number(retries):
    with pytest.raises(SettingError, match="retries"):
        Client("http://127.0.0.1:8000", retries=retries)


DEEP = b"[" * 100_000
RIGHT = json.loads(found(1))
# the answer to each call, fields of it, and what they may hold instead
REPLIES = {
    "by_text": (lambda client: client.by_text("a dog"), RIGHT),
    "by_texts": (lambda client: client.by_texts(["a", "b"]), {"batches": [RIGHT]}),
    "item": (lambda client: client.item("a"), HIT),
    "put": (lambda client: client.put("a"), {"created": True}),
    "encode": (
        lambda client: client.encode_texts(["a"]),
        {"codes": ["00ff"], "bits": 16, "model": "x"},
    ),
    "index": (lambda client: client.index(), INDEX),
}
UNFIT: tuple[object, ...] = (
    None,
    [],
    {},
    "x",
    -1.5,
    True,
    [1],
    [[]],
    [None],
    [{}],
    {"k": []},
    ["zz"],
)


@pytest.mark.parametrize("call", REPLIES)
@pytest.mark.parametrize("body", [b"", b"nope", b"\xff", b"null", b"[]", b"{}", DEEP])
def test_an_answer_of_another_shape_is_reported(canned, client, call, body):
    canned.reply = (200, {}, body)
    with pytest.raises(ServiceError, match="of fdch"):
        REPLIES[call][0](client)


@pytest.mark.parametrize("name", REPLIES)
def test_a_field_of_another_kind_is_never_taken_for_the_right_one(canned, client, name):
    call, right = REPLIES[name]
    canned.reply = (200, {}, json.dumps(right).encode())
    call(client)
    refused = 0
    for field in right:
        for value in UNFIT:
            canned.reply = (200, {}, json.dumps(right | {field: value}).encode())
            try:
                call(client)
            except ServiceError as problem:
                assert len(str(problem)) < 1000
                refused += 1
    # a model is not looked at; some fields may be of several kinds
    assert refused >= (len(right) - 1) * len(UNFIT) * 0.6


@pytest.mark.parametrize(
    "facets",
    [
        [],
        {"items": 1},
        {"items": 1, "columns": {"a": [{"value": 1}]}, "uncounted": {}},
        {"items": 1, "columns": {"a": {"b": 1}}, "uncounted": {}},
    ],
)
def test_counts_of_another_shape_are_reported(canned, client, facets):
    canned.reply = (200, {}, json.dumps(RIGHT | {"facets": facets}).encode())
    with pytest.raises(ServiceError, match="the answer has no"):
        client.by_text("a dog")


def test_an_answer_without_an_end_is_left(canned, client, monkeypatch):
    monkeypatch.setattr("fdch.client.client.MAX_REPLY_BYTES", 10**6)
    packed = gzip.compress(bytes(10**7))
    for headers, body in (
        ({}, bytes(10**6 + 1)),
        ({"content-encoding": "gzip"}, packed),
    ):
        canned.reply = (200, headers, body)
        with pytest.raises(ServiceError, match="over 1,000,000 bytes"):
            client.picture("a")


def test_a_long_refusal_is_cut(canned, client):
    error = {"code": "bad", "message": "no. " * 10**5, "hint": ""}
    canned.reply = (400, {}, json.dumps({"error": error}).encode())
    with pytest.raises(ServiceError, match=r"^no\. no\.") as caught:
        client.index()
    assert len(str(caught.value)) == 2000
