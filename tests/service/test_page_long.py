"""The page with texts of any length: nothing is cut off, nothing is in the way."""

import pytest

pytest.importorskip("playwright", reason="playwright is not installed")
pytest.importorskip("axe_playwright_python", reason="axe is not installed")

from playwright.sync_api import expect

PHONE = {"viewport": {"width": 390, "height": 664}, "has_touch": True}
LONG = "a boat on the beach and then another " * 400


def known(page, **changes):
    """Let the service say more of each result than the index holds."""

    def extend(route):
        reply = route.fetch()
        content = reply.json()
        for result in content["results"]:
            result |= changes
        route.fulfill(response=reply, json=content)

    page.page.route("**/v1/search", extend)


def test_an_item_is_seen_from_its_beginning_on_a_phone(come):
    page = come("/?q=boat", **PHONE)
    page.cards.first.locator("a.open").tap()
    dialog = page.page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Close")).to_be_in_viewport(ratio=1)
    assert dialog.evaluate("box => box.scrollTop") == 0
    dialog.get_by_text("Distance").scroll_into_view_if_needed()
    dialog.evaluate("box => box.scrollTo(0, box.scrollHeight)")
    assert dialog.evaluate("box => box.scrollTop") > 0
    close = dialog.get_by_role("button", name="Close")
    expect(close).to_be_in_viewport(ratio=1)
    close.tap()
    expect(dialog).to_be_hidden()


@pytest.mark.parametrize("kind", ["with a picture", "without one"])
def test_a_long_text_is_folded_and_can_be_unfolded(come, kind):
    page = come()
    columns = {"story": LONG, "short": "one word"}
    image = {} if kind == "with a picture" else {"image": None}
    known(page, text=LONG, columns=columns, labels=[LONG], **image)
    page.search("boat")
    page.cards.first.locator("a.open").click()
    dialog = page.page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="More like this")).to_be_in_viewport()
    folds = dialog.get_by_role("button", name="Show all of it")
    expect(folds).to_have_count(2 if image == {} else 3)
    assert dialog.evaluate("box => box.scrollHeight") < 2000
    folds.first.click()
    assert dialog.evaluate("box => box.scrollHeight") > 4000
    dialog.get_by_role("button", name="Show less").click()
    assert dialog.evaluate("box => box.scrollHeight") < 2000
    expect(dialog).to_have_accessible_name(LONG[:160].strip() + "…")
    assert page.overflow() <= 0
    assert page.barriers() == []


def test_a_short_text_has_nothing_to_unfold(come):
    page = come("/?q=boat&item=scene3")
    dialog = page.page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="More like this")).to_be_visible()
    expect(dialog.get_by_role("button", name="Show all of it")).to_have_count(0)


def test_a_filter_of_a_long_value_is_one_line(come):
    page = come()

    def extend(route):
        reply = route.fetch()
        content = reply.json()
        content["columns"].append(
            {
                "name": "story",
                "numeric": False,
                "values": [{"value": LONG, "count": 9}, {"value": "brief", "count": 3}],
            }
        )
        route.fulfill(response=reply, json=content)

    page.page.route("**/v1/index", extend)
    page.open("/?q=boat&where=label%21%3D" + "x" * 900)
    page.ids()
    chip = page.page.locator("[data-column=story]").first
    plain = page.page.locator("[data-column=story]").last
    assert chip.bounding_box()["height"] == plain.bounding_box()["height"]
    expect(chip.locator(".count")).to_have_text("9")
    active = page.page.locator("#active .chip")
    assert active.bounding_box()["height"] < 2 * plain.bounding_box()["height"]
    expect(active.locator(".cross")).to_be_in_viewport(ratio=1)
    assert page.overflow() <= 0
    assert page.barriers() == []
