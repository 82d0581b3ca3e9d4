"""An index that is removed or replaced under a service is noticed."""

import shutil

import httpx
import pytest
from tests.service.running import running, wait_until

from fdch.index.storage.layout import CATALOGUE
from fdch.service import service
from fdch.service.place import Place


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
    place = Place(own_index)
    assert place.is_same()
    path = own_index / part
    aside = path.with_name("aside")
    path.rename(aside)
    assert not place.is_same()
    (shutil.copytree if aside.is_dir() else shutil.copy)(aside, path)
    assert not place.is_same()
