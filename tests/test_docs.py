"""Pages made from the program are current, and links lead somewhere."""

import re
import runpy

import pytest
from tests.page_blocks import PAGES as WRITTEN
from tests.page_blocks import ROOT

from fdch.reproduction.recipe import Published, label

WRITER = runpy.run_path(str(ROOT / "scripts" / "write_docs.py"))
PAGES = WRITER["PAGES"]


@pytest.mark.parametrize("name", PAGES)
def test_generated_pages_are_current(name):
    assert (ROOT / "docs" / name).read_text("utf-8") == PAGES[name](), (
        f"docs/{name} is out of date: run scripts/write_docs.py"
    )


def test_the_page_of_scores_begins_as_it_is_written():
    head = runpy.run_path(str(ROOT / "scripts" / "write_scores.py"))["HEAD"]
    assert (ROOT / "docs" / "scores.md").read_text("utf-8").startswith(head)


def test_every_environment_variable_is_listed():
    sources = (ROOT / "src").rglob("*.py")
    found = {
        name
        for source in sources
        for name in re.findall(r'"(FDCH_\w+)"', source.read_text("utf-8"))
    }
    assert found == WRITER["VARIABLES"].keys()


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8"))
    gone = [
        target
        for target in targets
        if "://" not in target and not (page.parent / target).exists()
    ]
    assert not gone


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.name)
def test_every_table_has_a_head(page):
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    blocks = re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)
    heads = [block.splitlines()[1:2] for block in blocks]
    assert all(line and re.fullmatch(r"[-|: ]+", line[0]) for line in heads)


def test_published_numbers_stand_beside_our_own():
    rows = _read_rows("results.md", "## Published numbers beside ours")
    printed = Published.of("mirflickr25k").values
    methods = {label(method): method for method, _, bits in printed if bits == 64}
    assert rows.keys() == methods.keys()
    for name, method in methods.items():
        is_unified = method in {"cmfh", "lssh", "seph_km", "fdch"}
        gallery = "Unified" if is_unified else "Modality"
        for place, bits in enumerate((16, 64)):
            both = [printed[method, way, bits] for way in WAYS]
            own = _read_rows("scores.md", f"{gallery} gallery, {bits} bits:")[name]
            means = [cell.strip("*").split()[0] for cell in own[:2]]
            shown = " ".join(f"{value:.3f}" for value in both), " ".join(means)
            assert tuple(rows[name][2 * place : 2 * place + 2]) == shown


WAYS = ("image_to_text", "text_to_image")


def _read_rows(page, title):
    """The cells by method of the first table after a title."""
    text = (ROOT / "docs" / page).read_text("utf-8").partition(title)[2]
    table = text[text.index("\n|") + 1 :].partition("\n\n")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    return {name: cells for name, *cells in rows}
