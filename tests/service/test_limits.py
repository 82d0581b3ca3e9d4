"""Limits: how often, how many at a time, how long, and under which name."""

import gc
import json
import logging
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import httpx
import pytest
from tests.service.running import READ, TOKENS, WRITE, running, wait_until

from fdch.errors import ServiceError, SettingError
from fdch.service import gate
from fdch.service.http.limits import MAX_JSON_BYTES, ServiceLimits
from fdch.service.serving import is_loopback, listen


def slow(service, seconds=None):
    """Make searches wait until they are let go, or for some seconds."""
    go = threading.Event()
    before = service.searcher.search

    def wait(*query, **options):
        go.wait(60 if seconds is None else seconds)
        return before(*query, **options)

    service.searcher.search = wait
    return go


def test_a_limit_must_be_positive():
    for limit in ({"body_bytes": 0}, {"seconds": -1.0}, {"rate": 0}):
        with pytest.raises(SettingError, match="must be positive"):
            ServiceLimits(**limit)


def test_too_many_requests_a_minute_are_refused(scenes):
    limits = ServiceLimits(rate=3)
    with running(scenes.index, limits=limits) as it:
        statuses = [httpx.get(f"{it.url}/v1/items/x").status_code for _ in range(5)]
        assert statuses == [404, 404, 404, 429, 429]
        refused = httpx.get(f"{it.url}/v1/items/x")
        assert 1 <= int(refused.headers["retry-after"]) <= 20
        assert refused.json()["error"]["code"] == "too_many_requests"
        assert httpx.get(f"{it.url}/health").status_code == 200


def test_each_token_has_its_own_rate(own_index):
    limits = ServiceLimits(rate=2)
    with running(own_index, tokens=TOKENS, limits=limits) as it:
        for token in (READ, WRITE):
            with it.client(token) as client:
                for status in (404, 404, 429):
                    with pytest.raises(ServiceError) as caught:
                        client.item("x")
                    assert caught.value.status == status


def test_guesses_of_tokens_are_slowed_down(own_index):
    limits = ServiceLimits(rate=2)
    with running(own_index, tokens=TOKENS, limits=limits) as it:
        found = []
        for number in range(4):
            headers = {"authorization": f"Bearer a-guess-at-a-token-{number}"}
            found.append(httpx.get(f"{it.url}/v1/index", headers=headers).status_code)
    assert found == [401, 401, 429, 429]


@pytest.mark.parametrize("path", ["/static/main.js", "/", "/health"])
def test_tokens_are_guessed_nowhere_without_being_counted(own_index, path):
    limits = ServiceLimits(rate=1)
    headers = {"authorization": "Bearer a-guess-at-a-token"}
    with running(own_index, tokens=TOKENS, limits=limits) as it:
        found = [
            httpx.get(it.url + path, headers=headers).status_code for _ in range(2)
        ]
        assert found == [401, 429]
        assert httpx.get(it.url + path).status_code == 200


def test_the_files_of_the_page_are_not_counted(scenes):
    with running(scenes.index, limits=ServiceLimits(rate=1)) as it:
        for _ in range(3):
            for path in (
                "/",
                "/static/main.js",
                "/static/page.css",
                "/static/docs.css",
            ):
                assert httpx.get(it.url + path).status_code == 200
        assert httpx.get(f"{it.url}/v1/index").status_code == 200
        assert httpx.get(f"{it.url}/v1/index").status_code == 429


def test_a_page_of_thumbnails_leaves_the_search_that_is_due(scenes):
    name = scenes.pairs.ids[0]
    with running(scenes.index, limits=ServiceLimits(rate=1)) as it:
        for path in ["thumbnail?size=64"] * 24 + ["picture"]:
            assert httpx.get(f"{it.url}/v1/items/{name}/{path}").status_code == 200
        for status in (200, 429):
            found = httpx.post(f"{it.url}/v1/search", json={"text": "beach"})
            assert found.status_code == status


def test_pictures_are_counted_by_themselves(scenes, monkeypatch):
    monkeypatch.setattr(gate, "PICTURES_TO_A_REQUEST", 2)
    with running(scenes.index, limits=ServiceLimits(rate=1)) as it:
        url = f"{it.url}/v1/items/{scenes.pairs.ids[0]}"
        found = [httpx.get(f"{url}/thumbnail") for _ in range(3)]
        assert [each.status_code for each in found] == [200, 200, 429]
        assert "2 pictures a minute" in found[-1].json()["error"]["message"]
        assert httpx.get(url).status_code == 200


def test_an_item_that_is_called_a_picture_is_counted(scenes):
    with running(scenes.index, limits=ServiceLimits(rate=1)) as it:
        found = [
            httpx.get(f"{it.url}/v1/items/a%2Fpicture").status_code for _ in range(2)
        ]
    assert found == [404, 429]


