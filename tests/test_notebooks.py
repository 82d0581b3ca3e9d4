"""Notebooks are valid, hold no outputs, and run from the first cell to the last."""

import json
import re
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "notebooks").glob("*.ipynb"))


def cells(path):
    return json.loads(path.read_text("utf-8"))["cells"]


def test_there_are_two():
    names = [path.stem for path in NOTEBOOKS]
    assert names == ["compare-two-methods", "own-catalogue"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_valid_and_holds_no_outputs(path):
    document = json.loads(path.read_text("utf-8"))
    assert (document["nbformat"], document["nbformat_minor"]) == (4, 5)
    found = document["cells"]
    assert len({cell["id"] for cell in found}) == len(found)
    assert found[0]["cell_type"] == "markdown"
    for cell in found:
        assert cell["cell_type"] in ("markdown", "code")
        assert all(isinstance(line, str) for line in cell["source"])
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None
            text = "".join(cell["source"])
            assert not re.search(r"^from fdch\.|^[%!]", text, re.MULTILINE)


@pytest.mark.integration
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path, monkeypatch, shared_cache, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FDCH_CACHE", str(shared_cache))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    made: dict[str, object] = {}
    for cell in cells(path):
        if cell["cell_type"] == "code":
            name = f"{path.name}, {cell['id']}"
            exec(compile("".join(cell["source"]), name, "exec"), made)
    if path.stem == "own-catalogue":
        assert len(made["results"]) == 5  # type: ignore[arg-type]
    else:
        assert capsys.readouterr().out.count("95 % from") == 2
