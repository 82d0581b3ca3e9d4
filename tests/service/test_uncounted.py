"""An index too large to be counted by value is served all the same."""

import httpx
import pytest
from tests.service.running import running

from fdch.index.storage.folder import CodeFolder
from fdch.index.store import ColumnFacts, ColumnType, Contents

TYPES: list[tuple[str, ColumnType]] = [("scene", "text"), ("objects", "number")]


@pytest.fixture(scope="module")
def uncounted(scenes, shared_cache):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FDCH_CACHE", str(shared_cache))
        columns = {name: ColumnFacts(type, {}) for name, type in TYPES}
        contents = Contents(uncounted="there are too many.", columns=columns)
        patch.setattr(CodeFolder, "contents", lambda *_: contents)
        with running(scenes.index) as it:
            yield it


def test_the_reason_is_reported(uncounted):
    with uncounted.client() as client:
        reply = client.index().reply
        assert reply["uncounted"] == "there are too many."
        assert reply["labels"] is reply["label_count"] is reply["kinds"] is None
        assert [(each["name"], each["type"]) for each in reply["columns"]] == TYPES
        assert not any(each["values"] for each in reply["columns"])
        assert client.by_text("beach", where=["label=beach"]).ids


def test_the_document_has_examples_still(uncounted):
    document = httpx.get(f"{uncounted.url}/openapi.json").json()
    body = document["paths"]["/v1/search"]["post"]["requestBody"]["content"]
    assert "words" in body["application/json"]["examples"]
    assert "filtered" not in body["application/json"]["examples"]


def test_the_page_says_so(uncounted, come):
    page = come("/?q=beach", url=uncounted.url).page
    why = "Labels and values are not listed here: there are too many."
    page.get_by_text(why).wait_for()
    page.get_by_label("Sort").select_option("-objects")
    page.get_by_text("The first 24 of 240 items").wait_for()
    page.goto(f"{uncounted.url}/?view=index")
    page.get_by_text("for all codes").wait_for()
    assert page.locator(".tile", has_text="label").count() == 0
