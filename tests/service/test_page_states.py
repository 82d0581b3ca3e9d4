"""States of the page: within reach of everyone, at any width, in light and dark."""

import shutil
from collections.abc import Callable
from typing import NamedTuple

import pytest

pytest.importorskip("playwright", reason="playwright is not installed")
pytest.importorskip("axe_playwright_python", reason="axe is not installed")

from playwright.sync_api import expect
from tests.service.browsing import Visit
from tests.service.running import READ, TOKENS, WRITE, picture_bytes, running

WORDS = "a boat on the beach"


@pytest.mark.parametrize("address", ["/", "/?q=boat", "/?view=index", "/?q=zzz"])
def test_a_phone_shows_all_without_scrolling_sideways(come, address):
    phone = {"viewport": {"width": 360, "height": 740}, "has_touch": True}
    page = come(address, **phone)
    expect(page.page.locator("h1:visible").first).to_be_visible()
    if address == "/?q=boat":
        assert len(page.ids()) == 24
        expect(page.page.locator("#filters")).to_be_hidden()
        page.page.get_by_text("Filters", exact=True).tap()
        expect(page.page.locator("#filters")).to_be_visible()
    assert page.overflow() <= 0


def open_columns(page):
    page.page.get_by_text("Columns", exact=True).click()
    for name in ("Scene", "Objects"):
        page.page.get_by_role("checkbox", name=name).check()


def add_picture(page):
    page.ids()
    page.bring("drop", picture_bytes("navy", (64, 64)))
    expect(page.heading).to_have_text("Your picture and “boat”")
    page.ids()


def mark(page):
    for place, name in enumerate(("Like: ", "Like: ", "Dislike: ")):
        page.cards.nth(place).get_by_role("button", name=name).first.click()


def open_form(page):
    page.page.get_by_text("Add an item").click()


class State(NamedTuple):
    """What is opened and done, and a sign that it is there."""

    address: str
    sign: str
    act: Callable[[Visit], object] = Visit.query
    is_guarded: bool = False  # by a token, of a service that can be written to


STATES = {
    "start": State("/", "#start-view .examples"),
    "results": State(f"/?q={WORDS}&where=label%3Dbeach&min=0.2", "#grid .card"),
    "item": State("/?q=boat&item=scene3", "dialog[open]"),
    "like": State("/?like=scene3", "#grid .card"),
    "unknown words": State("/?q=beech", ".state"),
    "nothing": State("/?q=snow&where=scene%3Dsnow&where=label%3Ddesert", ".state"),
    "lost picture": State("/?picture=", ".state"),
    "index": State("/?view=index", "#index-view figure"),
    "columns": State("/?q=boat&sort=-objects", "#grid .cells:visible", open_columns),
    "picture and words": State("/?q=boat", "#query-picture img", add_picture),
    "marks": State("/?q=boat", "#marks .chip", mark),
    "grouped": State("/?q=a+boat+and+a+boat&grouped", ".similar", is_guarded=True),
    "adding": State("/?view=index", ".adding:visible", open_form, is_guarded=True),
}
RARE = {"like", "nothing", "lost picture", "marks"}


@pytest.fixture(scope="module")
def guarded(scenes, shared_cache, tmp_path_factory):
    """A service with tokens, whose index has three items with the same text."""
    index = shutil.copytree(scenes.index, tmp_path_factory.mktemp("guarded") / "index")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FDCH_CACHE", str(shared_cache))
        with running(index, tokens=TOKENS) as it, it.client(WRITE) as client:
            for name in ("one", "two", "three"):
                client.put(name, text="a boat and a boat")
            yield it


@pytest.fixture
def look(request, come):
    """Bring the page into a state."""

    def look_at(name, scheme="light", width=1280, height=860):
        state = STATES[name]
        size = {"width": width, "height": height}
        options = {"color_scheme": scheme, "viewport": size}
        if state.is_guarded:
            url = request.getfixturevalue("guarded").url
            page = come("/docs", url=url, **options)
            page.page.evaluate(f"sessionStorage.setItem('fdch-token', '{READ}')")
            page.open(state.address)
        else:
            page = come(state.address, **options)
        page.page.wait_for_load_state("networkidle")
        state.act(page)
        expect(page.page.locator(state.sign).first).to_be_visible()
        page.page.wait_for_load_state("networkidle")
        return page

    return look_at


@pytest.mark.parametrize(
    "state",
    [
        pytest.param(state, marks=[pytest.mark.slow] if state in RARE else [])
        for state in STATES
    ],
)
def test_axe_finds_nothing_serious(look, state):
    assert look(state).barriers() == []


@pytest.mark.slow
@pytest.mark.parametrize("width", [320, 768, 1280])
@pytest.mark.parametrize("state", STATES)
def test_axe_finds_nothing_serious_in_the_dark(look, state, width):
    page = look(state, "dark", width)
    assert page.barriers() == []
    assert page.overflow() <= 0
