"""The page in a real Chromium, used as people use it."""

import io
import re

import pytest
from PIL import Image

pytest.importorskip("playwright", reason="playwright is not installed")
pytest.importorskip("axe_playwright_python", reason="axe is not installed")

from playwright.sync_api import expect
from tests.service.running import READ, picture_bytes, running

from fdch import Index

WORDS = "a boat on the beach"


@pytest.fixture(scope="module")
def photo(scenes):
    return (scenes.pictures / "scene3.png").read_bytes()


def test_words_find_pictures_with_all_that_is_known_of_them(come, client):
    page = come().search(WORDS)
    hits = client.by_text(WORDS, k=24)
    assert page.ids() == hits.ids
    assert page.query() == {"q": [WORDS]}
    expect(page.heading).to_have_text(f"“{WORDS}”")
    card, hit = page.cards.first, hits[0]
    expect(card.locator(".text")).to_have_text(hit.text)
    expect(card.locator("img")).to_have_js_property("naturalWidth", 64)
    expect(card).to_contain_text("match")
    expect(card).to_contain_text(f"distance {hit.distance}")
    for label in hit.labels:
        expect(card.locator(".labels")).to_contain_text(label)
    expect(page.page.get_by_role("status")).to_contain_text("24 results")
    expect(page.page).to_have_title(f"{WORDS} · fdch")


@pytest.mark.parametrize("way", ["drop", "paste", "choose"])
def test_a_picture_finds_what_it_finds_by_the_api(come, client, photo, way):
    page = come()
    if way == "choose":
        content = {"name": "a.png", "mimeType": "image/png", "buffer": photo}
        page.page.set_input_files("#file", content)
    else:
        page.bring(way, photo)
    expect(page.heading).to_have_text("Like your picture")
    assert page.ids() == client.by_image(photo, k=24).ids
    expect(page.page.get_by_alt_text("The picture searched with")).to_be_visible()
    expect(page.page.locator("#drop")).to_be_hidden()


@pytest.mark.slow
def test_going_back_comes_to_a_picture_again(come, photo):
    page = come()
    page.bring("drop", photo)
    expect(page.heading).to_have_text("Like your picture")
    first = page.ids()
    page.bring("drop", picture_bytes("navy", (64, 64)))
    expect(page.page.locator("#query-picture img")).to_be_visible()
    page.search("a tree")
    expect(page.heading).to_have_text("Your picture and “a tree”")
    page.page.go_back()
    expect(page.heading).to_have_text("Like your picture")
    page.page.go_back()
    expect(page.page.locator(f'#grid .card[data-id="{first[0]}"]')).to_be_visible()
    assert page.ids() == first
    page.page.reload()
    assert page.ids() == first


def test_a_link_to_a_search_by_picture_requests_the_picture(come, photo):
    page = come("/?picture=")
    expect(page.state).to_contain_text("This search was made with a picture")
    page.bring("paste", photo)
    assert page.ids()


@pytest.mark.slow
def test_a_large_photo_is_made_smaller_before_it_is_sent(come):
    content = io.BytesIO()
    Image.effect_noise((1400, 900), 90).convert("RGB").save(content, "BMP")
    page = come()
    with page.page.expect_request("**/v1/search/image") as sent:
        page.bring("drop", content.getvalue(), "photo.bmp", "image/bmp")
    assert int(sent.value.header_value("content-length")) < 900_000
    assert page.ids()


def test_a_problem_stays_when_examples_come_late(come):
    held = []
    page = come("/?view=index")
    page.page.route("**/v1/overview*", lambda route: held.append(route))
    page.page.evaluate("location.href = '/'")
    expect(page.page.locator("#start-heading")).to_be_visible()
    page.bring("drop", b"hello", "notes.txt", "text/plain")
    expect(page.state).to_contain_text("is not a picture.")
    page.wait_until(lambda: held)
    for route in held:
        route.continue_()
    page.page.wait_for_load_state("networkidle")
    expect(page.state).to_contain_text("is not a picture.")


