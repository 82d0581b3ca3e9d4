"""The page of a service that requires a token."""

import pytest

pytest.importorskip("playwright", reason="playwright is not installed")
pytest.importorskip("axe_playwright_python", reason="axe is not installed")

from playwright.sync_api import expect
from tests.service.running import READ, running

from fdch.service.http.tokens import Right, Tokens


@pytest.fixture(scope="module")
def guarded(scenes, shared_cache):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FDCH_CACHE", str(shared_cache))
        with running(scenes.index, tokens=Tokens({READ: Right.READ})) as it:
            yield it


@pytest.fixture
def enter(come, guarded):
    """Come to the page and give a token."""

    def entering(address="/", token=READ, prepare=lambda page: None):
        page = come(address, url=guarded.url)
        prepare(page)
        give(page, token)
        return page

    return entering


def give(page, token):
    page.page.get_by_label("Token").fill(token)
    page.page.get_by_role("button", name="Use it").click()


@pytest.mark.parametrize("token", ["schlüssel€", "two words", "naïve"])
def test_what_cannot_be_a_token_is_reported_and_another_can_be_given(enter, token):
    page = enter("/?q=boat", token)
    expect(page.state).to_contain_text("This is not a token")
    assert page.barriers() == []
    page.page.reload()
    expect(page.state).to_contain_text("requires a token")
    give(page, READ)
    assert page.ids()


def test_a_token_that_was_kept_and_cannot_be_sent_is_forgotten(come, guarded):
    page = come("/?q=boat", url=guarded.url)
    page.page.evaluate("sessionStorage.setItem('fdch-token', 'schlüssel€')")
    page.page.reload()
    give(page, READ)
    assert page.ids()


def test_a_wrong_token_is_reported(enter):
    page = enter("/?q=boat", "a-wrong-token-of-twenty")
    expect(page.state).to_contain_text("The token is not known.")


def test_pictures_are_fetched_as_they_come_near_a_few_at_a_time(enter):
    held = []

    def hold(page):
        page.page.route("**/thumbnail*", lambda route: held.append(route))

    page = enter("/?q=boat&k=240", prepare=hold)
    assert len(page.ids()) == 240
    page.wait_until(lambda: held)
    page.page.wait_for_timeout(300)  # more would come at once
    assert len(held) <= 6
    page.page.unroute("**/thumbnail*")
    expect(page.cards.nth(3).locator("img")).to_have_js_property("naturalWidth", 64)
    page.page.wait_for_load_state("networkidle")
    assert 6 < len({url for url in page.requests if "/thumbnail" in url}) < 100
    page.page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    expect(page.cards.last.locator("img")).to_have_js_property("naturalWidth", 64)


def test_pictures_that_were_too_many_come_after_a_while(enter):
    refused: list[str] = []

    def refuse(route):
        if len(refused) < 8:
            refused.append(route.request.url)
            route.fulfill(status=429, headers={"Retry-After": "1"}, body="")
        else:
            route.continue_()

    page = enter("/?q=boat", prepare=lambda page: page.page.route("**/thumb*", refuse))
    for place in range(4):
        image = page.cards.nth(place).locator("img")
        expect(image).to_have_js_property("naturalWidth", 64)
    assert len(refused) == 8
    expect(page.page.locator(".is-gone")).to_have_count(0)


def test_the_picture_opens_in_a_tab_of_its_own(enter):
    page = enter("/?q=boat&item=scene3")
    link = page.page.get_by_role("link", name="Open the picture")
    with page.page.context.expect_page() as opened:
        link.click()
    tab = opened.value
    tab.wait_for_url("blob:**")
    expect(tab.locator("img")).to_have_js_property("naturalWidth", 64)
    tab.close()
    page.page.route("**/picture", lambda route: route.fulfill(status=404))
    link.click()
    expect(page.page.get_by_role("dialog")).to_contain_text("cannot be opened")
