"""The page's order of results, counts under filters, and notes of the service."""

import pytest

pytest.importorskip("playwright", reason="playwright is not installed")
pytest.importorskip("axe_playwright_python", reason="axe is not installed")

from playwright.sync_api import expect


def test_results_are_sorted_by_a_column(come, client):
    page = come("/?q=boat")
    nearest = page.ids()
    sort = page.page.get_by_label("Sort")
    sort.select_option(label="Objects, highest first")
    expect(page.page.locator("#summary")).to_contain_text("The first 24")
    assert page.asked() == {"q": ["boat"], "sort": ["-objects"]}
    hits = client.by_text("boat", k=24, sort="-objects")
    assert page.ids() == hits.ids != nearest
    other = come(page.page.url.removeprefix(page.url))
    assert other.ids() == hits.ids
    expect(other.page.get_by_label("Sort")).to_have_value("-objects")
    page.page.go_back()
    expect(sort).to_have_value("")
    expect(page.page.locator("#summary")).to_contain_text("The 24 nearest")
    assert page.ids() == nearest


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


def test_notes_of_the_service_are_shown(come):
    page = come("/?q=boat&where=scene%3Dbeech")
    expect(page.page.locator(".note")).to_contain_text("beech")
    expect(page.state).to_contain_text("Nothing has all of these filters")
