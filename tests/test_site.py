"""The documentation site builds without a warning and needs no other site."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

import fdch

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.integration


class Page(HTMLParser):
    """What a page loads, what it links to, and what can be linked to in it."""

    def __init__(self, text):
        super().__init__()
        self.loads, self.links, self.anchors = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        known = dict(attributes)
        self.anchors.update(filter(None, (known.get("id"), known.get("name"))))
        if tag in ("script", "img", "iframe", "source"):
            self.loads += filter(None, [known.get("src")])
        elif tag == "link" and known.get("rel") != "canonical":
            self.loads += filter(None, [known.get("href")])
        elif tag == "a":
            self.links += filter(None, [known.get("href")])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("site")
    words = ["-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder]
    done = subprocess.run(
        [sys.executable, *words],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    pages = folder.rglob("*.html")
    found = {page: Page(page.read_text("utf-8")) for page in pages}
    return folder, {page: one for page, one in found.items() if page.name != "404.html"}


def test_every_page_of_docs_is_there(site):
    _folder, pages = site
    written = {page.stem for page in (ROOT / "docs").glob("*.md")}
    assert {"index", "contributing", "changelog", "security", *written} == {
        page.stem for page in pages
    }


def test_nothing_is_loaded_from_elsewhere(site):
    folder, pages = site
    outside = re.compile(r"(https?:)?//")
    wrong = [(page.name, one) for page, found in pages.items() for one in found.loads]
    assert not [each for each in wrong if outside.match(each[1])]
    styles = [path.read_text("utf-8") for path in folder.rglob("*.css")]
    assert styles
    assert not [text for text in styles if re.search(r"url\(['\"]?(https?:)?//", text)]


def test_links_and_their_anchors_lead_somewhere(site):
    _folder, pages = site
    gone = []
    for page, found in pages.items():
        for link in (*found.links, *found.loads):
            if re.match(r"[a-z]+:|//", link):
                continue
            path, _, anchor = unquote(link).partition("#")
            target = (page.parent / path).resolve() if path else page
            known = pages[target].anchors if target in pages else None
            if not target.exists() or (anchor and known and anchor not in known):
                gone.append(f"{page.name}: {link}")
    assert not gone


def test_every_public_name_is_in_the_reference(site):
    folder, pages = site
    anchors = pages[folder / "reference.html"].anchors
    assert {f"fdch.{name}" for name in fdch.__all__} <= anchors
    assert "fdch.Searcher.by_text" in anchors
