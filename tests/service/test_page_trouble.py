"""The page when something is wrong: explained in words for people, and overcome."""

import httpx
import pytest

pytest.importorskip("playwright", reason="playwright is not installed")
pytest.importorskip("axe_playwright_python", reason="axe is not installed")

from playwright.sync_api import expect
from tests.service.running import READ, picture_bytes

from fdch.service.http.problems import loading

WORDS_FOR_PROGRAMS = ("/docs", "String should", "Where.0", "Retry-After", "null", "422")


@pytest.mark.parametrize("address", ["/", "/?q=boat", "/?view=index"])
def test_a_service_that_is_loading_is_waited_for(come, address):
    page = come("/docs")
    reply = loading().response()
    assert reply.status_code == 503 and reply.headers["retry-after"] == "5"
    for place in ("**/v1/**", "**/ready"):
        page.page.route(place, lambda route: route.fulfill(status=503, body=reply.body))
    page.open(address)
    expect(page.state).to_contain_text("The search service is starting")
    assert page.barriers() == []
    page.page.unroute("**/v1/**")
    page.page.unroute("**/ready")
    expect(page.state).to_have_count(0)  # without a click
    expect(page.page.locator("#about")).to_contain_text("240 items")


@pytest.mark.parametrize("status", [502, 503, 504])
def test_a_proxy_with_nobody_behind_it_is_waited_for(come, status):
    page = come()
    expect(page.page.locator("#start-view")).to_contain_text("240 items")
    refusal = f"<html><h1>{status} Bad Gateway</h1></html>"
    page.page.route(
        "**/v1/search", lambda route: route.fulfill(status=status, body=refusal)
    )
    page.search("boat")
    expect(page.state).to_contain_text("The search service is away")
    page.page.unroute("**/v1/search")
    assert page.ids()  # without a click


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("/?q=boat&where=label%3D" + "x" * 1001, "A filter cannot be used"),
        ("/?q=boat" + "&where=objects%3D1" * 17, "A filter cannot be used"),
        ("/?q=" + "boat+" * 500, "This is too long to search with"),
        ("/?like=nobody", "This item is not in the index"),
        ("/?like=" + "x" * 2000, "This item is not in the index"),
        ("/?q=boat&where=size%3D3", "No item has a column 'size'"),
    ],
)
def test_a_link_that_cannot_be_answered_is_explained_in_words(come, address, words):
    page = come(address)
    expect(page.state).to_contain_text(words)
    shown = page.state.inner_text() + page.page.locator("#status").inner_text()
    assert [each for each in WORDS_FOR_PROGRAMS if each in shown] == []


def test_a_long_query_leaves_room_for_what_it_finds(come):
    page = come("/?q=" + "boat+" * 390)
    assert page.ids()
    expect(page.cards.first.locator("a.open")).to_be_in_viewport(ratio=1)
    expect(page.page.get_by_label("Search with words")).to_have_value("boat " * 390)


def colour(page):
    """The colour in the middle of the picture of the item on show."""
    image = page.page.get_by_role("dialog").locator("img")
    expect(image).to_have_js_property("naturalWidth", 64)
    return image.evaluate(
        """(image) => {
            const context = document.createElement("canvas").getContext("2d");
            context.drawImage(image, 0, 0);
            return context.getImageData(9, 9, 1, 1).data.join();
        }"""
    )


def test_a_replaced_picture_is_shown_again(come, writable, writer):
    writer.put("mine", text="a boat", image=picture_bytes("navy", (64, 64)))
    page = come("/?q=boat&item=mine", url=writable.url)
    page.page.get_by_label("Token").fill(READ)
    page.page.get_by_role("button", name="Use it").click()
    before = colour(page)
    writer.put("mine", text="a boat", image=picture_bytes("gold", (64, 64)))
    page.page.reload()
    assert colour(page) != before


@pytest.mark.parametrize("kind", ["picture", "thumbnail"])
def test_browsers_revalidate_pictures_each_time(served, kind):
    address = f"{served.url}/v1/items/scene3/{kind}"
    reply = httpx.get(address)
    assert reply.headers["cache-control"] == "private, no-cache"
    assert reply.headers["vary"].lower() == "authorization"
    tag = {"If-None-Match": reply.headers["etag"]}
    again = httpx.get(address, headers=tag)
    assert again.status_code == 304 and again.headers["etag"] == reply.headers["etag"]
