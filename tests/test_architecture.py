"""Imports point one way; `import fdch` is light."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest
from tests.page_blocks import read_blocks

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "fdch"
TORCH_FOLDERS = {"networks", "objectives", "training", "methods", "bench"}
ROOT_MODULES = 6  # besides __init__ and __main__
# only what they import when loaded counts; the page says why
NAMING_WHAT_IS_ABOVE = {"data/pairs.py", "index/search/gallery.py"}


def read_map():
    """Give each folder's layers, lowest first, from the one map in the docs."""
    page = (ROOT / "docs" / "how-it-works.md").read_text()
    section = page.split("## Imports point one way")[1]
    block = read_blocks(section)[0].code
    lines = block.replace("\n    ", " ").strip().splitlines()
    for line in lines:
        folder, _, layers = line.rpartition(":")
        yield folder, [set(part.strip().split(", ")) for part in layers.split("<")]


MAP = dict(read_map())


def imported(file):
    """Every module name a file imports, anywhere in it."""
    tree = ast.parse(file.read_text())
    is_exempt = file.relative_to(PACKAGE).as_posix() in NAMING_WHAT_IS_ABOVE
    for node in tree.body if is_exempt else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def part_of(path, known):
    """The part that a path inside a folder belongs to: of two names, the longer."""
    first, *rest = path
    return f"{first}/{rest[0]}" if rest and f"{first}/{rest[0]}" in known else first


def sources(folder=""):
    """Give the files of a folder, each with the part of it that it belongs to."""
    top, known = PACKAGE / folder, set().union(*MAP.get(folder, ()))
    for file in sorted(top.rglob("*.py")):
        part = part_of(file.relative_to(top).with_suffix("").parts, known)
        if part not in {"__init__", "__main__"}:
            yield file, part


@pytest.mark.parametrize("folder", MAP)
def test_files_import_only_from_layers_to_their_left(folder):
    level = {name: i for i, names in enumerate(MAP[folder]) for name in names}
    within = ["fdch", *filter(None, folder.split("/"))]
    wrong = []
    for file, part in sources(folder):
        for name in imported(file):
            above, below = (
                name.split(".")[: len(within)],
                name.split(".")[len(within) :],
            )
            other = part_of(below, level) if below and above == within else part
            if other != part and level.get(other, -1) >= level[part]:
                wrong.append(f"{file.relative_to(PACKAGE)} imports {name}")
    assert not wrong


@pytest.mark.parametrize("folder", MAP)
def test_every_folder_and_module_is_on_the_map(folder):
    known = set().union(*MAP[folder])
    assert {part for _, part in sources(folder)} == known


def test_the_root_holds_what_everyone_uses_and_nothing_else():
    modules = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__", "__main__"}
    assert len(modules) <= ROOT_MODULES


def test_torch_is_imported_only_where_learning_happens():
    wrong = [
        f"{file.relative_to(PACKAGE)} imports {name}"
        for file, part in sources()
        for name in imported(file)
        if name.split(".")[0] == "torch" and part not in TORCH_FOLDERS
    ]
    assert not wrong


@pytest.mark.parametrize(
    "code",
    ["import fdch", "from fdch.cli import cli; cli(['--help'], standalone_mode=False)"],
)
def test_importing_fdch_and_showing_its_help_load_no_large_package(code):
    code += "\nimport sys; print(*sys.modules, file=sys.stderr)"
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "fdch.errors" in done.stderr.split()
    large = {"torch", "sklearn", "scipy", "numpy", "PIL", "numba", "fastapi", "httpx"}
    assert not large & set(done.stderr.split())


def test_public_names_are_there():
    import fdch

    assert set(fdch.__all__) >= {"FDCH", "Codes", "FdchError", "PairedSet", "evaluate"}
    for name in fdch.__all__:
        assert getattr(fdch, name) is not None
    assert set(fdch._HOMES) | {"FdchError", "methods"} == set(fdch.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        fdch.nothing  # noqa: B018


def public_functions():
    """Functions and methods that `fdch` exports."""
    import fdch

    for name in fdch.__all__:
        public = getattr(fdch, name)
        inner = vars(public).values() if inspect.isclass(public) else [public]
        for member in inner:
            function = getattr(member, "__func__", member)
            if inspect.isfunction(function):
                yield f"{name}: {function.__name__}{inspect.signature(function)}"


def test_signatures_that_help_shows_have_no_addresses_or_expanded_unions():
    shown = list(public_functions())
    assert len(shown) > 50
    assert [each for each in shown if " at 0x" in each or "_array_like" in each] == []


def test_readme_and_docs_import_from_fdch_alone():
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    inner = [
        f"{page.name}: {line.strip()}"
        for page in pages
        for line in page.read_text(encoding="utf-8").splitlines()
        if line.strip().startswith(("from fdch.", "import fdch."))
    ]
    assert inner == []
