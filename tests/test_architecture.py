"""Imports point one way; `import fdch` is light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "fdch"
LAYERS = [
    {"errors", "machine", "progress", "timing"},
    {"codes", "compiled", "files", "exported_files"},
    {"data", "index", "evaluation"},
    {"exported", "run_files"},
    {"networks", "objectives"},
    {"training"},
    {"methods"},
    {"runs", "encoding", "encoded_files", "gallery_items", "results"},
    {
        "preparation",
        "extraction",
        "gallery_codes",
        "queries",
        "exporting",
        "client_content",
    },
    {"gallery_adding", "open_index"},
    {"scoring", "indexing", "client"},
    {"encoders"},
    {"experiment", "search", "search_quality", "encoder_speed"},
    {"report"},
    {"tuning"},
    {"reproduction"},
    {"service"},
    {"cli"},
]
TORCH_FOLDERS = {"networks", "objectives", "training", "methods"}


def layer(part):
    return next(i for i, names in enumerate(LAYERS) if part in names)


def imported(file):
    """Every module name a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def sources():
    for file in sorted(PACKAGE.rglob("*.py")):
        part = file.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if part not in {"__init__", "__main__"}:
            yield file, part


def test_files_import_only_from_layers_to_their_left():
    wrong = []
    for file, part in sources():
        for name in imported(file):
            pieces = name.split(".")
            if pieces[0] != "fdch" or pieces[1:2] in ([], [part], ["__version__"]):
                continue
            if layer(pieces[1]) >= layer(part):
                wrong.append(f"{file.relative_to(PACKAGE)} imports {name}")
    assert not wrong


def test_torch_is_imported_only_where_learning_happens():
    wrong = [
        f"{file.relative_to(PACKAGE)} imports {name}"
        for file, part in sources()
        for name in imported(file)
        if name.split(".")[0] == "torch" and part not in TORCH_FOLDERS
    ]
    assert not wrong


def test_importing_fdch_does_not_import_torch():
    code = "import sys, fdch; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_public_names_are_there():
    import fdch

    assert set(fdch.__all__) >= {"FDCH", "Codes", "FdchError", "PairedSet", "evaluate"}
    for name in fdch.__all__:
        assert getattr(fdch, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        fdch.nothing  # noqa: B018
