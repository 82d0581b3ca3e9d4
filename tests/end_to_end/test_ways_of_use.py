"""Three ways of use from nothing to a page: a spreadsheet, photos, a web site.

Each goes through a change of model, a restart and a restored backup.
"""

import csv
import json
import shutil
import signal
import threading
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace

import openpyxl
import pytest
from click.testing import CliRunner
from playwright.sync_api import expect, sync_playwright
from tests.page_blocks import ROOT, read_blocks
from tests.service.browsing import Visit, launch
from tests.service.processes import Process
from tests.service.running import READ, running, wait_until

from fdch.cli import cli

pytestmark = pytest.mark.integration

QUICK = ("--bits", 16, "--set", "epoch_scale=0.05")
ITEMS = 80
[EXAMPLE] = (
    block.code
    for block in read_blocks((ROOT / "docs" / "service.md").read_text("utf-8"))
    if block.language == "html"
)


def run(*words):
    """Run a command and give the document it writes."""
    command = [*map(str, words), "--json"]
    result = CliRunner().invoke(cli, command, catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def ids(found):
    return [each["id"] for each in found["results"]]


@contextmanager
def serving(index, *options, token):
    """Run `fdch serve` as a process, and stop it as whoever runs it would."""
    with Process(index, *options) as served:
        served.client(token).close()  # once it is ready
        yield SimpleNamespace(url=served.url, client=partial(served.client, token))
        code, log = served.end(signal.SIGTERM)
    assert code == 0, log
    assert token not in log


def live_through(index, data, look, *train, serve=running):
    """Change the model of a served index, restart the service, restore a backup.

    Args:
        index: The index, which is served meanwhile.
        data: What the new model learns from.
        look: Looks at a page of the service; returns the ids that it shows.
        train: Options of the training.
        serve: Serves an index.
    """
    folder, before = index.parent, run("index", "info", index)
    new, copy = folder / "new.index", folder / "copy.index"
    with serve(index) as service, service.client() as client:
        assert look(service)
        run("train", data, *train, *QUICK, "--seed", 1, "--out", folder / "second")
        run("index", "rebuild", index, "--run", folder / "second", "--out", new)
        after = run("index", "info", new)
        assert after["model"] != before["model"] == client.index().model
        index.rename(folder / "old.index")
        new.rename(index)
        wait_until(lambda: client.index().model == after["model"])
        found = look(service)
        assert (client.index().items, client.index().method) == (ITEMS, "fdch_plus")
    with serve(index) as service:  # restarted
        assert look(service) == found
        run("index", "backup", index, copy)
    shutil.rmtree(index)
    shutil.copytree(copy, index)
    assert run("index", "verify", index)["clean"]
    with serve(index) as service:
        assert look(service) == found


@pytest.fixture
def browser():
    with sync_playwright() as player:
        opened = launch(player)
        if opened is None:
            pytest.skip("no browser is installed")
        yield opened


def test_a_shop_searches_its_spreadsheet(scenes, tmp_path, browser):
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["File", "Title", "Category", "Price"])
    for row in range(ITEMS):
        price = "12,50" if row == 3 else None if row == 5 else row
        text, scene = scenes.pairs.texts.text(row), scenes.pairs.columns["scene"][row]
        sheet.append([str(scenes.pairs.images.paths[row]), text, scene, price])
    data, index = tmp_path / "catalogue.xlsx", tmp_path / "shop.index"
    book.save(data)
    columns = ("--columns", "image=File,text=Title,labels=Category")

    seen = run("data", "inspect", data, *columns)
    assert seen["pairs"] == ITEMS
    run("train", data, *columns, *QUICK, "--use-all", "--out", tmp_path / "run")
    run("index", "create", index, "--run", tmp_path / "run", data, *columns)
    cheap = ("--text", "beach", "--where", "Price<20", "--sort", "Price", "-k", 30)
    found = run("search", index, *cheap)
    prices = [each["columns"]["Price"] for each in found["results"]]
    assert prices == [price for price in range(20) if price not in (3, 5)]
    assert any("12,50" in note for note in found["notes"])

    def look(service):
        visit = Visit(browser.new_page(), service.url)
        shown = visit.open("/?q=beach&where=Price%3C20&sort=Price").ids()
        assert shown == ids(found)  # whatever the model is: the price orders
        assert not visit.troubles
        return shown

    live_through(index, data, look, *columns, "--use-all")


def test_an_archive_searches_its_photos(scenes, tmp_path, browser):
    data, index = tmp_path / "photos", tmp_path / "archive.index"
    for row in range(ITEMS):
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

    def look(service):
        visit = Visit(browser.new_page(), service.url).open()
        visit.bring("drop", photo.read_bytes())
        expect(visit.heading).to_have_text("Like your picture")
        shown = visit.ids()
        assert not visit.troubles
        with service.client() as client:
            assert shown == client.by_image(photo, k=24).ids
            liked = client.query("beach", like=shown[:1], avoid=["house"], k=5)
        assert shown[0] not in liked.ids
        return shown

    live_through(index, data, look)


def test_a_web_site_searches_from_its_own_pages(scenes, tmp_path, browser):
    data, index = tmp_path / "pairs.csv", tmp_path / "site.index"
    with data.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "image", "text", "labels"])
        for row in range(ITEMS):
            path, text = scenes.pairs.images.paths[row], scenes.pairs.texts.text(row)
            scene = scenes.pairs.columns["scene"][row]
            rows.writerow([scenes.pairs.ids[row], path, text, scene])
    run("train", data, *QUICK, "--out", tmp_path / "run")
    run("index", "create", index, "--run", tmp_path / "run", data)
    tokens = tmp_path / "tokens"
    tokens.write_text(f"read {READ}")
    tokens.chmod(0o600)
    pages: dict[str, str] = {}

    class Site(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(pages.get(self.path, "").encode())

        def log_message(self, *words):
            pass

    site = HTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    origin = f"http://127.0.0.1:{site.server_port}"

    def search(service):
        """Type a word on a page of the site, made as the docs show it."""
        page = EXAMPLE.replace("https://search.example", service.url)
        pages["/"] = page.replace("TOKEN", READ)
        visit = browser.new_page()
        visit.goto(origin)
        visit.get_by_role("searchbox").fill("beach")
        return visit

    def look(service):
        visit = search(service)
        visit.keyboard.press("Enter")
        found = visit.get_by_role("listitem")
        expect(found).to_have_count(5)
        texts = found.all_inner_texts()
        with service.client() as client:
            assert texts == [each.text for each in client.by_text("beach", k=5)]
        return texts

    def serve(index, *options):
        return serving(index, "--token-file", tokens, *options, token=READ)

    try:
        live_through(
            index,
            data,
            look,
            serve=lambda index: serve(index, "--allow-origin", origin),
        )
        with serve(index) as service:  # which allows no other site
            visit = search(service)
            with visit.expect_event("requestfailed"):
                visit.keyboard.press("Enter")
            expect(visit.get_by_role("listitem")).to_have_count(0)
    finally:
        site.shutdown()
        site.server_close()
