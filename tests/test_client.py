"""A Client before a service that is none, and with values that it cannot send."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from fdch import Client
from fdch.errors import ServiceError, SettingError


class CannedServer(HTTPServer):
    """Answers everything with `reply`: status, headers, body."""

    reply: tuple[int, dict[str, str], bytes] = (200, {}, b"")


class Canned(BaseHTTPRequestHandler):
    server: CannedServer

    def answer(self):
        self.rfile.read(int(self.headers.get("content-length", 0)))
        status, headers, body = self.server.reply
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
    told = b'{"error": {"code": "%s", "message": "no.", "hint": ""}}'
    canned.reply = (404, {}, told % b"unknown_item")
    assert client.remove("a") is False
    canned.reply = (404, {}, told % b"not_found")
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
