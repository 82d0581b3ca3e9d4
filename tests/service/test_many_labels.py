"""More labels and values than are listed: their true numbers are reported."""

import pytest
from tests.service.running import running

LISTED = 9


@pytest.fixture
def few_listed(scenes, monkeypatch):
    monkeypatch.setattr("fdch.service.index.contents._MAX_LABELS", LISTED)
    monkeypatch.setattr("fdch.service.index.contents._MAX_VALUES", 2)
    with running(scenes.index) as it:
        yield it


def test_labels_and_values_are_counted_beyond_those_listed(few_listed, scenes):
    with few_listed.client() as client:
        reply = client.index().reply
    assert len(reply["labels"]) == LISTED < reply["label_count"]
    assert reply["label_count"] == len(scenes.pairs.label_names)
    for column in reply["columns"]:
        values = set(scenes.pairs.columns[column["name"]])
        assert len(column["values"]) == 2 < column["value_count"] == len(values)


def test_the_page_shows_how_many_there_are(few_listed, scenes, come):
    pytest.importorskip("playwright", reason="playwright is not installed")
    from playwright.sync_api import expect

    count = len(scenes.pairs.label_names)
    page = come("/?q=boat", url=few_listed.url).page
    fold = page.locator("[data-fold=label]")
    expect(fold).to_have_text(f"Show the {LISTED} most frequent of {count}")
    page = come("/?view=index", url=few_listed.url).page
    expect(page.locator(".tile", has_text="labels")).to_have_text(f"{count}labels")
