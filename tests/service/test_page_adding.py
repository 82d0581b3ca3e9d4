"""Items added on the page, and what cards and the index view show of items."""

import pytest

pytest.importorskip("playwright", reason="playwright is not installed")
pytest.importorskip("axe_playwright_python", reason="axe is not installed")

from playwright.sync_api import expect
from tests.service.running import READ, WRITE

LINK = "https://shop.example/boat"


def give_token(page, token):
    page.page.get_by_label("Token", exact=True).fill(token)
    page.page.get_by_role("button", name="Use it").click()


@pytest.fixture
def form(come, writable):
    """The form on the page of a service that can be written to."""
    page = come("/?view=index", url=writable.url)
    give_token(page, READ)
    page.page.get_by_text("Add an item").click()
    return page.page.locator(".add")


def test_an_item_is_added_with_a_write_token(form, scenes, writer):
    picture = scenes.pictures / "scene3.png"
    form.get_by_label("Picture").set_input_files(picture)
    expect(form.get_by_label("Id")).to_have_value("scene3")
    form.get_by_label("Id").fill("new boat")
    form.get_by_label("Text").fill("a new boat")
    form.get_by_label("Labels").fill("boat, new")
    form.get_by_label("Objects").fill("2")
    form.get_by_role("button", name="Add it").click()
    said = form.get_by_role("status")
    expect(said).to_contain_text("This needs a write token")
    form.get_by_label("Write token").fill(WRITE)
    form.get_by_role("button", name="Add it").click()
    expect(said).to_contain_text("Added. The index has 241 items.")
    item = writer.item("new boat")
    assert (item.text, set(item.labels)) == ("a new boat", {"boat", "new"})
    assert dict(item.columns) == {"objects": 2}
    assert item.image
    form.get_by_role("link", name="Find items like it").click()
    expect(form.page.locator("#heading")).to_have_text("More like this")


def test_an_item_is_replaced_only_when_that_is_meant(form, writer):
    before = writer.item("scene3")
    form.get_by_label("Id").fill("scene3")
    form.get_by_label("Text").fill("another text")
    form.get_by_label("Write token").fill(WRITE)
    form.get_by_role("button", name="Add it").click()
    said = form.get_by_role("status")
    expect(said).to_contain_text("“scene3” already exists")
    assert writer.item("scene3") == before
    form.get_by_role("button", name="Replace it").click()
    expect(said).to_contain_text("Replaced. The index has 240 items.")
    assert writer.item("scene3").text == "another text"


def test_a_broken_picture_is_reported(form):
    content = {"name": "x.png", "mimeType": "image/png", "buffer": b"no picture"}
    form.get_by_label("Picture").set_input_files([content])
    form.get_by_label("Write token").fill(WRITE)
    form.get_by_role("button", name="Add it").click()
    expect(form.get_by_role("status")).to_contain_text("This picture cannot be read")


def test_readers_without_write_access_have_no_form(come):
    page = come("/?view=index")
    expect(page.page.locator("figure .groups")).to_be_visible()
    expect(page.page.locator(".add")).to_have_count(0)


def test_cards_show_the_columns_that_were_chosen(come, writable, writer):
    writer.put("linked", text="a boat on the lake", columns={"page": LINK})
    page = come("/?q=boat+lake&k=100", url=writable.url)
    give_token(page, READ)
    page.ids()
    page.page.get_by_text("Columns").click()
    for name in ("Scene", "Page"):
        page.page.get_by_role("checkbox", name=name).check()
    expect(page.cards.locator(".cells", has_text="Scene").first).to_be_visible()
    link = page.page.get_by_role("link", name="shop.example/boat")
    assert link.get_attribute("href") == LINK
    assert page.barriers() == []
    page.page.reload()
    expect(link).to_have_attribute("rel", "noreferrer noopener")
    page.page.get_by_text("Columns").click()
    page.page.get_by_role("checkbox", name="Scene").uncheck()
    expect(page.cards.locator(".cells", has_text="Scene")).to_have_count(0)


def test_an_item_is_liked_in_its_dialog(come):
    page = come("/?q=boat")
    first, second, *_ = page.ids()
    page.cards.first.locator("a.open").click()
    dialog = page.page.get_by_role("dialog")
    dialog.locator(".mark-it.is-like").click()
    page.page.keyboard.press("ArrowRight")
    expect(dialog).to_contain_text("2 of 24")
    dialog.locator(".mark-it.is-unlike").focus()
    page.page.keyboard.press("Enter")
    page.page.keyboard.press("Escape")
    liked = page.cards.first.locator(".mark-it.is-like")
    expect(liked).to_have_attribute("aria-pressed", "true")
    page.page.get_by_role("button", name="Refine the search").click()
    expect(page.page.locator("#marks .chip")).to_have_count(2)
    assert page.query() == {"q": ["boat"], "like": [first], "unlike": [second]}


def test_points_are_coloured_by_label_with_a_legend_and_names(come, scenes):
    page = come("/?view=index")
    legend = page.page.get_by_role("list", name="Colours")
    label = legend.get_by_role("button").nth(1)
    label.focus()
    dots = page.page.locator(".dot.is-marked")
    count = dots.count()
    assert 0 < count < 240
    label.press("Enter")
    page.page.get_by_role("link", name="API").focus()
    expect(label).to_have_attribute("aria-pressed", "true")
    assert dots.count() == count
    colours = "dots => new Set(dots.map((each) => getComputedStyle(each).fill)).size"
    assert page.page.locator(".dot.is-marked").evaluate_all(colours) == 1
    assert page.page.locator(".dot").evaluate_all(colours) > 3
    names = page.page.locator(".dot title").all_text_contents()
    texts = [str(text) for text in scenes.pairs.texts.values]
    begins = {text if len(text) <= 80 else f"{text[:79]}…" for text in texts}
    assert len(names) == 240 and set(names) <= begins
    assert page.barriers() == []


def test_nothing_is_dropped_or_pasted_on_a_phone(come):
    size = {"width": 390, "height": 844}
    page = come("/", viewport=size, has_touch=True, is_mobile=True)
    expect(page.page.locator(".dropzone")).to_contain_text("Take a photo")
    expect(page.page.locator(".dropzone")).not_to_contain_text("Drop")
    expect(page.page.locator(".keys")).to_be_hidden()
    assert page.overflow() <= 0