def test_what_cannot_be_worked_on_is_refused_at_once(scenes):
    limits = ServiceLimits(concurrent=4)
    with running(scenes.index, limits=limits) as it:
        go = slow(it.service)
        with ThreadPoolExecutor(10) as pool, it.client() as client:
            waiting = [pool.submit(client.by_text, "beach", k=1) for _ in range(4)]
            wait_until(lambda: it.service.metrics.active._value.get() == 4)
            refused = httpx.post(f"{it.url}/v1/search", json={"text": "beach"})
            assert refused.status_code == 503
            assert refused.headers["retry-after"] == "1"
            assert httpx.get(f"{it.url}/health").status_code == 200
            go.set()
            assert all(len(one.result()) == 1 for one in waiting)
        assert httpx.post(f"{it.url}/v1/search", json={"text": "beach"}).is_success


def test_a_request_that_takes_too_long_is_ended(scenes):
    limits = ServiceLimits(seconds=0.3)
    with running(scenes.index, limits=limits) as it:
        go = slow(it.service)
        refused = httpx.post(f"{it.url}/v1/search", json={"text": "beach"}, timeout=60)
        assert refused.status_code == 503
        assert "took too long" in refused.json()["error"]["message"]
        go.set()


def begin(it, *, declared, body, kind="application/json", token=None):
    """Begin to send a body; whatever was declared, no more comes."""
    head = [
        "POST /v1/search HTTP/1.1",
        "Host: localhost",
        f"Content-Type: {kind}",
        f"Content-Length: {declared}",
    ]
    if token is not None:
        head.append(f"Authorization: Bearer {token}")
    connection = socket.create_connection(("127.0.0.1", it.port))
    connection.sendall("\r\n".join([*head, "", ""]).encode() + body)
    return connection


FORM = "multipart/form-data; boundary=x"


def test_bodies_that_are_only_declared_keep_nobody_out(scenes):
    limits = ServiceLimits(address_connections=400, body_seconds=600.0)
    with running(scenes.index, limits=limits) as it, ExitStack() as stack:
        declared = it.service.limits.body_bytes
        for _ in range(300):  # more than may be worked on at a time
            one = begin(it, declared=declared, body=b"{", kind=FORM)
            stack.enter_context(one)
        wait_until(lambda: len(it.server.server_state.tasks) == 300)
        found = httpx.post(f"{it.url}/v1/search", json={"text": "beach"})
        assert found.status_code == 200


def test_too_much_uploaded_at_a_time_is_refused(own_index):
    limits = ServiceLimits(body_bytes=3000, held_bytes=4000, body_seconds=600.0)
    with (
        running(own_index, tokens=TOKENS, limits=limits) as it,
        ExitStack() as stack,
    ):
        held = it.server.config.app._held

        def search(token):
            sent = {"authorization": f"Bearer {token}"}
            return httpx.post(
                f"{it.url}/v1/search", content=b" " * 1000, headers=sent
            ).status_code

        first = begin(it, declared=3000, body=b" " * 2500, token=READ)
        stack.enter_context(first)
        wait_until(lambda: held._held.total == 2500)
        # one client has its share, another has room
        assert (search(READ), search(WRITE)) == (503, 415)
        second = begin(it, declared=3000, body=b" " * 2600, token=WRITE)
        stack.enter_context(second)
        wait_until(lambda: held._held.total == 5100)
        assert search(None) == 401
        first.close()
        wait_until(lambda: held._held.total == 2600)
        assert search(READ) == 415
        second.close()
        wait_until(lambda: held._held.total == 0)
        assert not held._held._held


def test_only_forms_may_be_as_long_as_pictures(served):
    url = f"{served.url}/v1/search"
    body = b" " * (MAX_JSON_BYTES + 1)
    for kind, status in (("application/json", 413), (FORM, 415)):
        found = httpx.post(url, content=body, headers={"content-type": kind})
        assert found.status_code == status


@pytest.mark.parametrize("length", [16_000, 17_000, 60_000])
@pytest.mark.parametrize("place", ["header", "address"])
def test_a_long_head_is_refused_even_if_it_arrives_at_once(served, place, length):
    query, headers = "", {}
    if place == "header":
        headers = {"x": "x" * length}
    else:
        query = "?" + "x" * length
    reply = httpx.get(f"{served.url}/health{query}", headers=headers)
    if length < 2**14:
        assert reply.status_code == 200
    else:
        assert reply.status_code == 431
        assert reply.json()["error"]["code"] == "long_head"
        assert reply.headers["connection"] == "close"
        assert reply.headers["x-content-type-options"] == "nosniff"


