"""The page's order of results, counts under filters, and notes of the service."""

import pytest

pytest.importorskip("playwright", reason="playwright is not installed")
pytest.importorskip("axe_playwright_python", reason="axe is not installed")

from playwright.sync_api import expect
from tests.service.running import TOKENS, WRITE, running


def test_results_are_sorted_by_a_column(come, client):
    page = come("/?q=boat")
    nearest = page.ids()
    sort = page.page.get_by_label("Sort")
    sort.select_option(label="Objects, highest first")
    expect(page.page.locator("#summary")).to_contain_text("The first 24")
    assert page.query() == {"q": ["boat"], "sort": ["-objects"]}
    hits = client.by_text("boat", k=24, sort="-objects")
    assert page.ids() == hits.ids != nearest
    other = come(page.page.url.removeprefix(page.url))
    assert other.ids() == hits.ids
    expect(other.page.get_by_label("Sort")).to_have_value("-objects")
    page.page.go_back()
    expect(sort).to_have_value("")
    expect(page.page.locator("#summary")).to_contain_text("The 24 nearest")
    assert page.ids() == nearest


def test_the_page_says_that_only_the_nearest_are_sorted(come, monkeypatch):
    monkeypatch.setattr("fdch.retrieval.params.MIN_SORTED", 50)
    page = come("/?q=boat&sort=objects")
    assert page.ids()
    note = page.page.locator(".note")
    expect(note).to_contain_text("Only the 50 nearest of 240 items are sorted by 'obj")


def test_counts_follow_the_other_filters(come, client):
    page = come("/?q=boat")
    page.ids()
    side = page.page.get_by_role("complementary", name="Filters")
    chip = side.locator(".chip[data-column=scene]").first
    name = chip.get_attribute("data-value")
    chip.click()
    facets = client.by_text("boat", where=[f"scene={name}"], facets=True).facets
    assert 0 < facets.items < 240
    summary = page.page.locator("#summary")
    expect(summary).to_contain_text(f"of {facets.items} items under the filters")
    counted = dict(facets.columns["label"])
    labels = side.locator(".chip[data-column=label]")
    assert labels.count() > 1
    for label in labels.all():
        value = label.get_attribute("data-value")
        expect(label.locator(".count")).to_have_text(str(counted.get(value, 0)))
    others = side.locator(".chip[data-column=scene][aria-pressed=false] .count")
    assert "0" not in others.all_inner_texts()


def test_counts_follow_the_words_of_the_query(come, client):
    page = come("/?q=boat")
    page.ids()
    side = page.page.get_by_role("complementary", name="Filters")
    box = side.get_by_label("Only texts with these words")
    box.check()
    found = client.by_text("boat", k=24, match="words", facets=True)
    assert 0 < found.facets.items < 240
    summary = page.page.locator("#summary")
    expect(summary).to_contain_text(f"of {found.facets.items} items with these words")
    assert page.query() == {"q": ["boat"], "match": ["words"]}
    assert page.ids() == found.ids
    expect(box).to_be_focused()
    counted = dict(found.facets.columns["label"])
    for chip in side.locator(".chip[data-column=label]").all():
        value = chip.get_attribute("data-value")
        expect(chip.locator(".count")).to_have_text(str(counted.get(value, 0)))
    box.uncheck()
    expect(summary).to_contain_text("The 24 nearest of 240 items ·")
    expect(side.locator(".is-none")).to_have_count(0)
    assert page.query() == {"q": ["boat"]}


def test_words_that_no_text_has_are_said_to_be_such(come, client):
    assert client.index().reply["has_words"]
    unmatched = come("/?q=boat&match=words&where=objects%3E99")
    expect(unmatched.state).to_contain_text("No text has these words")
    unmatched.page.get_by_role("button", name="Search by meaning, too").click()
    expect(unmatched.state).to_contain_text("Nothing has all of these filters")
    like = come("/?like=scene3&match=words")  # an item has no words
    like.ids()
    expect(like.page.get_by_label("Only texts with these words")).to_have_count(0)


@pytest.fixture
def copied(own_index):
    """A service whose index has three items with the same text."""
    with running(own_index, tokens=TOKENS) as it, it.client(WRITE) as client:
        for name in ("one", "two", "three"):
            client.put(name, text="a boat and a boat")
    with running(own_index) as it:
        yield it


def test_near_duplicates_are_grouped(come, copied):
    page = come("/?q=a+boat+and+a+boat", url=copied.url)
    assert page.ids()[:3] == ["one", "two", "three"]
    page.page.get_by_label("Group near-duplicates").check()
    similar = page.cards.first.get_by_role("button", name="2 similar to a boat and a")
    expect(similar).to_have_text("2 similar")
    with copied.client() as client:
        hits = client.by_text("a boat and a boat", k=24, group=1)
        near = client.by_id("one", k=24).ids
    assert hits[0].similar == ("two", "three")
    assert page.ids() == hits.ids
    assert page.query()["grouped"] == [""]
    other = come(page.page.url.removeprefix(page.url), url=copied.url)
    assert other.ids() == hits.ids
    expect(other.page.get_by_label("Group near-duplicates")).to_be_checked()
    similar.click()
    expect(page.heading).to_have_text("More like this")
    assert page.ids() == near
    assert {"two", "three"} < {*near}
    assert page.query() == {"like": ["one"]}


def test_notes_of_the_service_are_shown(come):
    page = come("/?q=boat&where=scene%3Dbeech")
    expect(page.page.locator(".note")).to_contain_text("beech")
    expect(page.state).to_contain_text("Nothing has all of these filters")