def test_what_is_no_picture_is_reported(come):
    page = come()
    page.bring("drop", b"hello", "notes.txt", "text/plain")
    expect(page.state).to_contain_text("“notes.txt” is not a picture.")
    page.bring("drop", b"not at all", "broken.png", "image/png")
    expect(page.state).to_contain_text("This picture cannot be read")
    expect(page.state).to_contain_text("JPEG, PNG")
    page.open("/?view=index")
    expect(page.page.locator("figure")).to_have_count(3)
    page.bring("drop", b"hello", "notes.txt", "text/plain")
    expect(page.state).to_contain_text("“notes.txt” is not a picture.")


def test_chips_filter_and_the_back_button_undoes_them(come, client):
    page = come(f"/?q={WORDS}")
    before = page.ids()
    side = page.page.get_by_role("complementary", name="Filters")
    side.get_by_role("button", name="Show all").first.click()
    side.get_by_role("button", name="boat, ").click()
    expect(page.page.locator("#active")).to_contain_text("boat")
    assert page.query()["where"] == ["label=boat"]
    boats = client.by_text(WORDS, k=24, where=["label=boat"])
    assert page.ids() == boats.ids
    side.get_by_role("button", name="lake, ").last.click()
    side.get_by_role("button", name="beach, ").last.click()
    expect(page.page.locator("#active")).to_contain_text("Scene: lake or beach")
    assert page.query()["where"] == ["label=boat", 'scene in ["lake","beach"]']
    pressed = side.locator("[aria-pressed=true]")
    expect(pressed).to_have_count(3)
    assert page.ids()
    for _ in range(3):
        page.page.go_back()
    expect(page.page.locator("#active")).to_be_hidden()
    assert page.ids() == before


def test_a_label_of_a_result_filters_and_can_be_removed(come):
    page = come(f"/?q={WORDS}")
    page.ids()
    label = page.cards.first.locator(".tag").first
    name = label.inner_text()
    label.click()
    expect(page.page.locator("#active")).to_contain_text(name)
    page.page.get_by_role("button", name=f"Remove the filter {name}").click()
    expect(page.page.locator("#active")).to_be_hidden()
    assert page.query() == {"q": [WORDS]}


def test_more_like_this_finds_the_neighbours_of_an_item(come, client):
    page = come(f"/?q={WORDS}")
    first = page.ids()[0]
    page.cards.first.get_by_role("button", name="More like this").click()
    expect(page.heading).to_have_text("More like this")
    assert page.query() == {"like": [first]}
    assert page.ids() == client.by_id(first, k=24).ids
    expect(page.heading).to_be_focused()


def test_a_shared_link_shows_the_same(come):
    page = come()
    page.search(WORDS)
    page.ids()
    page.page.get_by_role("button", name="beach, ").first.click()
    expect(page.page.locator("#active")).to_be_visible()
    page.page.locator("#least").fill("30")
    expect(page.page).to_have_url(re.compile("min=0.3"))
    ids = page.ids()
    other = come(page.page.url.removeprefix(page.url))
    assert other.ids() == ids
    expect(other.page.get_by_label("Search with words")).to_have_value(WORDS)
    expect(other.page.locator("#active")).to_contain_text("beach")
    expect(other.page.locator("#least")).to_have_value("30")
    expect(other.page.locator("#least-said")).to_contain_text("30%")


def test_too_sure_a_wish_offers_less(come):
    page = come("/?q=snow&where=scene%3Ddesert&min=0.95")
    expect(page.state).to_contain_text("Nothing is that sure")
    page.state.get_by_role("button").first.click()
    assert page.ids()
    assert float(page.query().get("min", ["0"])[0]) < 0.95


def test_filters_that_nothing_fulfils_can_be_removed(come):
    page = come("/?q=snow&where=scene%3Dsnow&where=label%3Ddesert")
    expect(page.state).to_contain_text("Nothing has all of these filters")
    page.state.get_by_role("button", name="Remove the filters").click()
    assert page.ids()


def test_a_link_with_a_wrong_filter_is_reported_and_corrected(come):
    page = come("/?q=snow&where=nothing%3D3")
    expect(page.state).to_contain_text("nothing")
    page.state.get_by_role("button", name="Remove the filters").click()
    assert page.ids()


def test_unknown_words_come_with_known_ones_to_choose(come):
    page = come().search("beech")
    expect(page.state).to_contain_text("No word of this is known here")
    page.state.get_by_role("button", name="beach").click()
    assert page.ids()
    assert page.query() == {"q": ["beach"]}