def test_the_longest_batch_fits(client):
    texts = ["beach " + "\U0001f388" * 1994] * 256
    assert len(json.dumps({"texts": texts})) > MAX_JSON_BYTES
    assert len(json.dumps({"texts": texts}, ensure_ascii=False).encode()) < 2**22
    assert len(client.by_texts(texts, k=1)) == 256


def test_a_page_elsewhere_cannot_reach_a_service_without_tokens(served):
    for host, status in (
        ("evil.example", 421),
        ("evil.example:80", 421),
        ("127.0.0.1.evil.example", 421),
        ("", 421),
        ("localhost", 200),
        ("LOCALHOST:1", 200),
        ("127.0.0.1", 200),
        ("[::1]:8000", 200),
    ):
        reply = httpx.get(f"{served.url}/health", headers={"host": host})
        assert reply.status_code == status, host


def test_nobody_elsewhere_may_read_replies(served):
    reply = httpx.get(f"{served.url}/v1/index", headers={"origin": "http://evil"})
    assert not [name for name in reply.headers if "access-control" in name]
    assert reply.headers["cross-origin-resource-policy"] == "same-origin"


def test_loopback_is_distinguished_from_the_rest():
    assert all(
        map(is_loopback, ("127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost"))
    )
    others = ("0.0.0.0", "::", "10.0.0.1", "example.com", "localhost.evil", "")
    assert not any(map(is_loopback, others))


def test_a_port_that_is_taken_is_reported():
    with (
        listen("127.0.0.1", 0) as taken,
        pytest.raises(
            SettingError, match=r"in use\. Choose another with --host and --port"
        ),
    ):
        listen("127.0.0.1", taken.getsockname()[1])
    with pytest.raises(SettingError, match="cannot listen on nowhere"):
        listen("nowhere.invalid", 0)


def test_logs_hold_no_query(scenes, caplog):
    caplog.set_level(logging.DEBUG)
    secret = "beach confidentialword"
    with running(scenes.index) as it, it.client() as client:
        client.by_text(secret)
        with pytest.raises(ServiceError):
            client.by_text("confidentialword alone")
        with pytest.raises(ServiceError):
            client.item("confidentialword")
        with pytest.raises(ServiceError):
            client.by_text(secret, where=["confidentialword=1"])
        it.service.searcher.search = None  # a bug
        with pytest.raises(
            ServiceError, match="failed to handle this request"
        ) as caught:
            client.by_text(secret)
        assert caught.value.status == 500
    ours = [record for record in caplog.records if not record.name.startswith("http")]
    text = "\n".join(record.getMessage() for record in ours)
    assert "POST /v1/search 200" in text
    assert "TypeError at" in text
    assert "confidentialword" not in text


def test_logs_hold_queries_on_request(scenes, caplog):
    caplog.set_level(logging.INFO)
    with running(scenes.index, log_queries=True) as it, it.client() as client:
        client.by_text("beach")
    assert "searched by text: ['beach']" in caplog.text


def test_before_the_model_is_loaded_searches_are_put_off(scenes):
    from fdch import Index
    from fdch.service.service import Service
    from fdch.service.serving import make_server

    service = Service(Index.open(scenes.index))
    go = threading.Event()
    service.searcher.warm = lambda: go.wait(60)  # type: ignore[assignment, method-assign]
    with listen("127.0.0.1", 0) as listener:
        server = make_server(service)
        run = {"sockets": [listener]}
        thread = threading.Thread(target=server.run, kwargs=run, daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        wait_until(lambda: server.started)
        assert httpx.get(f"{url}/health").status_code == 200
        assert httpx.get(f"{url}/ready").status_code == 503
        refused = httpx.post(f"{url}/v1/search", json={"text": "beach"})
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
        go.set()
        wait_until(lambda: httpx.get(f"{url}/ready").status_code == 200)
        server.should_exit = True
        thread.join(60)


def test_requests_that_are_running_finish_before_a_stop(scenes):
    with (
        ExitStack() as stack,
        running(scenes.index) as it,
        ThreadPoolExecutor() as pool,
    ):
        go = slow(it.service)
        client = stack.enter_context(it.client())
        waiting = pool.submit(client.by_text, "beach", k=2)
        wait_until(lambda: it.service.metrics.active._value.get() == 1)
        it.server.should_exit = True
        time.sleep(0.3)
        assert not waiting.done()
        go.set()
        assert len(waiting.result(60)) == 2
        it.stop()
        with pytest.raises(ServiceError, match="no answer"):
            client.by_text("beach")


def test_what_is_loaded_is_not_looked_through_for_garbage(scenes, collects_garbage):
    with running(scenes.index):
        assert gc.get_freeze_count() > 100_000
    assert gc.get_freeze_count() == 0
