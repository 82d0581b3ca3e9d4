"""An index that is removed or replaced under a service is noticed."""

import shutil
import time
from collections import Counter
from threading import Thread

import httpx
import pytest
from tests.service.running import READ, TOKENS, WRITE, running, wait_until

from fdch.errors import IndexBusy
from fdch.index.storage.files.layout import CATALOGUE
from fdch.index.storage.files.locking import WriterLock
from fdch.index.storage.folder import CodeFolder
from fdch.service import service
from fdch.service.http.limits import ServiceLimits
from fdch.service.http.tokens import Right, Tokens
from fdch.service.index import current
from fdch.service.index.current import identify


def test_a_service_without_its_index_is_not_ready(own_index, monkeypatch, caplog):
    monkeypatch.setattr(service, "WATCH_SECONDS", 0.05)
    monkeypatch.setattr(current, "WAIT_SECONDS", 0.05)
    aside = own_index.with_name("aside")
    with running(own_index) as it:
        own_index.rename(aside)
        wait_until(lambda: httpx.get(f"{it.url}/ready").status_code == 503)
        assert "removed or replaced" in httpx.get(f"{it.url}/ready").text
        refused = httpx.post(f"{it.url}/v1/search", json={"text": "beach"})
        assert refused.status_code == 503
        assert "removed or replaced" in caplog.text
        assert httpx.get(f"{it.url}/health").status_code == 200
        aside.rename(own_index)
        wait_until(lambda: httpx.get(f"{it.url}/ready").status_code == 200)
        assert httpx.post(f"{it.url}/v1/search", json={"text": "beach"}).is_success
    levels = {each.getMessage(): each.levelname for each in caplog.records}
    assert levels["the index is back"] == "WARNING"


@pytest.mark.parametrize("part", ["", CATALOGUE])
def test_another_in_the_same_place_is_not_the_same(own_index, part):
    before = identify(own_index)
    assert identify(own_index) == before
    path = own_index / part
    aside = path.with_name("aside")
    path.rename(aside)
    assert identify(own_index) != before
    (shutil.copytree if aside.is_dir() else shutil.copy)(aside, path)
    assert identify(own_index) != before


@pytest.fixture
def second(own_index):
    """A second index, with an item less."""
    other = shutil.copytree(own_index, own_index.with_name("second"))
    with CodeFolder.open(other, writable=True) as folder:
        folder.remove([next(folder.batches(1)).items[0].id])
    return other


@pytest.fixture
def link(own_index, second):
    """A link to an index, beside the second one."""
    link = own_index.with_name("link")
    link.symlink_to(own_index)
    return link


def lead_to(link, target):
    """Let a link lead elsewhere in one step."""
    new = link.with_name("new link")
    new.symlink_to(target)
    new.replace(link)


TOKEN = "a-token-to-write-with"
HEADERS = {"authorization": f"Bearer {TOKEN}"}


def count(it):
    return httpx.get(f"{it.url}/v1/index", headers=HEADERS).json()["items"]


@pytest.mark.parametrize("writable", [False, True])
def test_a_link_that_leads_to_another_index_is_followed(link, monkeypatch, writable):
    monkeypatch.setattr(service, "WATCH_SECONDS", 0.05)
    tokens = Tokens({TOKEN: Right.WRITE}) if writable else None
    with running(link, tokens=tokens) as it:
        before = count(it)
        lead_to(link, link.with_name("second"))
        statuses = set()

        def is_switched():
            url, body = f"{it.url}/v1/search", {"text": "beach"}
            answer = httpx.post(url, json=body, headers=HEADERS)
            statuses.add(answer.status_code)
            return count(it) == before - 1

        wait_until(is_switched)
        assert statuses == {200}


def test_a_link_to_nothing_is_not_followed(link, monkeypatch, caplog):
    monkeypatch.setattr(service, "WATCH_SECONDS", 0.05)
    with running(link) as it:
        before = count(it)
        lead_to(link, link.with_name("nothing"))
        wait_until(lambda: "no index can be served" in caplog.text)
        assert count(it) == before