def test_a_word_that_is_left_out_is_named(come):
    page = come().search("beach quixotry beech")
    page.ids()
    notes = page.page.locator(".note")
    expect(notes.first).to_have_text("Not known here: “quixotry”, “beech”.")
    expect(notes.last).to_contain_text("id you mean 'beach' for 'beech'?")
    expect(page.page.locator("#grid mark").first).to_have_text("beach")


def test_a_service_that_is_away_is_waited_for(come):
    page = come()
    expect(page.page.locator("#start-view")).to_contain_text("240 items")
    page.page.route("**/v1/search", lambda route: route.abort())
    page.search(WORDS)
    expect(page.state).to_contain_text("The search service is away")
    page.page.unroute("**/v1/search")
    assert page.ids()  # without a click


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (503, "Try again in 7 seconds"),
        pytest.param(500, "This did not work", marks=pytest.mark.slow),
    ],
)
def test_trouble_in_the_service_is_reported_and_tried_again(come, status, words):
    page = come()
    error = {"code": "x", "message": "it broke.", "hint": ""}
    page.page.route(
        "**/v1/search",
        lambda route: route.fulfill(
            status=status, headers={"Retry-After": "7"}, json={"error": error}
        ),
    )
    page.search(WORDS)
    expect(page.state).to_contain_text(words)
    page.page.unroute("**/v1/search")
    page.state.get_by_role("button", name="Try again").click()
    assert page.ids()


def test_waiting_is_shown(come):
    page = come()
    held = []
    page.page.route("**/v1/search", lambda route: held.append(route))
    page.search(WORDS)
    expect(page.page.locator(".card.skeleton").first).to_be_visible()
    expect(page.page.locator("#summary")).to_have_text("Searching…")
    expect(page.page.locator("#grid")).to_have_attribute("aria-busy", "true")
    page.wait_until(lambda: held)
    held[0].continue_()
    assert page.ids()


def test_a_late_answer_does_not_replace_the_current_one(come, client):
    page = come("/?q=boat")
    boats = page.ids()
    held = []
    page.page.route("**/v1/search", lambda route: held.append(route))
    page.search("tree")
    expect(page.page.locator("#summary")).to_have_text("Searching…")
    page.page.unroute("**/v1/search")
    page.page.go_back()
    expect(page.heading).to_have_text("“boat”")
    expect(page.page.locator("#summary")).to_contain_text("nearest")
    assert page.ids() == boats == client.by_text("boat", k=24).ids
    page.page.go_forward()
    expect(page.heading).to_have_text("“tree”")
    assert page.ids() == client.by_text("tree", k=24).ids


def test_more_results_are_shown_on_demand(come):
    page = come("/?q=tree")
    assert len(page.ids()) == 24
    page.page.get_by_role("button", name="Show more").click()
    expect(page.cards).to_have_count(48)
    assert page.query()["k"] == ["48"]
    assert page.focused() == page.ids()[24]


def test_an_item_opens_from_its_link_and_closes_by_going_back(come):
    page = come("/?q=boat")
    first = page.ids()[0]
    page.cards.first.locator("a.open").click()
    dialog = page.page.get_by_role("dialog")
    expect(dialog).to_contain_text(first)
    expect(dialog.locator("img")).to_have_js_property("naturalWidth", 64)
    other = come(page.page.url.removeprefix(page.url))
    expect(other.page.get_by_role("dialog")).to_contain_text(first)
    page.page.go_back()
    expect(dialog).to_be_hidden()
    other.page.get_by_role("button", name="Close").click()
    expect(other.page.get_by_role("dialog")).to_be_hidden()
    assert other.query() == {"q": ["boat"]}


def test_a_dialog_that_the_browser_closes_leaves_the_address(come):
    page = come("/?q=boat")
    page.cards.first.locator("a.open").click()
    expect(page.page.get_by_role("dialog")).to_be_visible()
    page.page.evaluate("document.querySelector('dialog').close()")
    expect(page.page).to_have_url(re.compile(r"\?q=boat$"))


