"""Queries of several parts on the page: words, a picture, marked items."""

import pytest

pytest.importorskip("playwright", reason="playwright is not installed")
pytest.importorskip("axe_playwright_python", reason="axe is not installed")

from playwright.sync_api import expect

CALL = """async (text) => (await import("/static/address.js")).partsOf(
    { text, like: [], unlike: [] })"""


@pytest.fixture(scope="module")
def photo(scenes):
    return (scenes.pictures / "scene3.png").read_bytes()


def test_a_picture_and_words_are_searched_with_together(come, client, photo):
    page = come()
    page.bring("drop", photo)
    expect(page.heading).to_have_text("Like your picture")
    page.search("boat -beach")
    expect(page.heading).to_have_text("Your picture and “boat -beach”")
    hits = client.query(text="boat", image=photo, avoid=["beach"], k=24)
    assert page.ids() == hits.ids
    assert page.query() == {"q": ["boat -beach"], "picture": [""]}
    expect(page.page.locator("#least")).to_have_count(0)
    page.page.get_by_role("button", name="Remove the picture").click()
    expect(page.heading).to_have_text("“boat -beach”")
    assert page.ids() == client.query(text="boat", avoid=["beach"], k=24).ids
    page.page.go_back()
    expect(page.heading).to_have_text("Your picture and “boat -beach”")
    assert page.ids() == hits.ids


def test_words_of_a_link_can_be_searched_without_its_picture(come):
    page = come("/?q=boat&picture=")
    expect(page.state).to_contain_text("This search was made with a picture")
    page.state.get_by_role("button", name="Search with the words alone").click()
    assert page.ids()
    assert page.query() == {"q": ["boat"]}


@pytest.mark.parametrize(
    ("typed", "text", "avoid"),
    [
        ("portrait -glasses", "portrait", ["glasses"]),
        ('t-shirt -red "-blue"', 't-shirt "-blue"', ["red"]),
        ("a - b", "a - b", []),
    ],
)
def test_words_to_avoid_are_read_as_by_the_service(come, typed, text, avoid):
    parts = come().page.evaluate(CALL, typed)
    assert (parts["text"], parts["avoid"]) == (text, avoid)


def test_marked_items_refine_a_search(come, client):
    page = come("/?q=boat")
    ids = page.ids()
    marks = page.page.get_by_role("group", name="Liked and disliked")
    liked, other, unliked = (page.cards.nth(place) for place in (0, 1, 2))
    for card in (liked, other):
        card.get_by_role("button", name="Like: ", exact=False).first.click()
    unliked.get_by_role("button", name="Dislike: ").click()
    pressed = page.page.locator("#grid .mark-it[aria-pressed=true]")
    expect(pressed).to_have_count(3)
    expect(marks.locator(".chip")).to_have_count(3)
    assert page.query() == {"q": ["boat"]}
    marks.get_by_role("button", name="Remove the like of").nth(1).click()
    expect(pressed).to_have_count(2)
    marks.get_by_role("button", name="Refine the search").click()
    expect(page.cards.first).not_to_have_attribute("data-id", ids[0])
    like, unlike = [ids[0]], [ids[2]]
    assert page.query() == {"q": ["boat"], "like": like, "unlike": unlike}
    hits = client.query(text="boat", like=like, unlike=unlike, k=24)
    assert page.ids() == hits.ids
    assert page.barriers() == []
    shared = come(page.page.url.removeprefix(page.url))
    assert shared.ids() == hits.ids
    expect(shared.page.locator("#marks .chip")).to_have_count(2)
    marks.get_by_role("button", name="Remove the dislike of").click()
    expect(marks.locator(".chip")).to_have_count(1)
    assert page.ids() == client.query(text="boat", like=like, k=24).ids
    page.search("tree")
    expect(marks).to_be_hidden()


def test_an_item_and_another_are_searched_with(come, client):
    page = come("/?like=scene3&like=scene5")
    expect(page.heading).to_have_text("More like these")
    assert page.ids() == client.query(like=["scene3", "scene5"], k=24).ids


def test_more_results_are_the_next_page(come, client):
    page = come("/?q=tree")
    page.ids()
    with page.page.expect_request("**/v1/search") as sent:
        page.page.get_by_role("button", name="Show more").click()
    assert (sent.value.post_data_json["offset"], sent.value.post_data_json["k"]) == (
        24,
        24,
    )
    expect(page.cards).to_have_count(48)
    assert page.ids() == client.by_text("tree", k=48).ids
    page.page.reload()
    expect(page.cards).to_have_count(48)


def test_a_file_that_is_no_picture_leaves_all_as_it_is(come):
    page = come("/?q=boat&where=label%3Dboat")
    ids = page.ids()
    page.bring("drop", b"hello", "notes.txt", "text/plain")
    expect(page.state).to_contain_text("“notes.txt” is not a picture.")
    assert page.ids() == ids
    assert page.query() == {"q": ["boat"], "where": ["label=boat"]}


def test_a_broken_picture_can_be_removed_without_losing_the_words(come):
    page = come("/?q=boat&where=label%3Dboat")
    ids = page.ids()
    page.bring("drop", b"not at all", "broken.png", "image/png")
    expect(page.state).to_contain_text("This picture cannot be read")
    expect(page.page.get_by_label("Search with words")).to_have_value("boat")
    page.state.get_by_role("button", name="Remove the picture").click()
    assert page.ids() == ids
    assert page.query() == {"q": ["boat"], "where": ["label=boat"]}


@pytest.mark.parametrize("width", [320, 768, 1280])
def test_marks_and_the_order_fit_any_width(come, width):
    viewport = {"width": width, "height": 740}
    page = come("/?q=boat&like=scene3&unlike=scene5", viewport=viewport)
    page.ids()
    expect(page.page.locator("#marks .chip")).to_have_count(2)
    expect(page.page.get_by_label("Sort")).to_be_visible()
    assert page.overflow() <= 0
