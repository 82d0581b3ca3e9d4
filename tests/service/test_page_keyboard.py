"""The page by keyboard alone."""

import pytest

pytest.importorskip("playwright", reason="playwright is not installed")
pytest.importorskip("axe_playwright_python", reason="axe is not installed")

from playwright.sync_api import expect
from tests.service.running import READ, WRITE


def test_the_keyboard_is_enough(come):
    page = come("/?view=index")
    press = page.page.keyboard.press
    expect(page.page.locator("figure")).to_have_count(3)
    press("/")
    page.page.keyboard.type("boat")
    press("Enter")
    ids = page.ids()
    press("ArrowDown")
    assert page.focused() == ids[0]
    press("ArrowRight")
    press("ArrowRight")
    press("ArrowLeft")
    assert page.focused() == ids[1]
    press("ArrowDown")
    below = page.focused()
    assert below in ids[2:]
    press("ArrowUp")
    ring = "getComputedStyle(document.activeElement.closest('.card')).outlineWidth"
    assert page.page.evaluate(ring) == "3px"
    press("Enter")
    dialog = page.page.get_by_role("dialog")
    expect(dialog).to_contain_text("2 of 24")
    press("ArrowRight")
    expect(dialog).to_contain_text("3 of 24")
    assert page.query()["item"] == [ids[2]]
    press("Escape")
    expect(dialog).to_be_hidden()
    expect(page.cards.nth(2).locator("a.open")).to_be_focused()
    assert page.query() == {"q": ["boat"]}
    press("Escape")
    expect(page.page.get_by_label("Search with words")).to_be_focused()
    press("Escape")
    press("Escape")
    expect(page.page.locator("#start-view")).to_be_visible()


def test_columns_and_the_order_are_chosen_by_keyboard(come, client):
    page = come("/?q=boat")
    nearest = page.ids()
    press = page.page.keyboard.press
    menu = page.page.locator("#show-columns")
    page.heading.focus()
    press("Tab")
    press("Enter")
    press("Tab")
    press("Space")
    expect(menu.get_by_role("checkbox").first).to_be_checked()
    expect(page.cards.first.locator(".cells")).to_be_visible()
    press("Escape")
    expect(menu).not_to_have_attribute("open", "")
    expect(menu.locator("summary")).to_be_focused()
    press("Tab")
    expect(page.page.get_by_label("Group near-duplicates")).to_be_focused()
    press("Tab")
    press("ArrowDown")
    expect(page.page.locator("#summary")).to_contain_text("The first 24")
    [sort] = page.query()["sort"]
    assert page.ids() == client.by_text("boat", k=24, sort=sort).ids != nearest
    expect(page.page.get_by_label("Sort")).to_be_focused()


def test_a_click_elsewhere_closes_the_columns(come):
    page = come("/?q=boat")
    page.ids()
    page.page.get_by_text("Columns", exact=True).click()
    box = page.page.get_by_role("checkbox", name="Scene")
    box.check()
    expect(box).to_be_visible()
    page.heading.click()
    expect(box).to_be_hidden()


def test_an_item_is_added_by_keyboard(come, writable, writer):
    page = come("/?view=index", url=writable.url)
    press, write = page.page.keyboard.press, page.page.keyboard.type
    page.page.get_by_label("Token", exact=True).focus()
    write(READ)
    press("Enter")
    page.page.locator(".add summary").focus()
    press("Enter")
    press("Tab")  # a picture is chosen in a window of the system
    for text in ("a new boat", "boat, new", "new boat", "", "", WRITE):
        press("Tab")
        write(text)
    press("Enter")
    said = page.page.locator(".adding").get_by_role("status")
    expect(said).to_contain_text("Added. The index has 241 items.")
    item = writer.item("new boat")
    assert (item.text, set(item.labels)) == ("a new boat", {"boat", "new"})
    press("Tab")
    press("Tab")
    press("Enter")
    expect(page.heading).to_have_text("More like this")