class Searching:
    """Clients that search, look at items and at the index, again and again."""

    def __init__(self, it, item):
        self.it, self.item = it, f"/v1/items/{item}"
        self.statuses: Counter[int] = Counter()
        self.is_over = False

    def __enter__(self):
        routes = [("POST", "/v1/search"), ("GET", self.item), ("GET", "/v1/index")]
        self.threads = [Thread(target=self.call, args=each) for each in routes]
        for each in self.threads:
            each.start()
        wait_until(lambda: self.statuses.total() > 20)
        return self

    def __exit__(self, *problem):
        self.is_over = True
        for each in self.threads:
            each.join()

    def call(self, method, path):
        body = {"text": "beach"} if method == "POST" else None
        with httpx.Client(base_url=self.it.url, headers=HEADERS, timeout=60) as client:
            while not self.is_over:
                reply = client.request(method, path, json=body)
                self.statuses[reply.status_code] += 1


@pytest.mark.parametrize("writable", [False, True])
@pytest.mark.parametrize("seconds_without", [0.0, 0.5])
def test_no_request_fails_while_an_index_is_replaced(
    own_index, second, scenes, monkeypatch, writable, seconds_without
):
    monkeypatch.setattr(service, "WATCH_SECONDS", 0.2)
    monkeypatch.setattr(current, "WAIT_SECONDS", 60.0)
    tokens = Tokens({TOKEN: Right.WRITE}) if writable else None
    with CodeFolder.open(second) as folder:
        known = next(folder.batches(1)).items[0].id
    with running(own_index, tokens=tokens) as it:
        before = count(it)
        with Searching(it, known) as searching:
            own_index.rename(own_index.with_name("aside"))
            time.sleep(seconds_without)
            second.rename(own_index)
            wait_until(lambda: count(it) == before - 1)
        assert set(searching.statuses) == {200}
        if writable:
            url, item = f"{it.url}/v1/items/new", {"text": "a beach"}
            assert httpx.put(url, json=item, headers=HEADERS).status_code == 201
    if writable:
        with CodeFolder.open(own_index) as folder:
            assert len(folder) == before


def test_a_broken_index_in_its_place_is_not_served(own_index, monkeypatch, caplog):
    monkeypatch.setattr(service, "WATCH_SECONDS", 0.05)
    monkeypatch.setattr(current, "WAIT_SECONDS", 0.05)
    with running(own_index) as it:
        own_index.rename(own_index.with_name("aside"))
        own_index.mkdir()
        wait_until(lambda: httpx.get(f"{it.url}/ready").status_code == 503)
        said = [each for each in caplog.messages if "no index can be served" in each]
        # the folder may have been missed before there was another
        assert 1 <= len(said) == len(set(said)) <= 2
        own_index.rmdir()
        own_index.with_name("aside").rename(own_index)
        wait_until(lambda: httpx.get(f"{it.url}/ready").status_code == 200)


def test_a_writer_reloads_at_once(own_index, second, monkeypatch):
    monkeypatch.setattr(service, "WATCH_SECONDS", 600.0)
    with running(own_index, tokens=TOKENS) as it:

        def reload(token):
            headers = {"authorization": f"Bearer {token}"}
            return httpx.post(f"{it.url}/v1/reload", headers=headers)

        assert reload(READ).status_code == 403
        assert reload(WRITE).json() == {"switched": False}
        own_index.rename(own_index.with_name("aside"))
        refused = reload(WRITE)
        assert (refused.status_code, refused.json()["error"]["code"]) == (
            409,
            "not_switched",
        )
        second.rename(own_index)
        assert reload(WRITE).json() == {"switched": True}


def test_the_index_before_is_closed_when_no_request_can_use_it(own_index, second):
    limits = ServiceLimits(seconds=1.0)
    with running(own_index, tokens=TOKENS, limits=limits) as it:
        it.service.limits = ServiceLimits()  # a reload may take longer
        before = it.service.index
        aside = own_index.rename(own_index.with_name("aside"))
        second.rename(own_index)
        headers = {"authorization": f"Bearer {WRITE}"}
        httpx.post(f"{it.url}/v1/reload", headers=headers).raise_for_status()
        assert it.service.index is not before
        wait_until(lambda: can_be_locked(aside))


def can_be_locked(folder):
    try:
        WriterLock(folder).release()
    except IndexBusy:
        return False
    return True
