"""Pages made from the program are current, and their examples run."""

import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.trained_scenes import MANIFEST, write_manifest

ROOT = Path(__file__).resolve().parents[1]
WRITER = runpy.run_path(str(ROOT / "scripts" / "write_docs.py"))
PAGES = WRITER["PAGES"]
WRITTEN = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]


@pytest.mark.parametrize("name", PAGES)
def test_generated_pages_are_current(name):
    assert (ROOT / "docs" / name).read_text("utf-8") == PAGES[name](), (
        f"docs/{name} is out of date: run scripts/write_docs.py"
    )


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


COMMANDS = re.compile(r"(<!-- not run: [^\n]+ -->\n)?```sh\n(.*?)```", re.DOTALL)
WITH_COMMANDS = [page for page in WRITTEN if COMMANDS.search(page.read_text("utf-8"))]
ELSEWHERE = {
    "README.md": "its commands are those of the tutorial, and of make",
    "export.md": "tests/export and tests/cli run them",
    "own-encoders.md": "needs a model folder; tests/end_to_end makes small ones",
    "search.md": "needs data sets of others",
}
SHORT = {r"fdch train (?!.*--method)": "fdch train --set epoch_scale=0.02 "}


@pytest.fixture
def photos(tmp_path):
    """Pictures as the tutorial has them: in folders that are labels, with texts."""
    source = tmp_path / "generated"
    source.mkdir()
    write_manifest(source)
    for line in (source / MANIFEST).read_text("utf-8").splitlines()[1:]:
        name, picture, rest = line.split(",", 2)
        text, labels = rest.strip('"').split('",', 1)
        folder = tmp_path / "photos" / labels.split(";")[0].split(",")[0]
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(source / picture, folder / f"{name}.png")
        (folder / f"{name}.txt").write_text(text, "utf-8")
    return tmp_path


def test_pages_with_commands_are_run_or_listed_with_the_reason():
    assert {page.name for page in WITH_COMMANDS} >= {"tutorial.md", "guides.md"}
    assert ELSEWHERE.keys() <= {page.name for page in WITH_COMMANDS}


@pytest.mark.integration
@pytest.mark.parametrize(
    "page",
    [page for page in WITH_COMMANDS if page.name not in ELSEWHERE],
    ids=lambda page: page.name,
)
def test_commands_of_a_page_work_one_after_the_other(page, photos, shared_cache):
    found = COMMANDS.findall(page.read_text("utf-8"))
    script = "\n".join(commands for reason, commands in found if not reason)
    assert "fdch " in script
    for command, shorter in SHORT.items():
        script = re.sub(command, shorter, script)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euc", script],
        cwd=photos,
        env={**os.environ, "PATH": path, "FDCH_CACHE": str(shared_cache)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
