"""The gate: methods, tags and addresses as HTTP has them, and what is counted."""

import asyncio

import httpx
import pytest
from tests.service.running import READ, WRITE

from fdch.service.http.exchange import client_address
from fdch.service.serving import make_server


@pytest.fixture(scope="module")
def item(scenes):
    return f"/v1/items/{scenes.pairs.ids[0]}"


@pytest.mark.parametrize(
    "path",
    ["/", "/health", "/ready", "/docs", "/v1/index", "/openapi.json", "/metrics"],
)
def test_head_is_get_without_a_body(served, path):
    head = httpx.head(served.url + path)
    got = httpx.get(served.url + path)
    assert (head.status_code, head.content) == (200, b"")
    assert got.content
    assert head.headers["content-type"] == got.headers["content-type"]
    assert int(head.headers["content-length"]) > 0


def test_head_requests_describe_items_and_their_pictures(served, item):
    with httpx.Client(base_url=served.url) as client:  # one connection for all
        for path in ("", "/picture", "/thumbnail"):
            head, got = client.head(item + path), client.get(item + path)
            assert (head.status_code, head.content) == (200, b"")
            assert head.headers["content-length"] == str(len(got.content))
        assert client.head("/v1/items/nothing").status_code == 404


def test_a_wrong_method_gets_all_allowed_ones(writable):
    headers = {"authorization": f"Bearer {WRITE}"}
    for path, allowed in (
        ("/v1/items/x", "DELETE, GET, HEAD, PUT"),
        ("/health", "GET, HEAD"),
        ("/v1/search", "GET, HEAD, POST"),
        ("/v1/encode", "POST"),
    ):
        reply = httpx.request("PATCH", writable.url + path, headers=headers)
        assert reply.status_code == 405
        assert reply.headers["allow"] == allowed
        assert reply.json()["error"]["code"] == "wrong_method"
    assert httpx.head(f"{writable.url}/v1/encode", headers=headers).status_code == 405


def test_refusals_are_counted_where_they_were_requested(writable):
    read = {"authorization": f"Bearer {READ}"}
    assert httpx.get(f"{writable.url}/v1/items/a%2Fb").status_code == 401
    assert httpx.delete(f"{writable.url}/v1/items/x", headers=read).status_code == 403
    assert httpx.get(f"{writable.url}/nothing/here").status_code == 401
    counted = writable.service.metrics.text().decode()
    for labels in (
        'method="GET",route="/v1/items/{id}",status="401"',
        'method="DELETE",route="/v1/items/{id}",status="403"',
        'method="GET",route="other",status="401"',
    ):
        assert f"fdch_requests_total{{{labels}}} 1.0" in counted


@pytest.mark.parametrize(
    ("given", "status"),
    [("{}", 304), ("W/{}", 304), ('"x", {}', 304), ("*", 304), ('"x"', 200), ("", 200)],
)
def test_tags_come_alone_weak_or_in_lists(served, item, given, status):
    for path in ("/", f"{item}/picture", f"{item}/thumbnail"):
        tag = httpx.get(served.url + path).headers["etag"]
        headers = {"if-none-match": given.format(tag)}
        assert httpx.get(served.url + path, headers=headers).status_code == status


@pytest.mark.parametrize(
    ("header_value", "expected"),
    [
        ("10.1.2.3", "10.1.2.3"),
        ("nonsense, 10.1.2.3", "10.1.2.3"),
        ("nonsense", "unknown"),
        ("10.1.2.3, <script>", "unknown"),
        ("[2001:db8::1]:443", "2001:db8::1"),
        ("10.1.2.3:5000", "10.1.2.3"),
        ("", "127.0.0.1"),
    ],
)
def test_forwarded_values_that_are_no_addresses_count_as_unknown(
    served, header_value, expected
):
    config = make_server(served.service, proxies="127.0.0.1").config
    config.load()
    seen = []

    async def app(scope, receive, send):
        seen.append(client_address(scope))

    config.loaded_app.app = app

    def request(client):
        header = (b"x-forwarded-for", header_value.encode())
        scope = {"type": "http", "client": (client, 1), "headers": [header]}
        asyncio.run(config.loaded_app(scope, None, None))

    request("127.0.0.1")
    request("192.0.2.1")  # no proxy of ours
    assert seen == [expected, "192.0.2.1"]