def test_the_index_view_shows_counts_bits_distances_and_groups(come):
    page = come("/?view=index")
    view = page.page.locator("#index-view")
    expect(view).to_contain_text("240 items, each known by a code of 24 bits")
    for title in ("Distances between", "How evenly the bits", "How the codes group"):
        expect(view.get_by_role("heading", name=title)).to_be_visible()
    expect(view.get_by_role("img", name="Two items that share a label")).to_be_visible()
    expect(view.locator("rect.bar")).to_have_count(24)
    for bar in view.locator("rect.bar").all():  # as tall as its bit leans
        drawn = bar.evaluate("bar => bar.getBBox().height")
        assert drawn == pytest.approx(float(bar.get_attribute("height")), abs=0.01)
    assert view.locator("circle.dot").count() == 240
    view.locator(".groups a").first.hover()
    assert 0 < view.locator(".dot.is-marked").count() < 240
    view.get_by_text("The numbers").first.click()
    expect(view.locator("table").first).to_be_visible()
    view.locator(".groups a").first.click()
    expect(page.heading).to_have_text("More like this")


def test_the_colours_follow_the_system_until_one_chooses(come):
    ground = "getComputedStyle(document.body).backgroundColor"
    dark, light = "rgb(20, 22, 23)", "rgb(250, 250, 248)"
    page = come("/", color_scheme="dark")
    assert page.page.evaluate(ground) == dark
    page.page.get_by_role("button", name="Use light colours").click()
    assert page.page.evaluate(ground) == light
    page.page.reload()
    assert page.page.evaluate(ground) == light
    assert come("/").page.evaluate(ground) == light


def test_nothing_is_requested_from_other_hosts(come, served):
    page = come(f"/?q={WORDS}")
    page.ids()
    page.page.get_by_role("link", name="Index").click()
    expect(page.page.locator("figure")).to_have_count(3)
    outside = [url for url in page.requests if not url.startswith(served.url)]
    assert [url for url in outside if not url.startswith(("data:", "blob:"))] == []


HOSTILE = "<img src=x onerror=\"document.title='taken'\"> a boat"
ODD = "a/b ?c=d&#%\N{SNOWMAN}"


def test_odd_items_are_shown_as_they_are(come, writable, writer):
    writer.put(ODD, text=HOSTILE, labels=["beach", "<b>"], columns={"by": "</script>"})
    writer.put("lone picture", image=picture_bytes("teal", (64, 64)))
    page = come("/", url=writable.url)
    page.page.get_by_label("Token").fill("a-wrong-token")
    page.page.keyboard.press("Enter")
    expect(page.state).to_contain_text("The token is not known.")
    page.page.get_by_label("Token").fill(READ)
    page.page.get_by_role("button", name="Use it").click()
    expect(page.page.locator("#start-view")).to_contain_text("242 items")
    page.search("boat")
    page.ids()
    page.page.get_by_role("button", name="Show all").first.click()
    page.page.get_by_role("button", name="<b>, 1 item").click()
    expect(page.cards).to_have_count(1)
    expect(page.cards.locator(".quote")).to_have_text(HOSTILE)
    page.cards.locator("a.open").click()
    expect(page.page.get_by_role("dialog")).to_contain_text("</script>")
    page.page.keyboard.press("Enter")
    expect(page.heading).to_have_text("More like this")
    assert page.query()["like"] == [ODD]
    page.open("/?like=lone%20picture")
    page.ids()
    expect(page.cards.first.locator("img")).to_have_js_property("naturalWidth", 64)
    assert page.cards.first.locator("img").get_attribute("src").startswith("blob:")
    page.open(f"/?q={WORDS}&item=lone%20picture")
    expect(page.page.get_by_role("dialog").locator("img")).to_be_visible()
    assert "taken" not in page.page.title()
    assert page.barriers() == []


@pytest.mark.slow
def test_an_empty_index_says_how_to_fill_it(come, scenes, tmp_path):
    Index.create(tmp_path / "empty", scenes.run).close()
    with running(tmp_path / "empty") as empty:
        page = come("/", url=empty.url)
        expect(page.page.locator("#start-view")).to_contain_text("This index is empty")
        assert page.barriers() == []
        page.open("/?view=index")
        expect(page.page.locator("#index-view")).to_contain_text("0 items")
        assert page.barriers() == []
        page.page.context.close()
