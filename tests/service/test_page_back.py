"""The page and the browser's history: nothing that someone did is lost."""

import re

import pytest

pytest.importorskip("playwright", reason="playwright is not installed")
pytest.importorskip("axe_playwright_python", reason="axe is not installed")

from playwright.sync_api import expect

HEBREW = "\N{HEBREW LETTER SHIN}\N{HEBREW LETTER LAMED}\N{HEBREW LETTER VAV}"


def scroll(page, top):
    """Scroll, and wait until the place is kept."""
    page.page.evaluate("(top) => window.scrollTo(0, top)", top)
    page.page.wait_for_function("(top) => history.state?.top === top", arg=top)


def expect_top(page, top):
    page.page.wait_for_function("(top) => Math.abs(scrollY - top) < 3", arg=top)


def test_going_back_comes_to_the_same_place(come):
    page = come("/?q=boat&k=96")
    assert len(page.ids()) == 96
    scroll(page, 1500)
    page.cards.nth(18).get_by_role("button", name="More like this").click()
    expect(page.heading).to_have_text("More like this")
    expect_top(page, 0)
    scroll(page, 300)
    page.page.go_back()
    expect(page.heading).to_have_text("“boat”")
    expect_top(page, 1500)
    page.page.go_forward()
    expect(page.heading).to_have_text("More like this")
    expect_top(page, 300)
    page.page.go_back()
    expect_top(page, 1500)
    page.page.reload()
    page.ids()
    expect_top(page, 1500)


def test_an_item_opens_and_closes_where_one_is(come):
    page = come("/?q=boat&k=96")
    page.ids()
    scroll(page, 1500)
    page.page.locator("#grid a.open").nth(18).click()
    expect(page.page.get_by_role("dialog")).to_be_visible()
    page.page.keyboard.press("Escape")
    expect(page.page.get_by_role("dialog")).to_be_hidden()
    expect_top(page, 1500)
    page.page.go_forward()
    expect(page.page.get_by_role("dialog")).to_be_visible()
    expect_top(page, 1500)


@pytest.mark.parametrize("steps", [0, 2])
def test_a_closed_item_is_not_opened_again_by_going_back(come, steps):
    page = come().search("boat")
    page.ids()
    page.page.locator("#grid a.open").first.click()
    dialog = page.page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    page.page.reload()
    expect(dialog).to_contain_text("1 of 24")
    for _ in range(steps):
        page.page.keyboard.press("ArrowRight")
    expect(dialog).to_contain_text(f"{1 + steps} of 24")
    page.page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    assert page.query() == {"q": ["boat"]}
    page.page.go_back()
    expect(page.page.locator("#start-view")).to_be_visible()
    expect(dialog).to_be_hidden()


def test_words_that_were_typed_and_not_sent_are_used(come):
    page = come("/?q=boat")
    page.ids()
    field = page.page.get_by_label("Search with words")
    field.fill("tree")
    page.page.get_by_role("button", name="beach, ").first.click()
    expect(page.heading).to_have_text("“tree”")
    assert page.query() == {"q": ["tree"], "where": ["label=beach"]}
    page.ids()
    field.fill("a house")
    page.page.locator("#grid a.open").first.click()
    expect(page.page.get_by_role("dialog")).to_be_visible()
    page.page.keyboard.press("Escape")
    expect(page.page.get_by_role("dialog")).to_be_hidden()
    expect(field).to_have_value("a house")
    page.page.locator("#least").fill("10")
    expect(page.page).to_have_url(re.compile("q=a\\+house.*min=0.1"))


def test_a_phone_shows_labels(come):
    page = come("/?q=boat", viewport={"width": 360, "height": 740}, has_touch=True)
    label = page.cards.first.locator(".labels .tag").first
    expect(label).to_be_visible()
    name = label.inner_text()
    label.tap()
    expect(page.page.locator("#active")).to_contain_text(name)
    assert page.overflow() <= 0


def test_words_are_written_from_the_side_they_are_read_from(come):
    page = come(f"/?q={HEBREW}")
    direction = "(element) => getComputedStyle(element).direction"
    assert page.page.get_by_label("Search with words").evaluate(direction) == "rtl"
    expect(page.heading).to_contain_text(HEBREW)
    assert page.heading.evaluate(direction) == "rtl"
    page.search("boat")
    page.ids()
    assert page.page.get_by_label("Search with words").evaluate(direction) == "ltr"


@pytest.mark.parametrize("width", [360, 1280])
def test_the_page_of_the_api_can_be_read_by_anyone(come, width):
    page = come("/docs", viewport={"width": width, "height": 740})
    expect(page.page.locator("pre").first).to_be_visible()
    assert page.barriers() == []
    assert "`" not in page.page.locator("main > p").first.inner_text()
    token = page.page.locator("main > p code").first
    expect(token).to_have_text("Authorization: Bearer TOKEN")
