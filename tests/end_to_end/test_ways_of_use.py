"""Three ways of use from nothing to a page: a spreadsheet, photos, a web site.

Each goes through a change of model, a restart and a restored backup.
"""

import json
import shutil
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import openpyxl
import pytest
from click.testing import CliRunner
from playwright.sync_api import expect, sync_playwright
from tests.service.browsing import OPTIONS, Visit, find_browser
from tests.service.running import running

from fdch.cli import cli

pytestmark = pytest.mark.integration

QUICK = ("--bits", 16, "--set", "stage_one_epochs=4", "--set", "stage_two_epochs=4")
SITE = """<!doctype html><title>A shop</title><p id="found"></p><script>
fetch("{url}/v1/search?q=beach&k=3").then((reply) => reply.json()).then((found) => {{
    document.getElementById("found").textContent = `${{found.results.length}} found`;
}});
</script>"""


def run(*words):
    """Run a command and give the document it writes."""
    command = [*map(str, words), "--json"]
    result = CliRunner().invoke(cli, command, catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def ids(found):
    return [each["id"] for each in found["results"]]


def change_and_restore(index, data, folder, *search):
    """Give the index a new model, back it up, lose it and restore it."""
    before = run("index", "info", index)
    run("train", data, *QUICK, "--seed", 1, "--out", folder / "second")
    new, copy = folder / "new.index", folder / "copy.index"
    run("index", "rebuild", index, "--run", folder / "second", "--out", new)
    after = run("index", "info", new)
    assert (after["items"], after["model"]) == (before["items"], after["model"])
    assert after["model"] != before["model"]
    found = run("search", new, *search)
    run("index", "backup", new, copy)
    shutil.rmtree(new)
    shutil.copytree(copy, new)
    assert run("index", "verify", new)["clean"]
    assert ids(run("search", new, *search)) == ids(found)
    return new


@pytest.fixture
def browser():
    path = find_browser()
    if path is None:
        pytest.skip("no browser is installed")
    with sync_playwright() as player:
        yield player.chromium.launch(executable_path=path, args=OPTIONS)


def test_a_shop_searches_its_spreadsheet(scenes, tmp_path, browser):
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["File", "Title", "Category", "Price"])
    for row in range(80):
        price = "12,50" if row == 3 else None if row == 5 else row
        text, scene = scenes.pairs.texts.text(row), scenes.pairs.columns["scene"][row]
        sheet.append([str(scenes.pairs.images.paths[row]), text, scene, price])
    data, index = tmp_path / "catalogue.xlsx", tmp_path / "shop.index"
    book.save(data)
    columns = ("--columns", "image=File,text=Title,labels=Category")

    seen = run("data", "inspect", data, *columns)
    assert seen["pairs"] == 80
    run("train", data, *columns, *QUICK, "--use-all", "--out", tmp_path / "run")
    run("index", "create", index, "--run", tmp_path / "run", data, *columns)
    cheap = ("--text", "beach", "--where", "Price<20", "--sort", "Price", "-k", 30)
    found = run("search", index, *cheap)
    prices = [each["columns"]["Price"] for each in found["results"]]
    assert prices == [price for price in range(20) if price not in (3, 5)]
    assert any("12,50" in note for note in found["notes"])

    new = change_and_restore(index, data, tmp_path, *cheap)
    with running(new) as service:
        visit = Visit(browser.new_page(), service.url).open("/?q=beach")
        expect(visit.cards.first).to_be_visible()
        assert not visit.troubles


def test_an_archive_searches_its_photos(scenes, tmp_path):
    data, index = tmp_path / "photos", tmp_path / "archive.index"
    for row in range(80):
        folder = data / str(scenes.pairs.columns["scene"][row])
        folder.mkdir(parents=True, exist_ok=True)
        picture = scenes.pairs.images.paths[row]
        shutil.copy(picture, folder)
        text = scenes.pairs.texts.text(row)
        (folder / picture.name).with_suffix(".txt").write_text(text)
    photo = next(data.rglob(scenes.pairs.images.paths[0].name))

    run("train", data, *QUICK, "--out", tmp_path / "run")
    run("index", "create", index, "--run", tmp_path / "run", data)
    found = run("search", index, "--image", photo, "--where", "label=beach", "-k", 5)
    assert all(each["labels"] == ["beach"] for each in found["results"])
    new = change_and_restore(index, data, tmp_path, "--image", photo)
    with running(new) as service, service.client() as client:
        again = client.by_image(photo, k=5)
        assert len(again) == 5
        liked = client.query("beach", like=[again[0].id], avoid=["house"], k=5)
        assert again[0].id not in liked.ids


def test_a_web_site_searches_from_its_own_pages(scenes, tmp_path, browser):
    index = tmp_path / "site.index"
    run("index", "create", index, "--run", scenes.run.folder, scenes.manifest)
    address: dict[str, str] = {}

    class Site(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(SITE.format(url=address["service"]).encode())

        def log_message(self, *words):
            pass

    site = HTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    origin = f"http://127.0.0.1:{site.server_port}"
    try:
        for _ in range(2):  # and after a restart
            with running(index, server={"origins": [origin]}) as service:
                address["service"] = service.url
                page = browser.new_page()
                page.goto(origin)
                expect(page.locator("#found")).to_have_text("3 found")
        with running(index) as service:  # which allows no other site
            address["service"] = service.url
            page = browser.new_page()
            page.goto(origin)
            page.wait_for_timeout(1000)
            expect(page.locator("#found")).to_have_text("")
    finally:
        site.shutdown()
        site.server_close()
