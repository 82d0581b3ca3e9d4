"""The page's files: known names only, and nothing in them from elsewhere."""

import re
from graphlib import TopologicalSorter
from pathlib import Path

import httpx
import pytest

import fdch.service
from fdch.service.routes.replies import _PAGE_TYPES, PAGE, page_files

FOLDER = Path(fdch.service.__file__).parent / "page"
TEXTS = {path.name: path.read_text("utf-8") for path in FOLDER.iterdir()}


def test_the_known_names_are_those_of_the_folder():
    assert set(page_files()) == set(TEXTS)


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../app.py", "/etc/passwd", "page.css/", "PAGE.CSS", "a\0"]
)
def test_other_names_are_not_opened(name):
    assert name not in page_files()


def test_there_is_no_inline_script_or_style():
    page = TEXTS[PAGE]
    assert re.findall(r"<script(?![^>]*\bsrc=)", page) == []
    assert re.findall(r"<style|\sstyle=|\son\w+=", page) == []
    assert all(".innerHTML" not in text for text in TEXTS.values())
    assert all(not re.search(r"\beval\(|new Function", text) for text in TEXTS.values())


def test_nothing_comes_from_elsewhere():
    for name, text in TEXTS.items():
        outside = set(re.findall(r"https?://[^\s\"'<>)]+", text))
        assert outside <= {"http://www.w3.org/2000/svg"}, name


def test_whatever_is_named_is_there():
    named = {
        each
        for text in TEXTS.values()
        for each in re.findall(r"/static/([\w.]+)", text)
    }
    assert named == set(TEXTS) - {PAGE, "docs.js", "docs.css"}  # of another page


def test_scripts_import_one_another_in_no_circle():
    """Each is whole when another uses it, whatever the order of loading."""
    imports = {
        name: set(re.findall(r'from "/static/([\w.]+)"', text))
        for name, text in TEXTS.items()
        if name.endswith(".js")
    }
    assert imports["main.js"]
    for script in TopologicalSorter(imports).static_order():
        assert script in imports


def test_scripts_are_short():
    """One concern each: what would be a folder of modules in Python."""
    lines = {name: text.count("\n") for name, text in TEXTS.items()}
    assert max(lines[name] for name in lines if name.endswith(".js")) <= 250


def test_files_are_sent_with_types_and_not_twice(served):
    for name in TEXTS:
        path = "/" if name == PAGE else f"/static/{name}"
        reply = httpx.get(served.url + path)
        assert reply.status_code == 200
        assert reply.headers["content-type"] == _PAGE_TYPES[Path(name).suffix]
        assert reply.content == (FOLDER / name).read_bytes()
        tag = {"If-None-Match": reply.headers["etag"]}
        assert httpx.get(served.url + path, headers=tag).status_code == 304
    assert "'unsafe-" not in reply.headers["content-security-policy"]
    missing = httpx.get(f"{served.url}/static/app.py")
    assert missing.status_code == 404 and "error" in missing.json()
