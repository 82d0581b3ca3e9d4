"""An index that is removed or replaced under a service is noticed."""

import shutil

import httpx
import pytest
from tests.service.running import running, wait_until

from fdch.index.storage.folder import CodeFolder
from fdch.index.storage.layout import CATALOGUE
from fdch.service import service
from fdch.service.http.tokens import Right, Tokens
from fdch.service.place import identify


def test_a_service_without_its_index_is_not_ready(own_index, monkeypatch, caplog):
    monkeypatch.setattr(service, "WATCH_SECONDS", 0.05)
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
def link(own_index):
    """A link to an index, and a second one with an item less."""
    other = shutil.copytree(own_index, own_index.with_name("second"))
    with CodeFolder.open(other, writable=True) as folder:
        folder.remove([folder.sample(1)[0][0]])
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
        wait_until(lambda: "no index that can be served" in caplog.text)
        assert count(it) == before
