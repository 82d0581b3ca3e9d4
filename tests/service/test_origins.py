"""Pages of other sites may call the service only where their origin is allowed."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx
import pytest
from tests.service.running import READ, running

from fdch.errors import SettingError
from fdch.service.http.origins import Origins
from fdch.service.http.tokens import Right, Tokens

TOKENS = Tokens({READ: Right.READ})
SHOP = "https://shop.example"
ALLOWED = "access-control-allow-origin"
PREFLIGHT = {
    "access-control-request-method": "POST",
    "access-control-request-headers": "authorization, content-type",
}


@pytest.fixture(scope="module")
def shop(scenes, shared_cache):
    """A service with a token to read, which pages of one shop may call."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FDCH_CACHE", str(shared_cache))
        with running(scenes.index, tokens=TOKENS, server={"origins": [SHOP]}) as it:
            yield it


def search(it, origin, token=READ):
    headers = {"origin": origin, "authorization": f"Bearer {token}"}
    return httpx.post(f"{it.url}/v1/search", json={"text": "beach"}, headers=headers)


def test_an_allowed_page_reads_replies_and_errors(shop):
    for reply, status in ((search(shop, SHOP), 200), (search(shop, SHOP, "x"), 401)):
        assert reply.status_code == status
        assert reply.headers[ALLOWED] == SHOP
        assert "access-control-allow-credentials" not in reply.headers
        assert "retry-after" in reply.headers["access-control-expose-headers"]


@pytest.mark.parametrize(
    "origin",
    ["https://shop.example.org", "http://shop.example", f"{SHOP}:8443", "null", "*"],
)
def test_no_other_page_does(shop, origin):
    reply = search(shop, origin)
    assert reply.status_code == 200  # the browser keeps it from the page
    assert ALLOWED not in reply.headers
    assert "origin" in reply.headers["vary"]
    headers = {"origin": origin, **PREFLIGHT}
    refused = httpx.options(f"{shop.url}/v1/search", headers=headers)
    assert refused.status_code == 401
    assert ALLOWED not in refused.headers


def test_a_browser_learns_what_an_allowed_page_may_send(shop):
    headers = {"origin": SHOP, **PREFLIGHT}
    reply = httpx.options(f"{shop.url}/v1/search", headers=headers)
    assert reply.status_code == 204
    assert reply.headers[ALLOWED] == SHOP
    assert "POST" in reply.headers["access-control-allow-methods"]
    assert "authorization" in reply.headers["access-control-allow-headers"]


def test_without_a_list_nothing_is_allowed(served):
    headers = {"origin": SHOP, **PREFLIGHT}
    reply = httpx.options(f"{served.url}/v1/search", headers=headers)
    assert reply.status_code == 405
    assert ALLOWED not in reply.headers


@pytest.mark.parametrize(
    "wrong", ["*", "null", "shop.example", f"{SHOP}/", f"{SHOP}/page", "HTTPS://SHOP"]
)
def test_what_is_no_origin_is_refused(wrong):
    with pytest.raises(SettingError, match="not an origin"):
        Origins([wrong])


class Page(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>A shop</title>")

    def log_message(self, *_):
        pass


SEARCH = """async ([url, token]) => {
  const sent = { method: "POST", body: JSON.stringify({ text: "beach", k: 3 }),
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` } };
  try {
    const reply = await fetch(url + "/v1/search", sent);
    return (await reply.json()).results.length;
  } catch (problem) { return problem.name; }
}"""


@pytest.mark.integration
def test_a_page_of_another_origin_searches_in_a_browser(browser, scenes):
    with HTTPServer(("127.0.0.1", 0), Page) as other:
        thread = threading.Thread(target=other.serve_forever, args=(0.01,))
        thread.start()
        origin = f"http://127.0.0.1:{other.server_port}"
        page = browser.new_page()
        try:
            page.goto(origin)
            for origins, expected in (([origin], 3), ([SHOP], "TypeError")):
                server = {"origins": origins}
                with running(scenes.index, tokens=TOKENS, server=server) as it:
                    assert page.evaluate(SEARCH, [it.url, READ]) == expected
        finally:
            page.close()
            other.shutdown()
            thread.join()
