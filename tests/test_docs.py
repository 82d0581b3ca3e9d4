"""Pages made from the program are current, and their examples run."""

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = runpy.run_path(str(ROOT / "scripts" / "write_docs.py"))["PAGES"]
WRITTEN = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]


@pytest.mark.parametrize("name", PAGES)
def test_generated_pages_are_current(name):
    assert (ROOT / "docs" / name).read_text("utf-8") == PAGES[name](), (
        f"docs/{name} is out of date: run scripts/write_docs.py"
    )


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8"))
    gone = [
        target
        for target in targets
        if "://" not in target and not (page.parent / target).exists()
    ]
    assert not gone


EXAMPLE = re.compile(r"```python\n(.*?)```", re.DOTALL)
# tests/test_contributing.py puts the example of CONTRIBUTING.md where it belongs
RUNNABLE = [
    page
    for page in WRITTEN
    if page.name != "CONTRIBUTING.md" and EXAMPLE.search(page.read_text("utf-8"))
]


@pytest.mark.slow
def test_the_first_example_finds_boats_on_beaches(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = EXAMPLE.search((ROOT / "README.md").read_text("utf-8"))
    assert code is not None
    made: dict[str, Any] = {}
    exec(compile(code[1], "README.md", "exec"), made)
    found = made["Searcher"](made["index"]).by_text("a boat on the beach", k=5)
    right = [{"boat", "beach"} <= set(each.labels) for each in found]
    assert sum(right) >= 4
    assert all(each.probability is not None for each in found)


@pytest.fixture
def unregistered():
    """Forget what an example registers."""
    from fdch.data import text_encoders
    from fdch.networks import image_network

    yield
    image_network.REGISTERED.clear()
    text_encoders.REGISTERED.clear()


@pytest.mark.slow
@pytest.mark.parametrize("page", RUNNABLE, ids=lambda page: page.name)
def test_python_examples_run(page, tmp_path, monkeypatch, capsys, unregistered):
    monkeypatch.chdir(tmp_path)
    for code in EXAMPLE.findall(page.read_text("utf-8")):
        exec(compile(code, page.name, "exec"), {})
